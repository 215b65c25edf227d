import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FaultLink, type LinkFault, type LinkMessage } from '../../src/drivers/memory/index.js';
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

/** When the wait is aborted. */
type Moment =
  | { readonly afterMs: number }
  /** So many microtasks after this message of the one that waits is carried, be it a request or a reply. */
  | { readonly message: number; readonly microtasks: number };

async function after(microtasks: number): Promise<void> {
  for (let count = 0; count < microtasks; count++) await Promise.resolve();
}

/** Counts the messages that it carries. */
class CountingLink extends FaultLink {
  #count = 0;
  readonly #onMessage: (count: number) => void;

  constructor(onMessage: (count: number) => void) {
    super();
    this.#onMessage = onMessage;
  }

  override carry(message: LinkMessage, deliver: () => void): boolean {
    this.#onMessage(++this.#count);
    return super.carry(message, deliver);
  }
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
  const controller = new AbortController();
  const abort = () => controller.abort(new Error('changed my mind'));
  const link = new CountingLink((count) => {
    if ('message' in moment && count === moment.message) void after(moment.microtasks).then(abort);
  });
  const waiter = fixture.process('waiter', { ttlMs }, link);
  const lease = defined(await owner.leases.acquire(name));
  if (fault !== undefined) {
    const { direction, operation } = fault;
    waiter.link.disturb(direction, fault.fault, { operation });
  }
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
  // At the latest, if there are not so many messages.
  const aborting = runtime.setTimer('afterMs' in moment ? moment.afterMs : 3 * ttlMs, abort);
  const granted = await runtime.advanceUntil(waiting, 4 * ttlMs);
  aborting.cancel();
  ending.cancel();
  waiter.link.flush();
  waiter.link.heal();
  await runtime.advance(settlingMs(fault));
  expect(outcome).toBeDefined();
  // Either it was granted before the abort, or nothing is held and nobody waits.
  expect(waiter.leases.live).toEqual(granted === undefined ? [] : [granted]);
  expect(await fixture.candidates(name)).toEqual([]);
  expect(fixture.listenerCount).toBe(0);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  if (granted === undefined) expect(await fixture.ownerOf(name)).not.toBe('waiter');
  await waiter.leases.close();
  await owner.leases.close();
  expect(runtime.pendingTimerCount).toBe(0);
  // What the owner lost is not released: it expires.
  await runtime.advance(ttlMs);
  expect(await fixture.read(name)).toBeUndefined();
  return outcome;
}

describe('a wait that is aborted', { timeout: 60_000 }, () => {
  const instants = [0, 1, 500, 999, 1_000, 1_001, 2_500, 5_999, 6_000, 6_001, 6_030].map(
    (afterMs) => ({ afterMs }),
  );
  /** The first try and the entry, a call, the second try, its confirmation and the withdrawal, each there and back. */
  const messages = Array.from({ length: 13 }, (_, index) => index + 1);

  it.each(['release', 'expiry'] as const)(
    'at any instant, and at any message, of a takeover after a %s leaves nothing behind',
    async (end) => {
      const seen = new Set<string | undefined>();
      for (const moment of instants) seen.add(await abortAt(moment, undefined, end, 1));
      for (const message of messages)
        for (const microtasks of [0, 1, 2, 3, 4, 5, 6])
          seen.add(await abortAt({ message, microtasks }, undefined, end, 1));
      expect(seen).toEqual(new Set(['granted', 'aborted']));
    },
  );

  it.each(faults)(
    'leaves nothing behind whatever befalls its messages ($direction of $operation: $fault)',
    async (fault) => {
      for (const end of ['release', 'expiry'] as const) {
        for (const moment of instants) await abortAt(moment, fault, end, moment.afterMs);
        for (const message of messages) await abortAt({ message, microtasks: 1 }, fault, end, 1);
      }
    },
  );
});
