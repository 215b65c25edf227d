import type { Coordinator, RenewResult } from '../coordinators/index.js';
import { OptionError, OutcomeUnknownError } from '../errors/index.js';
import {
  Backoff,
  elapsedMs,
  type Instant,
  type Runtime,
  type Timer,
  withDeadline,
} from '../time/index.js';
import type { Renewable } from './renewal.js';

/** One attempt to renew leases, after its end. All durations in milliseconds of monotonic time. */
export interface RenewalReport {
  readonly leaseCount: number;
  /** From the request until its answer, or until it was given up. */
  readonly roundTripMs: number;
  /** `undefined` if the store answered. */
  readonly error: unknown;
  /**
   * What the lease that was nearest its deadline had left when the answer came, had it not been renewed by it; 0 if the
   * deadline had passed. At best `giveUpAfterMs - renewEveryMs - roundTripMs`.
   */
  readonly shortestRemainingMs: number;
  /** For how long that lease is kept without a renewal: {@link ResolvedTiming.giveUpAfterMs}. */
  readonly giveUpAfterMs: number;
  /** How much later than it was due the attempt began: for so long the event loop of the renewing thread stood still. */
  readonly lateMs: number;
}

/** A coordinator ends its calls in time by itself; this much later we stop believing that it will. */
const coordinatorGraceMs = 50;

/**
 * Keeps any number of leases of one timing renewed with one request each time.
 *
 * One attempt is under way at a time, bounded by its own limit, so a hung one cannot hold up the next; after a failure
 * the next follows with growing, jittered pauses until it succeeds or the leases reach their deadlines. Leases that are
 * due within the same half interval are renewed together, so leases acquired at different times fall into one step.
 */
export class Renewer<Member extends Renewable> {
  readonly #runtime: Runtime;
  readonly #coordinator: Coordinator;
  readonly #onAttempt: (report: RenewalReport) => void;
  readonly #leases = new Set<Member>();
  #timer: Timer | undefined;
  #timerDueAtMs = 0;
  #attempting = false;
  #demanded = false;
  #backoff: Backoff | undefined;
  #retryAt: { readonly from: Instant; readonly afterMs: number } | undefined;

  constructor(
    runtime: Runtime,
    coordinator: Coordinator,
    onAttempt: (report: RenewalReport) => void,
  ) {
    this.#runtime = runtime;
    this.#coordinator = coordinator;
    this.#onAttempt = onAttempt;
  }

  get leases(): ReadonlySet<Member> {
    return this.#leases;
  }

  add(lease: Member): void {
    this.#leases.add(lease);
    // What is due later than the timer that is set already will be found by it.
    if (this.#timer === undefined || dueAtMs(lease) < this.#timerDueAtMs) this.#schedule();
  }

  remove(lease: Member): void {
    this.#leases.delete(lease);
    if (this.#leases.size === 0) this.#disarm();
  }

  /** Renews everything now, or right after the attempt that is under way (which may have been sent too early). */
  demand(): void {
    this.#demanded = true;
    this.#schedule();
  }

  close(): void {
    this.#disarm();
    this.#leases.clear();
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#attempting) return;
    this.#disarm();
    const delayMs = this.#nextDelayMs();
    if (delayMs === undefined) return;
    this.#timerDueAtMs = this.#runtime.now().monotonicMs + delayMs;
    this.#timer = this.#runtime.setTimer(delayMs, () => {
      this.#timer = undefined;
      void this.#attempt();
    });
  }

  #nextDelayMs(): number | undefined {
    if (this.#leases.size === 0) return undefined;
    const now = this.#runtime.now();
    if (this.#retryAt !== undefined) {
      return Math.max(0, this.#retryAt.afterMs - elapsedMs(this.#retryAt.from, now));
    }
    if (this.#demanded) return 0;
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const lease of this.#leases) earliestMs = Math.min(earliestMs, dueInMs(lease, now));
    return Math.max(0, earliestMs);
  }

  #dueLeases(): Member[] {
    const now = this.#runtime.now();
    const all = this.#demanded || this.#retryAt !== undefined;
    return [...this.#leases].filter(
      (lease) => all || dueInMs(lease, now) <= lease.timing.renewEveryMs / 2,
    );
  }

  async #attempt(): Promise<void> {
    const lateMs = Math.max(0, this.#runtime.now().monotonicMs - this.#timerDueAtMs);
    // Also while it is being prepared: to look at a lease may put it in doubt, and a doubt demands an attempt.
    this.#attempting = true;
    // A freeze may have ended leases whose own timer has not run yet; reading the state tells.
    const due = this.#dueLeases().filter((lease) => lease.endReason === undefined);
    this.#demanded = false;
    if (due.length > 0) await this.#attemptFor(due, lateMs);
    this.#attempting = false;
    this.#schedule();
  }

  async #attemptFor(due: readonly Member[], lateMs: number): Promise<void> {
    const limitMs = attemptLimitMs(due);
    const sentAt = this.#runtime.now();
    const nearest = nearestDeadline(due, sentAt);
    const error = await this.#renew(due, sentAt, limitMs);
    this.#afterAttempt(error, limitMs);
    const roundTripMs = elapsedMs(sentAt, this.#runtime.now());
    const shortestRemainingMs = Math.max(0, nearest.shortestRemainingMs - roundTripMs);
    const report = { leaseCount: due.length, roundTripMs, error, lateMs };
    this.#onAttempt({ ...report, ...nearest, shortestRemainingMs });
  }

  /** Resolves with the error if the store gave no answer, or too few. */
  async #renew(leases: readonly Renewable[], sentAt: Instant, limitMs: number): Promise<unknown> {
    try {
      const results = await this.#send(leases, limitMs);
      for (const [index, lease] of leases.entries()) settle(lease, results[index], sentAt);
      if (results.length >= leases.length) return undefined;
      return new OutcomeUnknownError('the store answered too few renewals');
    } catch (error) {
      for (const lease of leases) lease.apply({ type: 'renewal-failed' });
      return error;
    }
  }

  async #send(leases: readonly Renewable[], limitMs: number): Promise<RenewResult[]> {
    const changes = leases.map((lease) => lease.takeChangedMetadata());
    const requests = leases.map(({ name, holder, term, timing }, index) => {
      const metadata = changes[index];
      return {
        name,
        holder,
        term,
        ttlMs: timing.ttlMs,
        ...(metadata !== undefined && { metadata }),
      };
    });
    try {
      const call = this.#coordinator.renew(requests, { timeoutMs: limitMs });
      return await withDeadline(this.#runtime, limitMs + coordinatorGraceMs, 'a renewal', call);
    } catch (error) {
      // What the store refuses for its form would be refused again, and the lease with it.
      if (error instanceof OptionError) throw error;
      leases.forEach((lease, index) => {
        if (changes[index] !== undefined) lease.metadataUnsent();
      });
      throw error;
    }
  }

  #afterAttempt(error: unknown, limitMs: number): void {
    if (error === undefined) {
      this.#backoff = undefined;
      this.#retryAt = undefined;
      return;
    }
    this.#backoff ??= new Backoff(this.#runtime, { firstMs: limitMs / 8, limitMs });
    this.#retryAt = { from: this.#runtime.now(), afterMs: this.#backoff.nextMs() };
  }
}

/** No request outlives the deadlines of all leases it is for. */
function attemptLimitMs(leases: readonly Renewable[]): number {
  const timeoutMs = Math.min(...leases.map((lease) => lease.timing.attemptTimeoutMs));
  const longestMs = Math.max(...leases.map((lease) => lease.remainingMs));
  return Math.max(1, Math.min(timeoutMs, longestMs));
}

/**
 * Until the first of them would be given up (below 0 after that), and for how long that one is kept. How long it may be held
 * at all does not matter.
 */
export function nearestDeadline(
  leases: readonly Renewable[],
  now: Instant,
): Pick<RenewalReport, 'shortestRemainingMs' | 'giveUpAfterMs'> {
  let shortestRemainingMs = Number.POSITIVE_INFINITY;
  let giveUpAfterMs = 0;
  for (const { anchor, timing } of leases) {
    const leftMs = timing.giveUpAfterMs - elapsedMs(anchor, now);
    if (leftMs >= shortestRemainingMs) continue;
    shortestRemainingMs = leftMs;
    giveUpAfterMs = timing.giveUpAfterMs;
  }
  return { shortestRemainingMs, giveUpAfterMs };
}

function dueAtMs({ anchor, timing }: Renewable): number {
  return anchor.monotonicMs + timing.renewEveryMs;
}

function dueInMs(lease: Renewable, now: Instant): number {
  return lease.timing.renewEveryMs - elapsedMs(lease.anchor, now);
}

function settle(lease: Renewable, result: RenewResult | undefined, sentAt: Instant): void {
  if (result?.outcome === 'renewed') lease.apply({ type: 'renewed', sentAt });
  else if (result?.outcome === 'not-yours')
    lease.apply({ type: 'not-yours', reason: result.reason });
  else lease.apply({ type: 'renewal-failed' });
}
