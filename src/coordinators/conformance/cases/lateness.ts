import assert from 'node:assert/strict';
import { defineCase } from '../case.js';

const needs = ['holdRequests', 'flushRequests'] as const;

/** Requests that reach the store after their caller has given up: each is refused there, and nothing is changed. */
export const latenessCases = [
  defineCase(
    'lateness/acquire',
    'an acquire that arrives after its deadline is not executed',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      await scene.arrivesLate(late.client, (call) => late.acquire(name, call));
      await bob.seesFree(name);
      await bob.take(name);
    },
    { needs },
  ),

  defineCase(
    'lateness/acquire-after-successor',
    "a late acquire leaves the record of whoever came meanwhile as it is, even if it had the successor's id",
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('worker');
      const next = await scene.actor('worker');
      let term = 0;
      await scene.arrivesLate(
        late.client,
        (call) => late.acquire(name, call),
        async () => {
          term = await next.take(next.request(name, { ttlMs: scene.ttlMs * 20 }));
        },
      );
      await next.seesHeld(name, next, term);
    },
    { needs },
  ),

  defineCase(
    'lateness/renew',
    'a renewal that arrives after its deadline extends nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      const term = await late.take(late.request(name, { ttlMs: scene.ttlMs * 4 }));
      await scene.arrivesLate(late.client, (call) =>
        late.renew(name, term, { ttlMs: scene.ttlMs * 20 }, call),
      );
      const { remainingMs } = await bob.seesHeld(name, late, term);
      assert.ok(remainingMs <= scene.ttlMs * 4, 'a late renewal extended the lease');
    },
    { needs },
  ),

  defineCase(
    'lateness/release',
    'a release that arrives after its deadline ends nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      const term = await late.take(late.request(name, { ttlMs: scene.ttlMs * 20 }));
      await scene.arrivesLate(late.client, (call) => late.release(name, term, call));
      await bob.seesHeld(name, late, term);
    },
    { needs },
  ),

  defineCase(
    'lateness/handoff',
    'a handoff that arrives after its deadline reserves nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      const term = await late.take(late.request(name, { ttlMs: scene.ttlMs * 20 }));
      await scene.arrivesLate(late.client, (call) =>
        late.handOff(name, term, 'bob', scene.ttlMs * 20, call),
      );
      await bob.seesHeld(name, late, term);
    },
    { needs },
  ),

  defineCase(
    'lateness/document',
    'a write of a document that arrives after its deadline writes nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      await scene.arrivesLate(late.client, (call) =>
        late.client.writeDocument(name, 'late', 0, call),
      );
      assert.equal(await bob.client.readDocument(name, scene.call), undefined);
    },
    { needs },
  ),

  defineCase(
    'lateness/suspend',
    'a suspension that arrives after its deadline suspends nothing, and revokes nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.operator();
      const ann = await scene.actor('ann');
      const ttlMs = scene.ttlMs * 20;
      const term = await ann.take(ann.request(name, { ttlMs }));
      await scene.arrivesLate(late.client, (call) => late.suspend(name, {}, call));
      assert.deepEqual(await ann.renew(name, term, { ttlMs }), { outcome: 'renewed' });
      assert.equal((await ann.readLease(name)).revocation, undefined);
    },
    { needs },
  ),

  defineCase(
    'lateness/revoke',
    'a revocation that arrives after its deadline hits neither the term nor the one that came meanwhile',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.operator();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const ttlMs = scene.ttlMs * 20;
      const stale = await ann.take(ann.request(name, { ttlMs }));
      let term = 0;
      await scene.arrivesLate(
        late.client,
        (call) => late.revoke(name, {}, call),
        async () => {
          await ann.release(name, stale);
          term = await bob.take(bob.request(name, { ttlMs }));
        },
      );
      assert.deepEqual(await bob.renew(name, term, { ttlMs }), { outcome: 'renewed' });
    },
    { needs },
  ),

  defineCase(
    'lateness/resume',
    'a resumption that arrives after its deadline resumes nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.operator();
      const operator = await scene.operator();
      await operator.suspend(name);
      await scene.arrivesLate(late.client, (call) => late.resume(name, {}, call));
      await operator.seesSuspended(name);
      assert.equal((await operator.acts(name)).length, 1, 'and leaves no line');
    },
    { needs },
  ),

  defineCase(
    'lateness/enroll',
    'an enrollment that arrives after its deadline makes no entry, as when it was withdrawn meanwhile',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      await scene.arrivesLate(late.client, (call) => late.enroll(name, {}, call));
      assert.deepEqual(await bob.candidates(name), []);
      assert.equal((await bob.enroll(name)).position, 0);
    },
    { needs },
  ),

  defineCase(
    'lateness/withdraw',
    'a withdrawal that arrives after its deadline leaves the entry as it is',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      await late.enroll(name);
      await scene.arrivesLate(late.client, (call) => late.withdraw(name, call));
      assert.equal((await bob.candidates(name)).length, 1);
    },
    { needs },
  ),

  defineCase(
    'lateness/entry-of-another-term',
    'neither a refresh nor a withdrawal ends the lease that its holder has won since it was sent, be the one of then over',
    async (scene) => {
      for (const isWithdrawn of [false, true]) {
        const name = scene.newName();
        const late = await scene.actor('ann');
        const ann = (await scene.actor('ann')).as(late.holder);
        const bob = await scene.actor('bob');
        await late.enroll(name);
        await late.take(name);
        await late.enroll(name, { standing: 'present' });
        await scene.passTtl();
        let term = 0;
        await scene.arrivesLate(
          late.client,
          (call) =>
            isWithdrawn
              ? late.withdraw(name, call)
              : late.enroll(name, { standing: 'present' }, call),
          async () => {
            await ann.enroll(name);
            term = await ann.take(ann.request(name, { ttlMs: scene.ttlMs * 20 }));
          },
        );
        await bob.seesHeld(name, ann, term);
        await bob.isKeptOut(name);
      }
    },
    { needs },
  ),

  defineCase(
    'lateness/in-time',
    'a request that is delayed but arrives before its deadline is executed',
    async (scene) => {
      const name = scene.newName();
      const slow = await scene.actor('slow');
      await scene.disturb('holdRequests', slow.client);
      const pending = slow.acquire(name, { timeoutMs: scene.ttlMs });
      pending.catch(() => undefined);
      await scene.pass(0.25);
      await scene.control('flushRequests')(slow.client);
      const result = await scene.subject.until(pending);
      assert.equal(result.outcome, 'granted');
    },
    { needs },
  ),
];
