import type { Act, CallOptions, Coordinator } from '../../coordinators/index.js';
import { memoryCoordinator } from '../../coordinators/memory/index.js';
import { MemoryCaller, type MemoryLink, requireLink } from '../../drivers/memory/index.js';
import { requireInstance, requireObject } from '../../errors/checks.js';
import type { FencingToken } from '../../fences/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type {
  Adoption,
  ClaimResult,
  JobChange,
  JobStore,
  JobStorePromises,
  JobsView,
  RunsOptions,
  WriteResult,
} from '../contract.js';
import { validateJobName } from '../job-name.js';
import {
  isOpen,
  type JobDefinition,
  type JobPause,
  type RunRecord,
  type RunRequest,
} from '../records.js';
import {
  checkDefinitions,
  checkedAct,
  checkJobs,
  checkRequest,
  checkRunId,
  checkRunsOptions,
  checkTimeout,
} from '../requests.js';
import { decideClaim, decideWrite } from '../rules/decisions.js';
import { byTick, surplus } from '../rules/views.js';
import { type MemoryJob, MemoryJobs } from './state.js';

export interface MemoryJobStoreOptions {
  /** This client's own clocks and timers; they bound its calls. Default: those of the state. */
  readonly runtime?: Runtime;
  /** The network to the state, for runs and leases alike. Default: everything arrives, two microtasks later. */
  readonly link?: MemoryLink;
}

/**
 * Jobs and their runs in the memory of this process: for tests, simulations and programs that are one process. Stores
 * made from one `state` see the same jobs.
 */
export function memoryJobs(
  state: MemoryJobs = new MemoryJobs(),
  options: MemoryJobStoreOptions = {},
): JobStore {
  return new MemoryJobStore(state, options);
}

class MemoryJobStore implements JobStore {
  readonly promises: JobStorePromises = { store: 'memory', durability: 'process' };
  readonly coordinator: Coordinator;
  readonly #state: MemoryJobs;
  readonly #caller: MemoryCaller;

  constructor(state: MemoryJobs, options: MemoryJobStoreOptions) {
    this.#state = requireInstance('state', state, MemoryJobs);
    requireObject('options', options);
    const runtime = requireRuntime(options.runtime ?? state.leases.runtime);
    const link = requireLink(options.link);
    this.coordinator = memoryCoordinator(state.leases, { ...options, runtime });
    const nowMs = () => state.leases.elapsedMs();
    this.#caller = new MemoryCaller({ what: 'memory jobs', runtime, link, nowMs });
  }

  async claim(
    token: FencingToken,
    definitions: readonly JobDefinition[],
    adoptFrom: Adoption | undefined,
    call: CallOptions,
  ): Promise<ClaimResult[]> {
    const checked = checkDefinitions(definitions);
    return this.#caller.call('claim', checkTimeout(call), () =>
      checked.map((definition) => this.#claim(token, definition, adoptFrom)),
    );
  }

  #claim(
    token: FencingToken,
    definition: JobDefinition,
    adoptFrom: Adoption | undefined,
  ): ClaimResult {
    const { jobs, nowMs } = this.#state;
    const stored = jobs.get(definition.job);
    const decision = decideClaim(stored?.record, token, definition, adoptFrom, nowMs);
    if (decision.outcome !== 'claimed') return decision;
    const job = stored ?? emptyJob(decision);
    job.record = decision.record;
    jobs.set(definition.job, job);
    return { outcome: 'claimed', view: this.#state.view(job) };
  }

  async look(jobs: readonly string[], call: CallOptions): Promise<JobsView> {
    const checked = checkJobs(jobs);
    return this.#caller.call('look', checkTimeout(call), () => this.#view(checked));
  }

  async jobs(call: CallOptions): Promise<JobsView> {
    return this.#caller.call('jobs', checkTimeout(call), () =>
      this.#view([...this.#state.jobs.keys()].sort()),
    );
  }

  #view(jobs: readonly string[]): JobsView {
    const found = jobs.map((job) => this.#state.jobs.get(job)).filter((job) => job !== undefined);
    return { nowMs: this.#state.nowMs, jobs: found.map((job) => this.#state.view(job)) };
  }

  async write(token: FencingToken, change: JobChange, call: CallOptions): Promise<WriteResult> {
    validateJobName(change.job);
    return this.#caller.call('write', checkTimeout(call), () => this.#write(token, change));
  }

  #write(token: FencingToken, change: JobChange): WriteResult {
    const { begin, runs = [], doneRequests = [], keepRuns = Number.POSITIVE_INFINITY } = change;
    const stored = this.#state.jobs.get(change.job);
    const existing = begin && stored?.runs.get(begin.id);
    const decision = decideWrite(stored?.record, stored?.pause, existing, token, change);
    if (decision.outcome !== 'written' || stored === undefined) return decision as WriteResult;
    stored.record = decision.record;
    for (const run of begin === undefined ? runs : [...runs, begin]) {
      stored.runs.set(run.id, run);
      if (!isOpen(run)) stored.cancellations.delete(run.id);
    }
    for (const id of doneRequests) stored.requests.delete(id);
    if (stored.runs.size > keepRuns)
      for (const id of surplus([...stored.runs.values()].sort(byTick), keepRuns))
        stored.runs.delete(id);
    return { outcome: 'written' };
  }

  async runs(job: string, options: RunsOptions, call: CallOptions): Promise<RunRecord[]> {
    validateJobName(job);
    const { limit, beforeMs = Number.POSITIVE_INFINITY } = checkRunsOptions(options);
    return this.#caller.call('runs', checkTimeout(call), () => {
      const runs = [...(this.#state.jobs.get(job)?.runs.values() ?? [])].sort(byTick).reverse();
      return runs.filter(({ tickMs }) => tickMs < beforeMs).slice(0, limit);
    });
  }

  async request(
    request: Omit<RunRequest, 'atMs'>,
    call: CallOptions,
  ): Promise<RunRequest | undefined> {
    const checked = checkRequest(request);
    return this.#caller.call('request', checkTimeout(call), () => {
      const job = this.#state.jobs.get(checked.job);
      if (job === undefined) return undefined;
      const known = job.requests.get(checked.id);
      const asked = known ?? { ...checked, atMs: this.#state.nowMs };
      if (!job.runs.has(checked.id)) job.requests.set(checked.id, asked);
      return asked;
    });
  }

  async pause(name: string, act: Act, call: CallOptions): Promise<JobPause | undefined> {
    validateJobName(name);
    const checked = checkedAct(act);
    return this.#caller.call('pause', checkTimeout(call), () => {
      const job = this.#state.jobs.get(name);
      if (job !== undefined) job.pause ??= { ...checked, atMs: this.#state.nowMs };
      return job?.pause;
    });
  }

  async resume(name: string, call: CallOptions): Promise<boolean> {
    validateJobName(name);
    return this.#caller.call('resume', checkTimeout(call), () => {
      const job = this.#state.jobs.get(name);
      const wasPaused = job?.pause !== undefined;
      if (job !== undefined) job.pause = undefined;
      return wasPaused;
    });
  }

  async cancel(name: string, runId: string, act: Act, call: CallOptions): Promise<boolean> {
    validateJobName(name);
    checkRunId(runId);
    const checked = checkedAct(act);
    return this.#caller.call('cancel', checkTimeout(call), () => {
      const job = this.#state.jobs.get(name);
      const run = job?.runs.get(runId);
      if (job === undefined || run === undefined || !isOpen(run)) return false;
      if (!job.cancellations.has(runId)) job.cancellations.set(runId, { runId, ...checked });
      return true;
    });
  }

  async close(): Promise<void> {
    this.#caller.close();
    await this.coordinator.close();
  }
}

function emptyJob({ record }: Pick<MemoryJob, 'record'>): MemoryJob {
  return {
    record,
    pause: undefined,
    runs: new Map(),
    requests: new Map(),
    cancellations: new Map(),
  };
}
