import { isTransient, StaleTermError } from '../../errors/index.js';
import { onAbort } from '../../events/index.js';
import { type Lease, LeaseNotHeldError } from '../../leases/index.js';
import { Backoff, elapsedMs, type Runtime, sleep } from '../../time/index.js';
import type { JobChange, JobStore, WriteResult } from '../contract.js';
import { JobUnknownError } from '../errors.js';

export interface PenOptions {
  readonly store: JobStore;
  readonly lease: Lease;
  readonly runtime: Runtime;
  readonly callTimeoutMs: number;
  /** The store refused or gave no answer; it is tried again. */
  readonly failed: (error: unknown, retryInMs: number) => void;
}

/** How long, and how often, something is asked. */
export interface Patience {
  /** One request may take this long. */
  readonly timeoutMs: number;
  /** What has failed for so long, and more than twice, is given up: others may be nearer to the store. */
  readonly limitMs: number;
  /** Nothing is asked any more once it aborts. */
  readonly stopping: AbortSignal;
}

/** What was asked was not answered before the leader was told to stop. */
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

  constructor(options: PenOptions) {
    this.#options = options;
  }

  get lease(): Lease {
    return this.#options.lease;
  }

  /**
   * @throws {StaleTermError} if it was refused; {@link JobUnknownError} if somebody had the job forgotten;
   * {@link LeaseNotHeldError} if the lease has ended; what is not transient.
   */
  async write(change: JobChange): Promise<Exclude<WriteResult, { outcome: 'refused' }>> {
    const { store, lease } = this.#options;
    const result = await this.persist((call) => store.write(lease, change, call));
    if (result.outcome !== 'refused') return result;
    // Nobody else's term is installed there: the job is gone, and may be claimed again.
    if (result.installedTerm === 0) throw new JobUnknownError(change.job);
    throw this.refused(result.installedTerm);
  }

  /** A refusal ends the term at once, and with it whatever else is done under it. */
  refused(installedTerm: number): StaleTermError {
    const { lease } = this.#options;
    lease.supersede(installedTerm);
    return new StaleTermError(lease.name, lease.term, installedTerm);
  }

  /** @throws as {@link write}; with patience also what it was given up for, and {@link StoppedAskingError}. */
  async persist<Answer>(
    ask: (call: { timeoutMs: number }) => Promise<Answer>,
    patience?: Patience,
  ): Promise<Answer> {
    const { runtime, callTimeoutMs, failed } = this.#options;
    const { timeoutMs = callTimeoutMs, limitMs = Number.POSITIVE_INFINITY } = patience ?? {};
    const backoff = new Backoff(runtime, pauses);
    const beganAt = runtime.now();
    for (let failures = 1; ; failures++) {
      await this.held();
      if (patience?.stopping.aborted) throw new StoppedAskingError();
      try {
        return await ask({ timeoutMs });
      } catch (error) {
        if (!isTransient(error)) throw error;
        const isOver = elapsedMs(beganAt, runtime.now()) >= limitMs;
        if (isOver && failures >= fewestFailures) throw error;
        const retryInMs = backoff.nextMs();
        failed(error, retryInMs);
        await this.#pause(retryInMs, patience?.stopping);
      }
    }
  }

  /** Until one of them aborts. */
  async #pause(durationMs: number, stopping: AbortSignal | undefined): Promise<void> {
    const { runtime, lease } = this.#options;
    const over = new AbortController();
    const end = () => over.abort();
    const leave = [onAbort(lease.signal, end), onAbort(stopping, end)];
    if (lease.signal.aborted || stopping?.aborted) end();
    await sleep(runtime, durationMs, over.signal);
    for (const each of leave) each();
  }

  /** No write and no work begins while the lease is uncertain: it waits until that is over. @throws {LeaseNotHeldError} */
  async held(): Promise<void> {
    const { runtime, lease } = this.#options;
    while (lease.state === 'uncertain') await sleep(runtime, doubtMs, lease.signal);
    const { state, name, term, endReason } = lease;
    if (state !== 'held') throw new LeaseNotHeldError(name, term, state, endReason);
  }
}
