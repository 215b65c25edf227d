/** What is stored of a schedule. All times are Unix times in milliseconds, by the store's clock. */

/** A job as the process that leads it knows it: what others need to list it, and to tell when it is due. */
export interface JobDefinition {
  readonly job: string;
  readonly cron: string;
  readonly timeZone: string;
}

/** The row of a job. Written only under the term that is installed in it. */
export interface JobRecord extends JobDefinition {
  /** The name of the election whose leader runs the job. */
  readonly election: string;
  /** The term and the holder that are installed: the fence of this row and of all runs of the job. */
  readonly term: number;
  readonly holderDigest: string;
  readonly holderId: string;
  /** Every tick up to this time has its run, or was skipped. */
  readonly consideredToMs: number;
  /**
   * When the definition became this one, if it has been another. Ticks up to then are those of the former one: a leader that
   * has it from now on still runs what its predecessor left behind.
   */
  readonly changedAtMs?: number;
  readonly formerCron?: string;
  readonly formerTimeZone?: string;
  /** Up to this time ticks were considered before the store's clock was set back, and `consideredToMs` with it. */
  readonly aheadToMs?: number;
}

/** Why nothing new begins, and who said so. */
export interface JobPause {
  readonly by: string;
  readonly reason: string;
  readonly atMs: number;
}

/**
 * `running`: begun, and not ended: some process works on it, or died with it. `waiting`: between two attempts.
 *
 * `succeeded`; `failed`, after the last attempt; `timed-out`, the same for one that took too long; `cancelled` by an
 * operator; `abandoned`, after more interruptions than are tolerated; `skipped`, a tick or several that did not run;
 * `withdrawn`, what was asked for and taken back before it began.
 */
export type RunState =
  | 'running'
  | 'waiting'
  | 'succeeded'
  | 'failed'
  | 'timed-out'
  | 'cancelled'
  | 'abandoned'
  | 'skipped'
  | 'withdrawn';

/** What began a run: a tick of its schedule, or somebody by hand. */
export type RunKind = 'tick' | 'manual';

/** One run. There is at most one for a job and a tick. */
export interface RunRecord {
  /** The idempotency key: the same in every attempt, in every process. */
  readonly id: string;
  readonly job: string;
  readonly kind: RunKind;
  /** The due time; of a manual run, when it was asked for. */
  readonly tickMs: number;
  readonly state: RunState;
  /** The term under which it was written last, and whose that is. 0 and nobody for what was withdrawn. */
  readonly term: number;
  readonly holderId: string;
  /** Durable starts: 1 in the first attempt; written before the work begins. 0 for what was skipped or withdrawn. */
  readonly attempt: number;
  /** Attempts that threw, or took too long. */
  readonly failureCount: number;
  /** Attempts that ended with their process, or with its term. */
  readonly interruptionCount: number;
  /** When the first attempt began. */
  readonly beganAtMs: number;
  readonly endedAtMs?: number;
  /** Not before this time the next attempt begins. Only while `waiting`. */
  readonly retryAtMs?: number;
  /** What the work kept of its progress: JSON text. */
  readonly progress?: string;
  /** The message of the last failure, shortened; why ticks were skipped. */
  readonly detail?: string;
  /** Who asked for it, or cancelled it. */
  readonly by?: string;
  /** Of skipped ticks `tickMs` is the first; they are all before this. */
  readonly skippedBeforeMs?: number;
  /** How many they are; 1,000 stands for that many and more. */
  readonly skippedCount?: number;
}

/** Somebody wants a run now. */
export interface RunRequest {
  /** Of the run that it becomes. */
  readonly id: string;
  readonly job: string;
  readonly atMs: number;
  readonly by: string;
  readonly reason: string;
}

export const openStates: readonly RunState[] = ['running', 'waiting'];

export function isOpen(run: Pick<RunRecord, 'state'>): boolean {
  return openStates.includes(run.state);
}

/** The id of the run for a tick: whoever computes it gets the same. */
export function tickRunId(job: string, tickMs: number): string {
  return `${job}@${new Date(tickMs).toISOString()}`;
}

/** The longest progress, in UTF-8 bytes. */
export const longestProgressBytes = 64 * 1024;
/** The longest detail, in UTF-16 units. */
export const longestDetailLength = 1024;
