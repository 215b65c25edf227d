import { MemoryStore } from '../../coordinators/memory/index.js';
import { requireInstance } from '../../errors/checks.js';
import type { JobView, RunCancellation } from '../contract.js';
import {
  isOpen,
  type JobPause,
  type JobRecord,
  type RunRecord,
  type RunRequest,
} from '../records.js';
import { byTick } from '../rules/views.js';

/** What stands of one job. */
export interface MemoryJob {
  record: JobRecord;
  pause: JobPause | undefined;
  readonly runs: Map<string, RunRecord>;
  readonly requests: Map<string, RunRequest>;
  readonly cancellations: Map<string, RunCancellation>;
}

/** Jobs in the memory of this process, for as many stores as there are simulated processes. */
export class MemoryJobs {
  /** Where the leaders of these jobs are elected. */
  readonly leases: MemoryStore;
  readonly jobs = new Map<string, MemoryJob>();

  /** @throws {OptionError} for leases that are no `MemoryStore`. */
  constructor(leases: MemoryStore = new MemoryStore()) {
    this.leases = requireInstance('leases', leases, MemoryStore);
  }

  get nowMs(): number {
    return Math.round(this.leases.runtime.now().wallMs);
  }

  view(job: MemoryJob): JobView {
    const runs = [...job.runs.values()];
    return {
      record: job.record,
      pause: job.pause,
      open: runs.filter(isOpen).sort(byTick),
      latest: runs.reduce<RunRecord | undefined>(later, undefined),
      requests: [...job.requests.values()],
      cancellations: [...job.cancellations.values()],
    };
  }
}

function later(one: RunRecord | undefined, other: RunRecord): RunRecord {
  return one !== undefined && byTick(one, other) > 0 ? one : other;
}
