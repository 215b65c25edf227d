import { setMaxListeners } from 'node:events';
import { askable } from '../errors/thrown.js';
import type { Lease } from '../leases/index.js';
import { elapsedMs, type Instant, type Runtime } from '../time/index.js';
import { type StopCause, StopRequestedError } from './election-errors.js';
import { Latch } from './latch.js';
import { RunningWork } from './running-work.js';

/** What the work gets beside its lease. */
export interface LeadContext {
  /**
   * Aborts when the work is to stop, for whatever reason: with a {@link StopRequestedError} while the lease is still held
   * (renewals go on: finish what was begun, and return), or with the reason of `lease.signal` when it has ended.
   */
  readonly stopping: AbortSignal;
}

/** What a leader does. It leads until this settles. */
export type Work<T> = (lease: Lease, context: LeadContext) => T | PromiseLike<T>;

export type WorkOutcome<T> =
  | { readonly how: 'returned'; readonly value: T }
  | { readonly how: 'threw'; readonly error: unknown }
  /** It was to stop before it could begin. */
  | { readonly how: 'not-begun' }
  /** It goes on, and nobody waits for it any more. */
  | { readonly how: 'abandoned' };

/** How the name is to be given back. */
export type Wish =
  | { readonly cause: 'resign' | 'shutdown' }
  | { readonly cause: 'handoff'; readonly to: string; readonly reserveMs: number };

export interface LedTermOptions {
  readonly lease: Lease;
  readonly runtime: Runtime;
  readonly drainMs: number;
  /** The work has not stopped in time. Called once, after its lease has ended. */
  readonly overdue: () => void;
}

/**
 * One term of this process: its lease, its work if it has any, and how both end.
 *
 * The name is given back once, after the work has settled. Work that has not settled `drainMs` after it was first told to
 * stop loses its lease instead.
 */
export class LedTerm {
  readonly lease: Lease;
  readonly #options: LedTermOptions;
  readonly #electedAt: Instant;
  readonly #stopping = new AbortController();
  readonly #leaseEnded = new Latch();
  #work: RunningWork | undefined;
  #endedAt: Instant | undefined;
  #wish: Wish | undefined;
  #finishing: Promise<boolean> | undefined;

  constructor(options: LedTermOptions) {
    this.#options = options;
    this.lease = options.lease;
    this.#electedAt = options.runtime.now();
    // The work may hand this to any number of requests; Node warns from the eleventh listener on.
    setMaxListeners(0, this.#stopping.signal);
    const { signal } = this.lease;
    signal.addEventListener('abort', () => this.#leaseHasEnded(), { once: true });
    if (signal.aborted) this.#leaseHasEnded();
  }

  /** How long the lease has been held, or was. */
  get heldMs(): number {
    return elapsedMs(this.#electedAt, this.#endedAt ?? this.#options.runtime.now());
  }

  /** Why the work is to stop; `undefined` as long as it is not. Asks the clock. */
  get stopReason(): unknown {
    // Reading it ends a lease whose deadline has passed unseen, and that stops the work.
    void this.lease.endReason;
    return this.#stopping.signal.reason;
  }

  /** Whether no work is under way. */
  get isSettled(): boolean {
    return this.#work?.settled.isOpen ?? true;
  }

  get settled(): Promise<void> {
    return this.#work?.settled.opened ?? Promise.resolve();
  }

  /**
   * Never rejects. Calls `settled` when the work has, before anybody else hears of it. Leaves the lease as it is:
   * {@link finish} gives it back.
   */
  run<T>(work: Work<T>, settled: (outcome: WorkOutcome<T>) => void): Promise<WorkOutcome<T>> {
    if (this.stopReason !== undefined) return Promise.resolve({ how: 'not-begun' });
    const { runtime, drainMs } = this.#options;
    const running = new RunningWork({ runtime, drainMs, overdue: () => this.#workIsOverdue() });
    this.#work = running;
    const done = this.#do(work).then((outcome) => {
      // First: a deadline that is seen only now, by a loop that was blocked, asks no more of this work.
      running.settle();
      settled(outcome);
      return outcome;
    });
    const abandoned = running.abandoned.opened.then(() => ({ how: 'abandoned' }) as const);
    return Promise.race([done, abandoned]);
  }

  async #do<T>(work: Work<T>): Promise<WorkOutcome<T>> {
    try {
      const value = await work(this.lease, { stopping: this.#stopping.signal });
      return { how: 'returned', value };
    } catch (error) {
      return { how: 'threw', error: askable(error) };
    }
  }

  /**
   * Asks the work to stop, and gives the name back as wished when it has. Resolves with whether this process gave it
   * back like that; at once with `false` when the lease has ended otherwise. A named successor goes before none, and
   * the first of two before the second, which gets `false`.
   */
  async giveBack(wish: Wish): Promise<boolean> {
    if (this.#finishing !== undefined) return (await this.#finishing) && this.#grants(wish);
    if (this.lease.endReason !== undefined) return false;
    if (this.#wish?.cause !== 'handoff' && (this.#wish === undefined || wish.cause === 'handoff'))
      this.#wish = wish;
    if (!this.#grants(wish)) return false;
    this.#askToStop(wish.cause);
    await Promise.race([this.settled, this.#leaseEnded.opened]);
    return this.isSettled && this.finish();
  }

  /** The work has settled: gives the name back, once. Resolves with whether it was this process's to give; never rejects. */
  finish(): Promise<boolean> {
    this.#finishing ??= this.#finish();
    return this.#finishing;
  }

  /** {@link run} stops waiting when the work is overdue and `limitMs` more have passed. */
  abandonAfter(limitMs: number): void {
    this.#work?.abandonAfter(limitMs);
  }

  /** Whether the name is, or was, given back in a way that is also what `wish` asks for. */
  #grants(wish: Wish): boolean {
    if (wish.cause !== 'handoff') return true;
    return this.#wish?.cause === 'handoff' && this.#wish.to === wish.to;
  }

  async #finish(): Promise<boolean> {
    const wasHeld = this.lease.endReason === undefined;
    const wish = this.#wish;
    if (wasHeld && wish?.cause === 'handoff' && (await this.#handOver(wish))) return true;
    // Also of a lost lease: it tells that its work has stopped. One that was handed over has nothing left to release.
    await this.lease.release();
    return wasHeld && wish?.cause !== 'handoff';
  }

  async #handOver({ to, reserveMs }: Extract<Wish, { cause: 'handoff' }>): Promise<boolean> {
    try {
      return await this.lease.handoff(to, reserveMs);
    } catch {
      // Whatever kept it from being handed over: the work has stopped, and nobody else would give the name back.
      return false;
    }
  }

  #askToStop(cause: StopCause): void {
    const { name, term } = this.lease;
    this.#stop(new StopRequestedError(name, term, cause));
  }

  #leaseHasEnded(): void {
    this.#endedAt = this.#options.runtime.now();
    this.#leaseEnded.open();
    this.#stop(this.lease.signal.reason);
  }

  /** The first time counts, for the reason and for the patience. */
  #stop(reason: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort(reason);
    this.#work?.stop();
  }

  #workIsOverdue(): void {
    if (this.lease.endReason === undefined) this.lease.end('shutdown');
    this.#options.overdue();
  }
}
