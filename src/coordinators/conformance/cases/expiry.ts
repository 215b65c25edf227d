import assert from 'node:assert/strict';
import { defineCase } from '../case.js';

/** Leases end by themselves, not before their time and not long after. */
export const expiryCases = [
  defineCase(
    'expiry/frees',
    'a lease that is not renewed is gone after its ttl, and the next term is higher',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const term = await ann.take(name);
      await scene.passTtl();
      await bob.seesFree(name);
      const next = await bob.take(name);
      assert.ok(next > term, `term ${next} was granted after term ${term} expired`);
    },
    { demonstrates: ['expiryClock'] },
  ),

  defineCase('expiry/not-early', 'a lease does not end before its ttl', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const bob = await scene.actor('bob');
    const term = await ann.take(name);
    await scene.pass(0.75);
    await bob.isKeptOut(name);
    await bob.seesHeld(name, ann, term);
  }),

  defineCase(
    'expiry/same-holder',
    'the same holder that comes back after expiry gets a new term, as anybody would',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const request = ann.request(name);
      const first = await ann.take(request);
      await scene.passTtl();
      const second = await ann.take(request);
      assert.ok(second > first, `term ${first} had expired and was granted again`);
      await scene.passTtl();
      const third = await ann.take(name);
      assert.ok(third > second, `term ${third} was granted after term ${second}`);
    },
  ),

  defineCase('expiry/own-ttl', 'each lease of a batch has its own ttl', async (scene) => {
    const short = scene.newName();
    const long = scene.newName();
    const ann = await scene.actor('ann');
    await ann.client.acquire(
      [ann.request(short), ann.request(long, { ttlMs: scene.ttlMs * 4 })],
      scene.call,
    );
    await scene.passTtl();
    await ann.seesFree(short);
    assert.equal((await ann.readLease(long)).ttlMs, scene.ttlMs * 4);
  }),

  defineCase(
    'expiry/smallest-ttl',
    'the smallest ttl that is declared is granted, and the largest too',
    async (scene) => {
      const ann = await scene.actor('ann');
      const { smallestTtlMs, largestTtlMs } = ann.client.promises;
      const [short, long] = [scene.newName(), scene.newName()];
      await ann.take(ann.request(short, { ttlMs: smallestTtlMs }));
      const term = await ann.take(ann.request(long, { ttlMs: largestTtlMs }));
      await scene.subject.advance(smallestTtlMs + 1);
      await ann.seesFree(short);
      await ann.seesHeld(long, ann, term);
    },
    { demonstrates: ['smallestTtlMs', 'largestTtlMs'] },
  ),
];
