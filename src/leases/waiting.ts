import type { LeaseRecord } from '../coordinators/index.js';
import { isTransient, type TenureError } from '../errors/index.js';
import { Backoff, elapsedMs, type Instant, type Runtime, sleep } from '../time/index.js';
import type { AcquireOutcome } from './acquisition.js';
import type { Enrollment } from './enrollment.js';
import type { Lease } from './lease.js';
import type { QueueListener } from './roster-entry.js';
import { isReservedFor, turnAfterCallMs, turnUncalledMs } from './turns.js';

export interface WaitingOptions {
  readonly runtime: Runtime;
  readonly holderId: string;
  /** Between an acquisition that failed and a look at what stands there now. */
  readonly longestPauseMs: number;
  readonly attempt: () => Promise<AcquireOutcome>;
  /** Enters the queue. */
  readonly enroll: (listener: QueueListener) => Enrollment;
  /** Called once, when the store has answered that we stand in the queue. */
  readonly onAdmitted: () => void;
  /** Called when the store gave no usable answer, and before it is asked again. */
  readonly onRetry: (error: TenureError, retryInMs: number) => void;
  /** Whether the store's record says that the lease is there. */
  readonly confirm: (lease: Lease) => Promise<boolean>;
}

/** Nobody looks at it. Without one, each alarm would cost an exception with its stack. */
const rung = 'the alarm';

/**
 * Waits for one name: tries, and if it is held stands in the queue until called, or until a refresh of the queue or the
 * clock says that it is free.
 *
 * Whatever it hears only decides when it tries again; the store alone decides whether it is granted.
 */
export class Waiting implements QueueListener {
  readonly #options: WaitingOptions;
  readonly #backoff: Backoff;
  #enrollment: Enrollment | undefined;
  /** The first try had no answer: not at once again. */
  #enrollInMs = 0;
  /** When to try again; `undefined`: when something is heard. */
  #turn: { readonly from: Instant; readonly afterMs: number } | undefined;
  /** In the queue; `undefined`: not known. */
  #place: number | undefined;
  #callCount = 0;
  #isAdmitted = false;
  /** Why the last try came to nothing, if it is not that somebody else has the name. */
  #error: unknown;
  #ended: { readonly reason: unknown } | undefined;
  #alarm = new AbortController();

  constructor(options: WaitingOptions) {
    this.#options = options;
    const { runtime, longestPauseMs } = options;
    const pauses = { firstMs: longestPauseMs / 16, limitMs: longestPauseMs };
    this.#backoff = new Backoff(runtime, pauses);
  }

  /** @throws what {@link end} was called with; or the store's last error, if no answer came after it in time. */
  async run(waitMs: number): Promise<Lease | undefined> {
    const { runtime, enroll } = this.#options;
    const startedAt = runtime.now();
    let lease = await this.#try(false);
    try {
      while (lease === undefined) {
        const leftMs = waitMs - elapsedMs(startedAt, runtime.now());
        if (leftMs <= 0) return this.#giveUp();
        if (this.#enrollInMs > 0) {
          await this.#sleep(Math.min(leftMs, this.#enrollInMs));
          this.#enrollInMs = 0;
          continue;
        }
        this.#enrollment ??= enroll(this);
        await this.#sleep(Math.min(leftMs, this.#turnInMs()));
        if (this.#turnInMs() <= 0) lease = await this.#try(true);
      }
      return lease;
    } finally {
      void this.#enrollment?.withdraw();
    }
  }

  /** The wait is over as soon as no try is under way, and rejects with `reason`. */
  end(reason: unknown): void {
    this.#ended ??= { reason };
    this.#alarm.abort(rung);
  }

  called(place: number): void {
    this.#callCount += 1;
    this.#hasten(turnAfterCallMs(place, this.#random));
  }

  heard(current: LeaseRecord | undefined, position: number | undefined, rank: number): void {
    this.#place = position === undefined ? undefined : position + rank;
    this.#admitted();
    // Whoever finds it free was not called, and nor perhaps was anybody: no matter where in the queue, it tries.
    if (current === undefined || isReservedFor(this.#options.holderId, current))
      this.#hasten(turnAfterCallMs(rank, this.#random));
    else this.#postpone(current);
  }

  failed(error: unknown, retryInMs: number): void {
    if (isTransient(error)) this.#note(error, retryInMs);
    else this.end(error);
  }

  /** `undefined`: not this time; then the next turn is set, unless something has to be heard first. */
  async #try(isConfirmed: boolean): Promise<Lease | undefined> {
    this.#throwIfEnded();
    this.#turn = undefined;
    try {
      const lease = await this.#acquire(isConfirmed);
      if (this.#ended !== undefined) await lease?.release();
      this.#throwIfEnded();
      return lease;
    } catch (error) {
      this.#throwIfEnded();
      if (!isTransient(error)) throw error;
      this.#note(error, this.#retry());
      return undefined;
    }
  }

  /** Looks again before it tries again: the queue alone asks a store that is in trouble. */
  #retry(): number {
    const retryInMs = this.#backoff.nextMs();
    // Whoever does not stand in the queue yet will then, and looks by that.
    if (this.#enrollment === undefined) this.#enrollInMs = retryInMs;
    else this.#enrollment.hurry(retryInMs);
    return retryInMs;
  }

  #note(error: TenureError, retryInMs: number): void {
    this.#error = error;
    this.#options.onRetry(error, retryInMs);
  }

  async #acquire(isConfirmed: boolean): Promise<Lease | undefined> {
    const callCount = this.#callCount;
    const outcome = await this.#options.attempt();
    if (outcome.outcome === 'failed') throw outcome.error;
    if (outcome.outcome === 'granted') {
      if (!isConfirmed || (await this.#confirmed(outcome.lease))) return outcome.lease;
      this.#error = undefined;
      this.#retry();
      return undefined;
    }
    this.#backoff.reset();
    // A call that came since then is newer than this answer.
    if (callCount === this.#callCount) this.#postpone(outcome.current);
    return undefined;
  }

  async #confirmed(lease: Lease): Promise<boolean> {
    try {
      if (await this.#options.confirm(lease)) return true;
      lease.supersede();
    } catch (error) {
      await lease.release();
      throw error;
    }
    return false;
  }

  #admitted(): void {
    if (this.#isAdmitted) return;
    this.#isAdmitted = true;
    this.#options.onAdmitted();
  }

  /** The turn is in `afterMs`, if it is not before. */
  #hasten(afterMs: number): void {
    if (afterMs < this.#turnInMs()) this.#turn = { from: this.#options.runtime.now(), afterMs };
    this.#alarm.abort(rung);
  }

  /** The name is not free: the turn is when it may be. */
  #postpone(current: LeaseRecord): void {
    this.#error = undefined;
    if (this.#place === undefined) return;
    const afterMs = turnUncalledMs(current, this.#place, this.#random);
    this.#turn = { from: this.#options.runtime.now(), afterMs };
    this.#alarm.abort(rung);
  }

  #turnInMs(): number {
    if (this.#turn === undefined) return Number.POSITIVE_INFINITY;
    return this.#turn.afterMs - elapsedMs(this.#turn.from, this.#options.runtime.now());
  }

  async #sleep(durationMs: number): Promise<void> {
    this.#alarm = new AbortController();
    if (this.#ended === undefined)
      await sleep(this.#options.runtime, durationMs, this.#alarm.signal);
    this.#throwIfEnded();
  }

  #giveUp(): undefined {
    if (this.#error !== undefined) throw this.#error;
    return undefined;
  }

  #throwIfEnded(): void {
    if (this.#ended !== undefined) throw this.#ended.reason;
  }

  readonly #random = () => this.#options.runtime.random();
}
