import { isTransient, OutcomeUnknownError, StaleTermError } from '../../errors/index.js';
import { onAbort } from '../../events/index.js';
import { type Lease, LeaseNotHeldError } from '../../leases/index.js';
import { Backoff, elapsedMs, type Runtime, sleep } from '../../time/index.js';
import type { JobChange, JobStore, RunsOptions, WriteResult } from '../contract.js';
import { JobUnknownError } from '../errors.js';
import type { RunRecord } from '../records.js';

export interface PenOptions {
  readonly store: JobStore;
  readonly lease: Lease;
  readonly runtime: Runtime;
  readonly callTimeoutMs: number;
  readonly ttlMs: number;
  /** Aborts when this leader is to stop. */
  readonly stopping: AbortSignal;
  /** The store refused or gave no answer; it is tried again. */
  readonly failed: (error: unknown, retryInMs: number) => void;
}

/** How long, and how often, something is asked. */
export interface Patience {
  /** One request may take this long. */
  readonly timeoutMs: number;
  /** What has failed for so long, and more than twice, is given up: others may be nearer to the store. */
  readonly limitMs: number;
  /** Since the leader was told to stop, it is asked for so long yet. `mayBeDone`: one without an answer may have been executed. */
  readonly afterStopMs: (mayBeDone: boolean) => number;
}

/** What was asked was not answered before the leader was told to stop. Its cause is what was told of the last question. */
export class StoppedAskingError extends Error {}

const fewestFailures = 3;
const pauses = { firstMs: 100, limitMs: 5_000 };
/** How often an uncertain lease is looked at again. */
const doubtMs = 50;

/**
 * Asks and writes as one leader: under its term, only while the lease is held, and again until there is an answer. All
 * that is written may be written twice.
 */
export class Pen {
  readonly #options: PenOptions;
  readonly #writes: Patience;
  readonly #begins: Patience;
  #stoppedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: PenOptions) {
    this.#options = options;
    const { callTimeoutMs, ttlMs, stopping, runtime } = options;
    // Of two round trips, by default each of as long as a request for the lease. What a process that is stopped has locked
    // keeps a successor out for less time than its lease did.
    const timeoutMs = Math.max(callTimeoutMs, ttlMs / 6);
    const limitMs = Number.POSITIVE_INFINITY;
    const graceMs = ttlMs / 3;
    this.#writes = { timeoutMs, limitMs, afterStopMs: () => graceMs };
    // What was never executed is nothing to leave in order.
    const afterStopMs = (mayBeDone: boolean) => (mayBeDone ? graceMs : 0);
    this.#begins = { timeoutMs, limitMs, afterStopMs };
    onAbort(stopping, () => {
      this.#stoppedAtMs = runtime.now().monotonicMs;
    });
  }

  get lease(): Lease {
    return this.#options.lease;
  }

  /**
   * @throws {StaleTermError} if it was refused; {@link JobUnknownError} if somebody had the job forgotten;
   * {@link LeaseNotHeldError} if the lease has ended; {@link StoppedAskingError} if there was no answer before the leader was
   * told to stop, and for a third of the ttl since, or it is a run that has certainly not begun; what is not transient.
   */
  async write(change: JobChange): Promise<Exclude<WriteResult, { outcome: 'refused' }>> {
    const { store, lease } = this.#options;
    const patience = change.begin === undefined ? this.#writes : this.#begins;
    const result = await this.persist((call) => store.write(lease, change, call), patience);
    if (result.outcome !== 'refused') return result;
    // Nobody else's term is installed there: the job is gone, and may be claimed again.
    if (result.installedTerm === 0) throw new JobUnknownError(change.job);
    throw this.refused(result.installedTerm);
  }

  /** Runs that are kept, the latest tick first. @throws as {@link write}. */
  async runs(job: string, options: RunsOptions): Promise<RunRecord[]> {
    return await this.persist((call) => this.#options.store.runs(job, options, call), this.#begins);
  }

  /** A refusal ends the term at once, and with it whatever else is done under it. */
  refused(installedTerm: number): StaleTermError {
    const { lease } = this.#options;
    lease.supersede(installedTerm, undefined, 'jobs');
    return new StaleTermError(lease.name, lease.term, installedTerm);
  }

  /** @throws as {@link write}; and what it was given up for. */
  async persist<Answer>(
    ask: (call: { timeoutMs: number }) => Promise<Answer>,
    { timeoutMs, limitMs, afterStopMs }: Patience,
  ): Promise<Answer> {
    const { runtime, failed } = this.#options;
    const backoff = new Backoff(runtime, pauses);
    const beganAt = runtime.now();
    let mayBeDone = false;
    let cause: unknown;
    const leftMs = () => this.#leftMs(beganAt.monotonicMs, afterStopMs(mayBeDone));
    for (let failures = 1; ; failures++) {
      await this.held(leftMs);
      if (leftMs() <= 0) throw new StoppedAskingError('it was to stop', { cause });
      try {
        return await ask({ timeoutMs });
      } catch (error) {
        if (!isTransient(error)) throw error;
        cause = error;
        mayBeDone ||= error instanceof OutcomeUnknownError;
        const isOver = elapsedMs(beganAt, runtime.now()) >= limitMs;
        if (isOver && failures >= fewestFailures) throw error;
        const retryInMs = backoff.nextMs();
        failed(error, retryInMs);
        await this.#pause(Math.min(retryInMs, leftMs()));
      }
    }
  }

  /** How long yet something is asked that was begun then. */
  #leftMs(beganAtMs: number, afterStopMs: number): number {
    const { runtime, stopping } = this.#options;
    if (!stopping.aborted) return Number.POSITIVE_INFINITY;
    const sinceMs = Math.max(beganAtMs, this.#stoppedAtMs);
    return sinceMs + afterStopMs - runtime.now().monotonicMs;
  }

  /** Until the lease ends, or the leader is told to stop. */
  async #pause(durationMs: number): Promise<void> {
    if (durationMs <= 0) return;
    const { runtime, lease, stopping } = this.#options;
    const over = new AbortController();
    const end = () => over.abort();
    const leave = [onAbort(lease.signal, end), onAbort(stopping, end)];
    if (lease.signal.aborted) end();
    await sleep(runtime, durationMs, over.signal);
    for (const each of leave) each();
  }

  /**
   * No write and no work begins while the lease is uncertain: it waits until that is over.
   *
   * @param leftMs how long yet. Default: until the leader is told to stop.
   * @throws {LeaseNotHeldError}
   */
  async held(leftMs?: () => number): Promise<void> {
    const { runtime, lease, stopping } = this.#options;
    const isWaitedFor = () => (leftMs === undefined ? !stopping.aborted : leftMs() > 0);
    while (lease.state === 'uncertain' && isWaitedFor())
      await sleep(runtime, doubtMs, lease.signal);
    const { state, name, term, endReason } = lease;
    if (state !== 'held') throw new LeaseNotHeldError(name, term, state, endReason);
  }
}
