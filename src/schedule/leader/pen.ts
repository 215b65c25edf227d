import { isTransient, StaleTermError } from '../../errors/index.js';
import { type Lease, LeaseNotHeldError } from '../../leases/index.js';
import { Backoff, type Runtime, sleep } from '../../time/index.js';
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

  /** @throws as {@link write}. */
  async persist<Answer>(ask: (call: { timeoutMs: number }) => Promise<Answer>): Promise<Answer> {
    const { runtime, lease, callTimeoutMs, failed } = this.#options;
    const backoff = new Backoff(runtime, pauses);
    for (;;) {
      await this.held();
      try {
        return await ask({ timeoutMs: callTimeoutMs });
      } catch (error) {
        if (!isTransient(error)) throw error;
        const retryInMs = backoff.nextMs();
        failed(error, retryInMs);
        await sleep(runtime, retryInMs, lease.signal);
      }
    }
  }

  /** No write and no work begins while the lease is uncertain: it waits until that is over. @throws {LeaseNotHeldError} */
  async held(): Promise<void> {
    const { runtime, lease } = this.#options;
    while (lease.state === 'uncertain') await sleep(runtime, doubtMs, lease.signal);
    const { state, name, term, endReason } = lease;
    if (state !== 'held') throw new LeaseNotHeldError(name, term, state, endReason);
  }
}
