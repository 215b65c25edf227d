import assert from 'node:assert/strict';
import { defineCase } from '../case.js';

const revoked = { outcome: 'not-yours', reason: 'revoked' };

/** What else stands under a suspended name, or happens to it meanwhile. */
export const suspendedNameCases = [
  defineCase(
    'suspensions/reserved-name',
    'a suspended name is not granted to the successor that it is reserved for, until it is resumed',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const operator = await scene.operator();
      await ann.handOff(name, await ann.take(name), 'bob', scene.ttlMs * 20);
      await operator.suspend(name);
      assert.equal((await bob.isKeptOut(name)).state, 'suspended');
      await operator.resume(name);
      assert.equal((await ann.isKeptOut(name)).state, 'reserved', 'the reservation goes on');
      await bob.take(name);
    },
  ),

  defineCase(
    'suspensions/lock-delay',
    'a suspension ends no lock-delay: what is left of it follows the resumption',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await ann.take(ann.request(name, { graceMs: scene.ttlMs * 20 }));
      await operator.suspend(name);
      await scene.passTtl();
      assert.equal((await operator.seesSuspended(name)).ending, undefined);
      await operator.resume(name);
      assert.equal((await ann.isKeptOut(name)).state, 'lock-delay');
    },
  ),

  defineCase(
    'suspensions/revoked-before',
    'a revocation before a suspension keeps its successor, one during it does nothing',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const operator = await scene.operator();
      const term = await ann.take(name);
      const reserveMs = scene.ttlMs * 20;
      await operator.revoke(name, { to: 'bob', reserveMs });
      await operator.suspend(name);
      const answer = await operator.revoke(name, { to: 'cid', reserveMs });
      assert.ok(answer?.state === 'suspended' && answer.ending?.revocation?.to === 'bob');
      await ann.release(name, term);
      await operator.resume(name);
      assert.equal((await ann.isKeptOut(name)).state, 'reserved');
      await bob.take(name);
    },
  ),

  defineCase(
    'suspensions/attempt-again',
    'an attempt that was granted before the suspension is not granted again during it',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const request = ann.request(name);
      await ann.take(request);
      await operator.suspend(name);
      assert.equal((await ann.isKeptOut(request)).state, 'suspended');
    },
  ),

  defineCase(
    'suspensions/race',
    'once a suspension is answered, whatever was granted before it is revoked, and nothing after it is',
    async (scene) => {
      const name = scene.newName();
      const operator = await scene.operator();
      const actors = await Promise.all(['ann', 'bob', 'cid'].map((id) => scene.actor(id)));
      const acquiring = actors.map((actor) => actor.acquire(name));
      const [answer, ...results] = await Promise.all([operator.suspend(name), ...acquiring]);
      const grantedCount = results.filter(({ outcome }) => outcome === 'granted').length;
      assert.ok(answer.state === 'suspended');
      assert.equal(grantedCount, answer.ending === undefined ? 0 : 1);
      for (const [index, result] of results.entries()) {
        if (result.outcome !== 'granted') continue;
        assert.deepEqual(await actors[index]?.renew(name, result.term), revoked);
      }
    },
  ),

  defineCase(
    'suspensions/one-name',
    'a suspension concerns its name alone: of a batch the other names are granted',
    async (scene) => {
      const [name, other] = [scene.newName(), scene.newName()];
      const beside = scene.sibling(name, 'beside');
      const ann = await scene.actor('ann');
      await (await scene.operator()).suspend(name);
      const results = await ann.client.acquire(
        [beside, name, other].map((each) => ann.request(each)),
        scene.call,
      );
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        ['granted', 'held', 'granted'],
      );
    },
  ),

  defineCase(
    'suspensions/deleted-record',
    'a suspension outlives the record of the lease: who deletes that resumes nothing',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await ann.take(name);
      await operator.suspend(name);
      await scene.control('deleteRecord')(name);
      assert.equal((await ann.isKeptOut(name)).state, 'suspended');
    },
    { needs: ['deleteRecord'] },
  ),

  defineCase(
    'suspensions/restart',
    'a suspension survives a restart of the store with its data, and of everything else',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await operator.suspend(name);
      const { suspension } = await operator.seesSuspended(name);
      await scene.subject.until(operator.client.close());
      await scene.control('restartKeepingData')();
      await scene.reconnected(ann.client);
      const current = await ann.isKeptOut(name);
      assert.ok(current.state === 'suspended', `the name is "${current.state}"`);
      assert.deepEqual(current.suspension, suspension);
    },
    { needs: ['restartKeepingData'] },
  ),
];
