import type { Lease } from '../leases/index.js';
import type { RunKind } from './records.js';

/** What a run is to its work. */
export interface JobRun {
  /** The same in every attempt and in every process: the idempotency key for what the work does elsewhere. */
  readonly id: string;
  readonly job: string;
  readonly kind: RunKind;
}

/** What the work of a job gets. */
export interface RunContext {
  readonly run: JobRun;
  /** The lease under whose term it runs. Pass it to the fence of whatever the work writes to. */
  readonly lease: Lease;
  /**
   * Aborts when the work has to stop: its lease has ended, somebody cancelled the run, or it took longer than `timeoutMs`.
   * The reason says which. What the work returns after that is too late to count as a success.
   */
  readonly signal: AbortSignal;
  /**
   * Aborts when this process stops or hands over, while the lease is held still: keep the progress and throw, and the
   * successor goes on from there; or finish, if that is a matter of seconds.
   */
  readonly stopping: AbortSignal;
  /** When the run was due; of a manual run, when it was asked for. */
  readonly tick: Date;
  /** 1 in the first attempt. */
  readonly attempt: number;
  readonly progress: Progress;
}

/** A durable note of how far a run has come. It outlives its process, and is gone with the run. */
export interface Progress {
  /** What was saved last, in this attempt or an earlier one; `undefined` if nothing was. */
  load<Value = unknown>(): Value | undefined;
  /**
   * Writes it under the term. Resolves once it is durable.
   *
   * @param value what JSON can hold, at most 64 KiB of it.
   * @throws {OptionError} for another value. {@link StaleTermError} if a successor leads: stop.
   * {@link LeaseNotHeldError} if the lease has ended. It waits while the store does not answer.
   */
  save(value: unknown): Promise<void>;
}

/** What a job does. If it throws, the attempt has failed. */
export type JobWork = (context: RunContext) => unknown;
