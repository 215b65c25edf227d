import assert from 'node:assert/strict';
import { defineCase, unlessSurviving } from '../case.js';

/** More names than milliseconds that a restart takes: a term of its own for each would run ahead of the clock. */
const batchSize = 1_000;

/** What a store that went away and came back still knows, as far as it declares to. */
export const restartCases = [
  defineCase(
    'restarts/with-data',
    'after a restart with its data a lease is still held in its term, and the next term is higher',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const ttlMs = scene.ttlMs * 20;
      const above = (await ann.take(scene.newName())) + 1_000_000;
      const term = await ann.take(ann.request(name, { ttlMs, above }));
      await scene.control('restartKeepingData')();
      await scene.reconnected(ann.client, bob.client);
      await bob.isKeptOut(name);
      assert.deepEqual(await ann.renew(name, term, { ttlMs }), { outcome: 'renewed' });
      await ann.release(name, term);
      const next = await bob.take(name);
      assert.ok(next > term, `term ${next} was granted after term ${term} and a restart`);
    },
    {
      needs: ['restartKeepingData'],
      demonstrates: ['restart-with-data'],
      exemption: unlessSurviving('restart-with-data'),
    },
  ),

  defineCase(
    'restarts/without-data',
    'after a restart without its data the next term is higher, and the former owner has lost',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const terms = [];
      for (let round = 0; round < 3; round++) {
        const term = await ann.take(name);
        terms.push(term);
        if (round < 2) await ann.release(name, term);
      }
      const stale = Math.max(...terms);
      // The clock is the floor, so more grants than milliseconds would outrun it; a restart takes longer than that.
      await scene.subject.advance(10);
      await scene.control('restartLosingData')();
      await scene.reconnected(ann.client, bob.client);
      assert.equal((await ann.renew(name, stale)).outcome, 'not-yours');
      const next = await bob.take(name);
      assert.ok(next > stale, `term ${next} was granted after term ${stale} had been lost`);
      assert.equal((await ann.renew(name, stale)).outcome, 'not-yours');
      await bob.seesHeld(name, bob, next);
    },
    {
      needs: ['restartLosingData'],
      demonstrates: ['restart-without-data'],
      exemption: unlessSurviving('restart-without-data'),
    },
  ),

  defineCase(
    'restarts/without-data-after-a-batch',
    'many names granted in one call do not take the terms of later ones: the clock stays their floor',
    async (scene) => {
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const requests = Array.from({ length: batchSize }, () => ann.request(scene.newName()));
      let highest = 0;
      const call = { timeoutMs: scene.call.timeoutMs * 20 };
      for (const result of await ann.client.acquire(requests, call)) {
        assert.equal(result.outcome, 'granted');
        if (result.outcome === 'granted') highest = Math.max(highest, result.term);
      }
      await scene.subject.advance(10);
      await scene.control('restartLosingData')();
      await scene.reconnected(ann.client, bob.client);
      const next = await bob.take(requests[0]?.name ?? assert.fail());
      assert.ok(next > highest, `term ${next} was granted after term ${highest} had been lost`);
    },
    {
      needs: ['restartLosingData'],
      exemption: unlessSurviving('restart-without-data'),
    },
  ),

  defineCase(
    'restarts/lost-tail',
    'after a fail-over that lost the last grant the next term is still higher than the lost one',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      let lost = 0;
      await scene.control('loseTail')(async () => {
        lost = await ann.take(name);
      });
      await scene.reconnected(ann.client, bob.client);
      const next = await bob.take(name);
      assert.ok(next > lost, `term ${next} was granted after term ${lost} had been lost`);
      const renewal = await ann.renew(name, lost);
      assert.deepEqual(renewal, { outcome: 'not-yours', reason: 'superseded' });
    },
    {
      needs: ['loseTail'],
      demonstrates: ['lost-replica'],
      exemption: unlessSurviving('lost-replica'),
    },
  ),
];
