import { describe, expect, it } from 'vitest';
import type { LinkFault } from '../../src/drivers/memory/index.js';
import { defined } from './fixture.js';
import { QueueFixture } from './queue-fixture.js';

const name = 'payments';
const ttlMs = 6_000;
const attemptTimeoutMs = ttlMs / 3 / 4;
const waitMs = Number.POSITIVE_INFINITY;

/** What befalls the messages of the one that waits, if anything. */
interface Fault {
  readonly direction: 'request' | 'reply';
  readonly fault: LinkFault;
  readonly operation: 'acquire' | 'enroll' | 'withdraw' | 'read' | 'watch' | 'release';
}

const faults: Fault[] = (['drop', 'hold', 'duplicate'] as const).flatMap((fault) => [
  // A call is a reply to nothing.
  { direction: 'reply', fault, operation: 'watch' },
  ...(['acquire', 'enroll', 'withdraw', 'read', 'release'] as const).flatMap((operation) =>
    (['request', 'reply'] as const).map((direction) => ({ direction, fault, operation })),
  ),
]);

/** After so long nothing is left. What was never said to the store, or too late, is left to expire. */
function settlingMs(fault: Fault | undefined): number {
  if (fault === undefined) return 10;
  const isUnsaid = fault.fault === 'drop' || ['withdraw', 'release'].includes(fault.operation);
  return isUnsaid ? 2 * ttlMs : 2 * attemptTimeoutMs + 100;
}

/** When the wait is aborted: so long after it began, and so many microtasks later. */
interface Moment {
  readonly afterMs: number;
  readonly microtasks: number;
}

/**
 * The owner releases after 1,000 ms, or is cut off and its lease expires; the wait is aborted at the moment, what was
 * held up arrives after that, and then everything is looked at.
 */
async function abortAt(
  moment: Moment,
  fault: Fault | undefined,
  end: 'release' | 'expiry',
  seed: number,
) {
  const fixture = new QueueFixture(seed);
  const { runtime } = fixture;
  const owner = fixture.process('owner', { ttlMs });
  const waiter = fixture.process('waiter', { ttlMs });
  const lease = defined(await owner.leases.acquire(name));
  if (fault !== undefined) {
    const { direction, operation } = fault;
    waiter.link.disturb(direction, fault.fault, { operation });
  }
  const controller = new AbortController();
  let outcome: 'granted' | 'aborted' | undefined;
  const waiting = waiter.leases
    .acquire(name, { waitMs, signal: controller.signal })
    .then((granted) => {
      outcome = granted === undefined ? undefined : 'granted';
      return granted;
    })
    .catch((error: unknown) => {
      expect(error).toMatchObject({ message: 'changed my mind' });
      outcome = 'aborted';
      return undefined;
    });
  const ending = runtime.setTimer(1_000, () => {
    if (end === 'release') void lease.release();
    else owner.link.cut();
  });
  await runtime.advance(moment.afterMs);
  for (let count = 0; count < moment.microtasks; count++) await Promise.resolve();
  controller.abort(new Error('changed my mind'));
  const granted = await runtime.advanceUntil(waiting, ttlMs);
  waiter.link.flush();
  waiter.link.heal();
  await runtime.advance(settlingMs(fault));
  expect(outcome).toBeDefined();
  // Either it was granted before the abort, or nothing is held and nobody waits.
  expect(waiter.leases.live).toEqual(granted === undefined ? [] : [granted]);
  expect(await fixture.candidates(name)).toEqual([]);
  expect(fixture.listenerCount).toBe(0);
  if (granted === undefined) expect(await fixture.ownerOf(name)).not.toBe('waiter');
  ending.cancel();
  await waiter.leases.close();
  await owner.leases.close();
  expect(runtime.pendingTimerCount).toBe(0);
  // What the owner lost is not released: it expires.
  await runtime.advance(ttlMs);
  expect(await fixture.read(name)).toBeUndefined();
  return outcome;
}

describe('a wait that is aborted', { timeout: 60_000 }, () => {
  /** Something happens at these: the first try, the release, the expiry. */
  const eventfulMs = [0, 1_000, 6_000];
  const quietMs = [1, 500, 999, 1_001, 2_500, 5_999, 6_001, 6_030];

  it.each(['release', 'expiry'] as const)(
    'at any instant of a takeover after a %s leaves nothing behind',
    async (end) => {
      const seen = new Set<string | undefined>();
      for (const afterMs of quietMs)
        seen.add(await abortAt({ afterMs, microtasks: 0 }, undefined, end, 1));
      for (const afterMs of eventfulMs)
        for (let microtasks = 0; microtasks < 48; microtasks++)
          seen.add(await abortAt({ afterMs, microtasks }, undefined, end, 1));
      expect(seen).toEqual(new Set(['granted', 'aborted']));
    },
  );

  it.each(faults)(
    'leaves nothing behind whatever befalls its messages ($direction of $operation: $fault)',
    async (fault) => {
      for (const end of ['release', 'expiry'] as const)
        for (const afterMs of [...quietMs, ...eventfulMs])
          for (const microtasks of eventfulMs.includes(afterMs) ? [0, 5, 11] : [0])
            await abortAt({ afterMs, microtasks }, fault, end, afterMs + microtasks);
    },
  );
});
