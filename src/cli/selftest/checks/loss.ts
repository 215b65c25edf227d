import { type Lease, Leases } from '../../../leases/index.js';
import { elapsedMs, realRuntime, sleep } from '../../../time/index.js';
import { Lateness } from '../../lateness.js';
import { type Bench, type Check, type Finding, observerCall, toleranceMs } from '../check.js';

export const loss: Check = {
  name: 'loss',
  claim: 'a lease that changed hands unseen is let go at the next renewal',
  run: changeHands,
};

async function changeHands(bench: Bench): Promise<Finding> {
  const name = `${bench.name}/shard`;
  const { ttlMs, renewEveryMs, timing } = bench.clock;
  // Half done when the next renewal is due, and would end well after it.
  const itemMs = renewEveryMs * 2;
  const lateness = new Lateness();
  const a = new Leases(bench.openCoordinator(), { ...timing, id: 'A' });
  const b = new Leases(bench.openCoordinator(), { ...timing, id: 'B' });
  try {
    const lease = await a.acquire(name, { waitMs: ttlMs });
    if (lease === undefined) return { passed: false, figures: ['A was not granted the lease'] };
    const written: string[] = [];
    const item = workOnItem(lease, itemMs, written);
    const ended = endOf(lease);
    lateness.restart();
    await bench.observer.release([lease], observerCall);
    const changedAt = realRuntime.now();
    const successor = await b.acquire(name, { waitMs: ttlMs });
    const noticedMs = await Promise.race([
      ended.then(() => elapsedMs(changedAt, realRuntime.now())),
      sleep(realRuntime, itemMs).then(() => undefined),
    ]);
    await item;
    const record = (await bench.observer.read([name], observerCall))[0];
    const isStillB = record?.state === 'held' && record.term === successor?.term;
    return {
      passed:
        noticedMs !== undefined &&
        noticedMs <= lateness.limitMs(renewEveryMs, toleranceMs) &&
        lease.endReason === 'superseded' &&
        written.length === 0 &&
        isStillB,
      isWrong: noticedMs === undefined && lateness.maxMs < renewEveryMs / 2,
      figures: [
        noticedMs === undefined
          ? `A still believes after ${Math.round(itemMs)} ms (state ${lease.state})`
          : `A let go after ${Math.round(noticedMs)} ms (${lease.endReason}), renewals every ${Math.round(renewEveryMs)} ms`,
        `the store ${isStillB ? 'still names B' : 'does not name B any more'}`,
        `half-finished items written: ${written.length}`,
        ...(lateness.remark === undefined ? [] : [lateness.remark]),
      ],
    };
  } finally {
    lateness.stop();
    await Promise.all([a.close(), b.close()]);
  }
}

/** As a handler should be: it waits with the signal and asks the lease before it writes. No fence helps it. */
async function workOnItem(lease: Lease, itemMs: number, written: string[]): Promise<void> {
  await sleep(realRuntime, itemMs, lease.signal);
  if (lease.state === 'held') written.push(lease.name);
}

function endOf({ signal }: Lease): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}
