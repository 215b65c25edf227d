import assert from 'node:assert/strict';
import { defineCase } from '../case.js';

const vanished = { outcome: 'not-yours', reason: 'vanished' };
const superseded = { outcome: 'not-yours', reason: 'superseded' };

/** What a renewal does, and all it must not do. */
export const renewalCases = [
  defineCase('renewals/extend', 'a renewed lease lives a whole ttl longer', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const bob = await scene.actor('bob');
    const term = await ann.take(name);
    await scene.pass(0.6);
    assert.deepEqual(await ann.renew(name, term), { outcome: 'renewed' });
    await scene.pass(0.6);
    await bob.isKeptOut(name);
    await scene.pass(0.5);
    await bob.take(name);
  }),

  defineCase(
    'renewals/from-execution',
    'a renewal extends from the moment the store executes it, not from when it was sent',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const term = await ann.take(name);
      await scene.disturb('holdRequests', ann.client);
      const pending = ann.renew(name, term, {}, { timeoutMs: scene.ttlMs * 2 });
      pending.catch(() => undefined);
      await scene.pass(0.5);
      await scene.control('flushRequests')(ann.client);
      assert.deepEqual(await scene.subject.until(pending), { outcome: 'renewed' });
      const { remainingMs } = await bob.seesHeld(name, ann, term);
      assert.ok(
        remainingMs > scene.ttlMs * 0.75,
        `only ${remainingMs} of ${scene.ttlMs} ms remain right after the execution`,
      );
    },
    { needs: ['holdRequests', 'flushRequests'] },
  ),

  defineCase('renewals/keep-the-term', 'a renewal never changes the term', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const request = ann.request(name);
    const term = await ann.take(request);
    for (let round = 0; round < 3; round++) await ann.renew(name, term);
    await ann.seesHeld(name, ann, term);
    assert.equal(await ann.take(request), term);
  }),

  defineCase('renewals/other-term', 'a renewal in another term does nothing', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const term = await ann.take(name);
    await scene.pass(0.4);
    for (const wrong of [term - 1, term + 1]) {
      assert.deepEqual(await ann.renew(name, wrong), superseded);
    }
    const { remainingMs } = await ann.seesHeld(name, ann, term);
    assert.ok(remainingMs <= scene.ttlMs * 0.6 + 1, 'a renewal in another term extended the lease');
  }),

  defineCase(
    'renewals/other-incarnation',
    'a renewal compares the whole holder: the same id with another nonce does nothing',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const term = await ann.take(name);
      await scene.pass(0.4);
      assert.deepEqual(await ann.as().renew(name, term), superseded);
      const { remainingMs } = await ann.seesHeld(name, ann, term);
      assert.ok(remainingMs <= scene.ttlMs * 0.6 + 1, 'another incarnation extended the lease');
    },
  ),

  defineCase(
    'renewals/never-create',
    'a renewal of a lease that expired or was released answers "vanished" and creates nothing',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const first = await ann.take(name);
      await ann.release(name, first);
      assert.deepEqual(await ann.renew(name, first), vanished);
      await ann.seesFree(name);
      const second = await ann.take(name);
      await scene.passTtl();
      assert.deepEqual(await ann.renew(name, second), vanished);
      await ann.seesFree(name);
    },
  ),

  defineCase(
    'renewals/stale',
    'a former owner\'s renewal answers "superseded" and leaves its successor\'s lease as it is',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const stale = await ann.take(name);
      await scene.passTtl();
      const term = await bob.take(name);
      await scene.pass(0.4);
      assert.deepEqual(await ann.renew(name, stale), superseded);
      const { remainingMs } = await bob.seesHeld(name, bob, term);
      assert.ok(remainingMs <= scene.ttlMs * 0.6 + 1, "a stale renewal extended the other's lease");
    },
  ),

  defineCase(
    'renewals/own-ttl',
    'each renewal sets its own ttl, a shorter one too',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const term = await ann.take(ann.request(name, { ttlMs: scene.ttlMs * 4 }));
      await ann.renew(name, term, { ttlMs: scene.ttlMs });
      const record = await ann.readLease(name);
      assert.equal(record.ttlMs, scene.ttlMs);
      await scene.passTtl();
      await ann.seesFree(name);
    },
  ),

  defineCase(
    'renewals/metadata',
    'a renewal replaces the metadata if it brings some, and keeps it otherwise',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const term = await ann.take(ann.request(name, { metadata: '{"step":1}' }));
      await ann.renew(name, term);
      assert.equal((await ann.readLease(name)).metadata, '{"step":1}');
      await ann.renew(name, term, { metadata: '{"step":2}' });
      assert.equal((await ann.readLease(name)).metadata, '{"step":2}');
    },
  ),
];
