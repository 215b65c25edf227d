import type { Act, CallOptions, Coordinator } from '../coordinators/index.js';
import type { RecordCorruptError } from '../errors/index.js';
import type { FencingToken } from '../fences/index.js';
import type { JobDefinition, JobPause, JobRecord, RunRecord, RunRequest } from './records.js';

export interface JobStorePromises {
  readonly store: string;
  /** What runs and their outcomes survive. */
  readonly durability: 'process' | 'crash' | string;
}

/**
 * Keeps jobs and their runs, and refuses whoever does not lead them any more.
 *
 * The row of a job carries the election, term and holder that are installed in it. Every write of a leader compares them
 * in the step that writes (the rule of every fence: higher passes, equal only from the same holder) and has no effect if
 * it is refused. Operators write beside that: pauses, requests and cancellations, which the leader reads.
 *
 * Every method settles within `timeoutMs`, rejects with `UnreachableError` if nothing was executed and
 * `OutcomeUnknownError` if that cannot be told. All writes may be repeated.
 */
export interface JobStore {
  readonly promises: JobStorePromises;
  /** Who leads is decided here. Closed with the store. */
  readonly coordinator: Coordinator;

  /**
   * Installs the token in the rows of these jobs, makes the rows that are missing (every tick up to now counts as
   * considered, by the store's clock), and answers what stands there afterwards, all in one step per job.
   *
   * A job whose row belongs to another election is left alone, unless it still has the leader that `adoptFrom` names: whoever
   * was elected there since, and has claimed it, keeps it. One that cannot be read is answered as such, and left as it is.
   */
  claim(
    token: FencingToken,
    definitions: readonly JobDefinition[],
    adoptFrom: Adoption | undefined,
    call: CallOptions,
  ): Promise<ClaimResult[]>;

  /** What stands of these jobs now, in one look. Those that cannot be read keep nobody from the others. */
  look(jobs: readonly string[], call: CallOptions): Promise<JobsView>;

  /** Writes for one job, all of it or nothing, if the token is installed in its row. Durable before it resolves. */
  write(token: FencingToken, change: JobChange, call: CallOptions): Promise<WriteResult>;

  /** All jobs. */
  jobs(call: CallOptions): Promise<JobsView>;
  /** The runs of a job, the latest tick first, ended ones too. */
  runs(job: string, options: RunsOptions, call: CallOptions): Promise<RunRecord[]>;
  /** `undefined` if there is no such job. Repeating one with the same id changes nothing. */
  request(request: Omit<RunRequest, 'atMs'>, call: CallOptions): Promise<RunRequest | undefined>;
  /** Nothing new begins from when this resolves. The first pause stays. `undefined` if there is no such job. */
  pause(job: string, act: Act, call: CallOptions): Promise<JobPause | undefined>;
  /** `false` if there was no pause. */
  resume(job: string, call: CallOptions): Promise<boolean>;
  /**
   * Marks an open run, which its leader then aborts; or withdraws a request that no leader has begun, and writes the run
   * that it would have become as `withdrawn`, all in one step: of a leader that begins it and this, one comes too late.
   *
   * With `over` an open run is ended here, unless the job has another leader than that by now: in the same step the row gets
   * a holder that nobody is, under the term that it has, so that whoever had begun the run is refused.
   */
  cancel(job: string, runId: string, act: Cancelling, call: CallOptions): Promise<CancelResult>;
  /**
   * Removes a job with its runs, requests and pause, unless a run of it is open, or it is not as the caller has seen it: since
   * this may be executed late, somebody may have claimed it anew.
   *
   * @param seen whose it was; `undefined`: it could not be read.
   */
  forget(job: string, seen: Adoption | undefined, call: CallOptions): Promise<ForgetResult>;

  close(): Promise<void>;
}

export type ForgetResult =
  | { readonly outcome: 'forgotten' }
  /** There is no such job. */
  | { readonly outcome: 'unknown' }
  /** Nothing was removed: this run has not ended. */
  | { readonly outcome: 'open'; readonly run: RunRecord }
  /** Nothing was removed: this is whose it is now. */
  | ({ readonly outcome: 'changed' } & Adoption);

/** Whose a job was: the election, and the term that is installed in its row. */
export interface Adoption {
  readonly election: string;
  readonly term: number;
}

export interface Cancelling extends Act {
  /** Whose the job is, if nobody leads there any more under that term: no leader would do what is marked. */
  readonly over?: Adoption;
}

export interface RunsOptions {
  /** 1 to 1,000. */
  readonly limit: number;
  /** Only those with an earlier tick. */
  readonly beforeMs?: number;
}

export type ClaimResult =
  | { readonly outcome: 'claimed'; readonly view: JobView }
  /** A higher term is installed, or an equal one of another holder. */
  | { readonly outcome: 'refused'; readonly installedTerm: number }
  /** Another election's leader runs this job. */
  | ({ readonly outcome: 'elsewhere' } & Adoption)
  /** What stands there cannot be read. */
  | { readonly outcome: 'corrupt'; readonly error: RecordCorruptError };

/** What became of a cancellation; the same if it is repeated. `none`: there is no such run, or it has ended otherwise. */
export type CancelResult = 'marked' | 'ended' | 'withdrawn' | 'none';

export interface JobsView {
  /** The store's clock when it looked. */
  readonly nowMs: number;
  readonly jobs: readonly JobView[];
  /** Those of which something cannot be read. Nobody runs them until it is mended, or they are forgotten. */
  readonly corrupt: readonly CorruptJob[];
}

export interface CorruptJob {
  readonly job: string;
  readonly error: RecordCorruptError;
}

export interface JobView {
  readonly record: JobRecord;
  readonly pause: JobPause | undefined;
  /** Runs that have not ended, by tick. */
  readonly open: readonly RunRecord[];
  /** The run with the latest tick, whatever became of it. */
  readonly latest: RunRecord | undefined;
  readonly requests: readonly RunRequest[];
  /** Who wants which open runs cancelled. */
  readonly cancellations: readonly RunCancellation[];
}

export interface RunCancellation extends Act {
  readonly runId: string;
}

export interface JobChange {
  readonly job: string;
  /** The new value of {@link JobRecord.consideredToMs}; it never falls, but by {@link clockBack}. */
  readonly consideredToMs?: number;
  /** The store's clock was set back: the times of the record fall to what it shows, and how far they were is kept. */
  readonly clockBack?: ClockBack;
  /** A run to begin: refused if there is one with its id, or, if it is a tick's, while the job is paused. */
  readonly begin?: RunRecord;
  /** Runs as they stand from now on. */
  readonly runs?: readonly RunRecord[];
  /** Requests that have become runs. A run that is begun from one of them needs the request to stand still. */
  readonly doneRequests?: readonly string[];
  /** Of the ended runs only so many are kept, those with the latest ticks. */
  readonly keepRuns?: number;
}

export interface ClockBack {
  /** The latest time in the record, as it was seen. If it is another one, nothing falls. */
  readonly seenMs: number;
  readonly toMs: number;
}

export type WriteResult =
  | { readonly outcome: 'written' }
  /** Nothing was written: the run is there already. */
  | { readonly outcome: 'exists'; readonly run: RunRecord }
  /** Nothing was written: the job is paused. */
  | { readonly outcome: 'paused' }
  /** Nothing was written: the request that the run was to begin from was withdrawn. */
  | { readonly outcome: 'withdrawn' }
  /** Nothing was written: the token is not installed, or another election's leader runs the job. */
  | { readonly outcome: 'refused'; readonly installedTerm: number };
