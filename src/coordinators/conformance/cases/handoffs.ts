import assert from 'node:assert/strict';
import { defineCase } from '../case.js';

const ended = { outcome: 'ended' };
const superseded = { outcome: 'not-yours', reason: 'superseded' };

/** A planned move to a named successor. */
export const handoffCases = [
  defineCase(
    'handoffs/reserve',
    'a name that was handed off is granted to nobody but the successor, who gets a higher term',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const cid = await scene.actor('cid');
      const term = await ann.take(name);
      assert.deepEqual(await ann.handOff(name, term, 'bob'), ended);
      for (const kept of [cid, ann]) {
        const current = await kept.isKeptOut(name);
        assert.ok(current.state === 'reserved', 'who is kept out learns of the reservation');
        assert.equal(current.to, 'bob');
        assert.equal(current.term, term, 'a reservation shows the term that was handed off');
      }
      const next = await bob.take(name);
      assert.ok(next > term, `the successor's term ${next} is not above ${term}`);
      await cid.seesHeld(name, bob, next);
    },
  ),

  defineCase(
    'handoffs/successor-compared-whole',
    "an id that begins or ends like the successor's is not the successor",
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const term = await ann.take(name);
      await ann.handOff(name, term, 'worker-1', scene.ttlMs * 20);
      for (const id of ['worker-10', 'worker-', 'a-worker-1', 'Worker-1']) {
        await (await scene.actor(id)).isKeptOut(name);
      }
      await (await scene.actor('worker-1')).take(name);
    },
  ),

  defineCase(
    'handoffs/end-by-themselves',
    'a reservation that nobody takes ends after its time, and the name is free',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const cid = await scene.actor('cid');
      const term = await ann.take(name);
      await ann.handOff(name, term, 'bob', scene.ttlMs / 2);
      await cid.isKeptOut(name);
      await scene.subject.advance(scene.ttlMs / 2 + 1);
      await cid.seesFree(name);
      assert.ok((await cid.take(name)) > term, 'the next owner has a higher term');
    },
  ),

  defineCase(
    'handoffs/stale',
    'a handoff in another term, or by another holder, does nothing',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const stale = await ann.take(name);
      await ann.release(name, stale);
      const term = await bob.take(name);
      assert.deepEqual(await ann.handOff(name, stale, 'cid'), superseded);
      assert.deepEqual(await ann.handOff(name, term, 'cid'), superseded);
      assert.deepEqual(await bob.as().handOff(name, term, 'cid'), superseded);
      await ann.seesHeld(name, bob, term);
    },
  ),

  defineCase(
    'handoffs/end-the-lease',
    'after a handoff its former owner can neither renew, release nor hand off again',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const request = ann.request(name);
      const term = await ann.take(request);
      await ann.handOff(name, term, 'bob');
      assert.deepEqual(await ann.renew(name, term), superseded);
      assert.deepEqual(await ann.release(name, term), superseded);
      assert.deepEqual(await ann.releaseAttempt(name, request.attempt), superseded);
      assert.deepEqual(await ann.handOff(name, term, 'cid'), superseded);
      const record = await ann.read(name);
      assert.ok(record?.state === 'reserved' && record.to === 'bob', 'the reservation stands');
    },
  ),

  defineCase(
    'handoffs/one-successor',
    'of two incarnations of the successor, one is granted the name',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      await ann.handOff(name, await ann.take(name), 'bob');
      const bobs = [await scene.actor('bob'), await scene.actor('bob')];
      const results = await Promise.all(bobs.map((bob) => bob.acquire(name)));
      assert.deepEqual(results.map(({ outcome }) => outcome).sort(), ['granted', 'held']);
    },
  ),
];
