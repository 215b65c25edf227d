import { encodeName, validateName } from '../../coordinators/index.js';

/** The keys of one job, in the order in which scripts take them. */
export interface JobKeys {
  /** As it is. */
  readonly job: string;
  /** Hash: `revision`, which rises with every write; `record`; `pause`, if it is paused. */
  readonly row: string;
  /** Hash: all runs, by their ids. */
  readonly runs: string;
  /** Sorted set: the ids of the runs that have not ended, by tick. */
  readonly open: string;
  /** Sorted set: the ids of those that have. */
  readonly ended: string;
  /** List: what was asked for, the oldest first. */
  readonly requests: string;
  /** Hash: who wants which open runs cancelled, by their ids. */
  readonly cancellations: string;
}

/**
 * Where a namespace keeps its jobs. The hash tag is that of its leases, and comes first in every key: all of a namespace is
 * in one slot, and no text of a user can move a key, since names are encoded and stand behind it.
 */
export class RedisJobKeys {
  /** Set: the names of all jobs, as they are. */
  readonly names: string;
  readonly #prefix: string;

  /** @throws {OptionError} if the namespace is not a name. */
  constructor(namespace: string) {
    this.#prefix = `{tenure:${encodeName(validateName(namespace, 'namespace'))}}`;
    this.names = `${this.#prefix}:jobs`;
  }

  job(job: string): JobKeys {
    const encoded = encodeName(job);
    const key = (kind: string) => `${this.#prefix}:${kind}:${encoded}`;
    return {
      job,
      row: key('job'),
      runs: key('job-runs'),
      open: key('job-open'),
      ended: key('job-ended'),
      requests: key('job-requests'),
      cancellations: key('job-cancels'),
    };
  }
}

export function listOf(keys: JobKeys): string[] {
  return [keys.row, keys.runs, keys.open, keys.ended, keys.requests, keys.cancellations];
}
