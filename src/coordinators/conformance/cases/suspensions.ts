import assert from 'node:assert/strict';
import { groupOf } from '../../names.js';
import { defineCase } from '../case.js';
import { usualAct } from '../operator.js';

const ended = { outcome: 'ended' };
const revoked = { outcome: 'not-yours', reason: 'revoked' };

/** The kill switch: nobody holds the name until an operator says otherwise. */
export const suspensionCases = [
  defineCase(
    'suspensions/free-name',
    'a suspended name is granted to nobody, and every look at it shows who suspended it, when and why',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const answer = await operator.suspend(name);
      const { suspension, ending } = await operator.seesSuspended(name);
      assert.deepEqual({ by: suspension.by, reason: suspension.reason }, usualAct);
      assert.ok(suspension.atMs > Date.UTC(2020), 'its time is Unix time in ms');
      assert.equal(ending, undefined, 'no term is left to end');
      assert.deepEqual(answer, { state: 'suspended', name, suspension, ending });
      assert.equal((await ann.isKeptOut(name)).state, 'suspended');
      const records = await ann.client.list(groupOf(name), scene.call);
      assert.deepEqual(
        records.map((record) => [record.name, record.state]),
        [[name, 'suspended']],
      );
    },
  ),

  defineCase(
    'suspensions/held-name',
    'a suspension revokes the present term, and shows it for as long as its holder may believe in it',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const term = await ann.take(name);
      const answer = await operator.suspend(name);
      assert.ok(answer.state === 'suspended', `the name is "${answer.state}"`);
      const { ending } = answer;
      assert.ok(ending?.holder.equals(ann.holder) === true, 'it shows whose term is ending');
      assert.equal(ending.term, term);
      assert.equal(ending.revocation?.by, usualAct.by);
      assert.deepEqual(await ann.renew(name, term), revoked);
      assert.deepEqual(await ann.handOff(name, term, 'bob'), revoked);
      await scene.passTtl();
      assert.equal((await operator.seesSuspended(name)).ending, undefined);
    },
  ),

  defineCase(
    'suspensions/release',
    'the holder of a suspended name can release it, and the name stays suspended',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const operator = await scene.operator();
      const term = await ann.take(name);
      await operator.suspend(name);
      assert.deepEqual(await ann.release(name, term), ended);
      assert.equal((await operator.seesSuspended(name)).ending, undefined);
      assert.equal((await bob.isKeptOut(name)).state, 'suspended');
      assert.deepEqual(await ann.renew(name, term), { outcome: 'not-yours', reason: 'vanished' });
    },
  ),

  defineCase('suspensions/no-end', 'a suspension does not end by itself', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const operator = await scene.operator();
    await ann.take(name);
    await operator.suspend(name);
    await scene.pass(4);
    assert.equal((await ann.isKeptOut(name)).state, 'suspended');
  }),

  defineCase(
    'suspensions/resume',
    'a resumed name is granted again, in a higher term; resuming it again finds nothing',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      assert.equal(await operator.resume(name), false, 'it was never suspended');
      const term = await ann.take(name);
      await operator.suspend(name);
      await ann.release(name, term);
      assert.equal(await operator.resume(name), true);
      assert.equal(await operator.resume(name), false);
      await ann.seesFree(name);
      const next = await ann.take(name);
      assert.ok(next > term, `term ${next} was granted after term ${term}`);
      assert.deepEqual(await ann.renew(name, next), { outcome: 'renewed' });
    },
  ),

  defineCase(
    'suspensions/resume-early',
    'a term that was revoked stays revoked when its name is resumed before it has ended',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const operator = await scene.operator();
      const term = await ann.take(name);
      await operator.suspend(name);
      assert.equal(await operator.resume(name), true);
      assert.deepEqual(await ann.renew(name, term), revoked);
      const { revocation } = await bob.findsHeld(name);
      assert.equal(revocation?.by, usualAct.by, 'what is left of it has its time');
      await scene.passTtl();
      await bob.take(name);
    },
  ),

  defineCase(
    'suspensions/first-act',
    'a name that is suspended already keeps the first act',
    async (scene) => {
      const name = scene.newName();
      const operator = await scene.operator();
      await operator.suspend(name);
      const { suspension } = await operator.seesSuspended(name);
      const answer = await operator.suspend(name, { by: 'another', reason: 'for another reason' });
      assert.ok(answer.state === 'suspended');
      assert.deepEqual(answer.suspension, suspension);
      assert.deepEqual((await operator.seesSuspended(name)).suspension, suspension);
    },
  ),
];
