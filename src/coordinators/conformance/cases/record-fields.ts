import assert from 'node:assert/strict';
import { defineCase } from '../case.js';

/** Clocks that tell Unix time and those that judge expiry may differ by this much over a few ttls. */
const clockSlackMs = 50;

/** What a lease's record tells besides who holds it. */
export const recordFieldCases = [
  defineCase(
    'records/lease-id',
    'a record names the attempt that was granted, through all renewals',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const request = ann.request(name);
      const term = await ann.take(request);
      await ann.renew(name, term);
      assert.equal((await bob.readLease(name)).leaseId, request.attempt);
      await ann.release(name, term);
      const next = ann.request(name);
      await ann.take(next);
      assert.equal((await bob.findsHeld(name)).leaseId, next.attempt);
    },
  ),

  defineCase(
    'records/renewed-at',
    'a record tells when the lease was last renewed, and the grant counts as the first time',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const term = await ann.take(name);
      const first = await bob.readLease(name);
      const betweenMs = Math.abs(first.renewedAtMs - first.grantedAtMs);
      assert.ok(betweenMs <= clockSlackMs, `${betweenMs} ms between the grant and itself`);
      await scene.pass(0.5);
      await ann.renew(name, term);
      const { grantedAtMs, renewedAtMs } = await bob.readLease(name);
      assert.equal(grantedAtMs, first.grantedAtMs, 'the time of the grant stays');
      const agoMs = renewedAtMs - grantedAtMs;
      assert.ok(agoMs >= scene.ttlMs * 0.5 - clockSlackMs && agoMs <= scene.ttlMs, `${agoMs} ms`);
    },
  ),

  defineCase(
    'records/grace',
    'a record tells the lock-delay of its lease, none by default',
    async (scene) => {
      const [plain, none, delayed] = [scene.newName(), scene.newName(), scene.newName()];
      const ann = await scene.actor('ann');
      const { largestTtlMs } = ann.client.promises;
      await ann.take(plain);
      await ann.take(ann.request(none, { graceMs: 0 }));
      await ann.take(ann.request(delayed, { graceMs: largestTtlMs }));
      assert.equal((await ann.readLease(plain)).graceMs, 0);
      assert.equal((await ann.readLease(none)).graceMs, 0);
      assert.equal((await ann.readLease(delayed)).graceMs, largestTtlMs);
    },
  ),

  defineCase(
    'records/not-revoked',
    'a record of a lease that nobody has revoked says so',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      await ann.take(name);
      assert.equal((await ann.readLease(name)).revocation, undefined);
    },
  ),
];
