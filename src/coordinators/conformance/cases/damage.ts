import assert from 'node:assert/strict';
import { RecordCorruptError } from '../../../errors/index.js';
import { hasEvents, onDamaged } from '../../damaged.js';
import { groupOf } from '../../names.js';
import { defineCase, unlessSurviving } from '../case.js';

const foreign = 'somebody else wrote this';

/** Somebody meddles with the records. */
export const damageCases = [
  defineCase(
    'damage/deleted',
    'whose record was deleted is told "vanished", and no operation of its brings it back',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const term = await ann.take(name);
      await scene.control('deleteRecord')(name);
      const vanished = { outcome: 'not-yours', reason: 'vanished' };
      assert.deepEqual(await ann.renew(name, term), vanished);
      assert.deepEqual(await ann.handOff(name, term, 'bob'), vanished);
      assert.deepEqual(await ann.release(name, term), vanished);
      await ann.seesFree(name);
    },
    { needs: ['deleteRecord'] },
  ),

  defineCase(
    'damage/deleted-term',
    'after a record was deleted the next term is higher than the deleted one',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const above = (await ann.take(scene.newName())) + 1_000_000;
      const term = await ann.take(ann.request(name, { above }));
      await scene.control('deleteRecord')(name);
      const next = await bob.take(name);
      assert.ok(next > term, `term ${next} was granted after term ${term} was deleted`);
      assert.deepEqual(await ann.renew(name, term), { outcome: 'not-yours', reason: 'superseded' });
    },
    {
      needs: ['deleteRecord'],
      demonstrates: ['deleted-record'],
      exemption: unlessSurviving('deleted-record'),
    },
  ),

  defineCase(
    'damage/overwritten-owner',
    'whose record was overwritten is told "superseded", and leaves the text alone',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const request = ann.request(name);
      const term = await ann.take(request);
      await scene.control('overwriteRecord')(name, foreign);
      const superseded = { outcome: 'not-yours', reason: 'superseded' };
      assert.deepEqual(await ann.renew(name, term), superseded);
      assert.deepEqual(await ann.handOff(name, term, 'bob'), superseded);
      assert.deepEqual(await ann.release(name, term), superseded);
      assert.deepEqual(await ann.releaseAttempt(name, request.attempt), superseded);
      assert.equal(await scene.control('foreignText')(name), foreign);
    },
    { needs: ['overwriteRecord', 'foreignText'] },
  ),

  defineCase(
    'damage/overwritten-acquire',
    'a name under which a foreign text stands is granted to nobody, and the text is left alone',
    async (scene) => {
      const name = scene.newName();
      const other = scene.newName();
      const ann = await scene.actor('ann');
      await scene.control('overwriteRecord')(name, foreign);
      const results = await ann.client.acquire([ann.request(name), ann.request(other)], scene.call);
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        ['corrupt', 'granted'],
      );
      assert.ok(results[0]?.outcome === 'corrupt' && results[0].detail !== '');
      await scene.passTtl();
      assert.equal((await ann.acquire(name)).outcome, 'corrupt', 'a foreign text does not expire');
      assert.equal(await scene.control('foreignText')(name), foreign);
    },
    { needs: ['overwriteRecord', 'foreignText'] },
  ),

  defineCase(
    'damage/overwritten-read',
    'a read of a foreign text is an error, never "free"; a list leaves it out',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const beside = scene.sibling(name, 'beside');
      await ann.take(beside);
      await scene.control('overwriteRecord')(name, foreign);
      await assert.rejects(ann.read(name), RecordCorruptError);
      const records = await ann.client.list(groupOf(name), scene.call);
      assert.deepEqual(
        records.map((record) => record.name),
        [beside],
      );
    },
    { needs: ['overwriteRecord'] },
  ),

  defineCase(
    'damage/overwritten-list',
    'a list tells of the foreign text that it leaves out, as the event "corrupt", before it resolves',
    async (scene) => {
      const name = scene.newName();
      const beside = scene.sibling(name, 'beside');
      const ann = await scene.actor('ann');
      await ann.take(name);
      await ann.take(beside);
      await scene.control('overwriteRecord')(name, foreign);
      const told: string[] = [];
      const stop = onDamaged(ann.client, (one) => told.push(one));
      await ann.client.list(groupOf(name), scene.call);
      stop();
      // One without events has nobody to tell.
      if (hasEvents(ann.client)) assert.deepEqual(told, [name]);
    },
    { needs: ['overwriteRecord'] },
  ),
];
