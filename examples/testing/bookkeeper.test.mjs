// @ts-check
/**
 * A process is paused between its check and its write, for longer than its lease lasts.
 *
 *     node --test examples/testing/bookkeeper.test.mjs
 *     FENCE=no node --test examples/testing/bookkeeper.test.mjs     # fails: the stale write is applied
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Leases, StaleTermError } from 'tenure';
import { memoryFence } from 'tenure/memory';
import { TestFleet } from 'tenure/testing';
import { book, fencedLedger, trustingLedger } from './bookkeeper.mjs';

test('a bookkeeper that was paused overwrites nothing', async () => {
  const fleet = new TestFleet();
  const fence = memoryFence();
  const isFenced = process.env.FENCE !== 'no';
  const ledger = isFenced ? fencedLedger(fence) : trustingLedger(fence.resource);
  const [ann, bob] = [fleet.process('ann'), fleet.process('bob')];
  const leasesOf = (
    /** @type {import('tenure/testing').TestProcess} */ { id, runtime, coordinator },
  ) => new Leases(coordinator, { id, runtime, ttlMs: 10_000 });
  const [hers, his] = [leasesOf(ann), leasesOf(bob)];

  const lease = await fleet.until(hers.acquire('ledger'));
  assert.ok(lease);
  await book(ann.reach(ledger), lease, 100);

  // She has read 100 and checked her lease. Then her machine stands still.
  const paused = ann.pauseAt('write');
  const booking = book(ann.reach(ledger), lease, 20).then(
    () => undefined,
    (error) => error,
  );
  await fleet.until(paused);

  const next = await fleet.until(his.acquire('ledger', { waitMs: 60_000 }));
  assert.ok(next);
  await book(bob.reach(ledger), next, 30);
  assert.equal(fence.resource.read('total'), 130);

  ann.resume();
  const error = await booking;
  const total = fence.resource.read('total');
  assert.equal(
    total,
    130,
    `the stale write was applied: the total is ${total}, and what bob booked is gone`,
  );
  assert.ok(error instanceof StaleTermError);

  await fleet.until(Promise.all([hers.close(), his.close()]));
  await fleet.close();
});
