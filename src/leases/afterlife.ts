import type {
  Coordinator,
  EndResult,
  HandoffRequest,
  ReleaseRequest,
} from '../coordinators/index.js';
import { type HandoffTrace, traced, traces } from '../events/index.js';
import { elapsedMs, type Runtime, type Timer, withDeadline } from '../time/index.js';
import { isEndedByDecision } from './end-reason.js';
import type { Lease } from './lease.js';
import { TurnBatch } from './turn-batch.js';

/** A lease, and the holder id that is to have its name next. */
export interface Gift {
  readonly lease: Lease;
  readonly to: string;
}

/**
 * What still has to be said to the store after a lease has ended, or an acquisition came to nothing.
 *
 * All of it is best effort, conditional ("if it is still mine") and never throws: a store that does not hear it lets
 * the lease expire. A *lost* lease is not given back at once, since its work may need the rest of the ttl to stop: that
 * happens when the work says it has stopped, or at the latest when the store would have let the lease expire anyway
 * (a renewal that was executed late may have extended it).
 */
export class Afterlife {
  readonly #runtime: Runtime;
  readonly #coordinator: Coordinator;
  readonly #later = new Map<Lease, Timer>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #releases = new Map<number, TurnBatch<ReleaseRequest, void>>();

  constructor(runtime: Runtime, coordinator: Coordinator) {
    this.#runtime = runtime;
    this.#coordinator = coordinator;
  }

  /** Ends and releases those that have not ended yet, in one request. */
  async giveBack(
    leases: readonly Lease[],
    reason: 'released' | 'shutdown',
    timeoutMs: number,
  ): Promise<void> {
    const alive = leases.filter((lease) => lease.endReason === undefined);
    for (const lease of alive) lease.apply({ type: 'released', reason });
    await this.release(alive.map(releaseOf), timeoutMs);
  }

  /** Ends those that have not ended yet, and gives each to its successor in one request; which of all are confirmed. */
  async giveAway(gifts: readonly Gift[], reserveMs: number, timeoutMs: number): Promise<boolean[]> {
    const alive = gifts.filter(({ lease }) => lease.endReason === undefined);
    for (const { lease } of alive) lease.apply({ type: 'released', reason: 'handed-off' });
    const requests = alive.map(({ lease, to }) => handoffOf(lease, to, reserveMs));
    const answers = await this.handoff(requests, timeoutMs);
    const confirmed = new Set(alive.filter((_, index) => answers[index]));
    return gifts.map((gift) => confirmed.has(gift));
  }

  /** As {@link release}; what is released in one turn travels in one request. */
  releaseOne(request: ReleaseRequest, timeoutMs: number): Promise<void> {
    let batch = this.#releases.get(timeoutMs);
    if (batch === undefined) {
      batch = new TurnBatch(nameOf, async (requests) => {
        await this.release(requests, timeoutMs);
        return [];
      });
      this.#releases.set(timeoutMs, batch);
    }
    return batch.add(request);
  }

  async release(requests: readonly ReleaseRequest[], timeoutMs: number): Promise<void> {
    if (requests.length > 0) await this.#tracked(this.#release(requests, timeoutMs));
  }

  /** For each request, whether the store confirmed it. */
  async handoff(requests: readonly HandoffRequest[], timeoutMs: number): Promise<boolean[]> {
    if (requests.length === 0) return [];
    const names = requests.map(({ name }) => name);
    const context: HandoffTrace = { names, to: requests.map(({ to }) => to) };
    const handoff = async () => {
      const confirmed = await this.#handoff(requests, timeoutMs);
      context.confirmedCount = confirmed.filter((isDone) => isDone).length;
      return confirmed;
    };
    return this.#tracked(traced(traces.handoff, context, handoff));
  }

  /** When its record would have expired: {@link letGoNow}; unless a lock-delay has to follow. */
  letGoLater(lease: Lease): void {
    const hasLockDelay = lease.graceAfterLossMs > 0;
    // A release would end the lock-delay too. It does where the end was decided, and only once the work has stopped.
    if (hasLockDelay && !isEndedByDecision(lease.endReason)) return;
    const delayMs = lease.timing.ttlMs - elapsedMs(lease.anchor, this.#runtime.now());
    const end = () => (hasLockDelay ? this.#later.delete(lease) : this.letGoNow(lease));
    const timer = this.#runtime.setTimer(Math.max(0, delayMs), end, { keepsProcessAlive: false });
    this.#later.set(lease, timer);
  }

  /** The work of a lost lease has stopped. */
  letGoNow(lease: Lease): void {
    const timer = this.#later.get(lease);
    if (timer === undefined) return;
    timer.cancel();
    this.#later.delete(lease);
    void this.release([releaseOf(lease)], lease.timing.attemptTimeoutMs);
  }

  /**
   * Waits until everything under way is over. What was to be said later is not said: nobody has told us that the work
   * of those leases has stopped, so they are left to expire.
   */
  async close(): Promise<void> {
    for (const timer of this.#later.values()) timer.cancel();
    this.#later.clear();
    await Promise.all(this.#running);
  }

  async #release(requests: readonly ReleaseRequest[], timeoutMs: number): Promise<void> {
    await this.#bounded(timeoutMs, 'a release', () =>
      this.#coordinator.release(requests, { timeoutMs }),
    );
  }

  async #handoff(requests: readonly HandoffRequest[], timeoutMs: number): Promise<boolean[]> {
    const results = await this.#bounded(timeoutMs, 'a handoff', () =>
      this.#coordinator.handoff(requests, { timeoutMs }),
    );
    // An operator has decided otherwise who comes next, and waits for the work to be over, which it is.
    const revoked = requests
      .filter((_, index) => isRevoked(results?.[index]))
      .map(({ name, holder, term }) => ({ name, holder, term, reason: 'revoked' }));
    if (revoked.length > 0) await this.#release(revoked, timeoutMs);
    return requests.map((_, index) => results?.[index]?.outcome === 'ended');
  }

  /** `undefined` if the store did not answer, whichever way it failed. */
  async #bounded<T>(
    timeoutMs: number,
    what: string,
    call: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await withDeadline(this.#runtime, timeoutMs * 2, what, call());
    } catch {
      return undefined;
    }
  }

  async #tracked<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }
}

/** The request that frees what an ended lease left, with its reason for the history. */
export function releaseOf({ name, holder, term, endReason }: Lease): ReleaseRequest {
  return { name, holder, term, ...(endReason !== undefined && { reason: endReason }) };
}

/** The request that gives what an ended lease left to the holder id `to`. */
export function handoffOf(
  { name, holder, term }: Lease,
  to: string,
  reserveMs: number,
): HandoffRequest {
  return { name, holder, term, to, reserveMs };
}

function isRevoked(result: EndResult | undefined): boolean {
  return result?.outcome === 'not-yours' && result.reason === 'revoked';
}

function nameOf({ name }: ReleaseRequest): string {
  return name;
}
