import type { CallOptions, Coordinator } from '../../coordinators/index.js';
import { memoryCoordinator } from '../../coordinators/memory/index.js';
import { MemoryCaller, type MemoryLink, requireLink } from '../../drivers/memory/index.js';
import { type Known, requireInstance, requireKnown } from '../../errors/checks.js';
import type { FencingToken } from '../../fences/index.js';
import type { Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type {
  Adoption,
  ClaimResult,
  JobStore,
  JobStorePromises,
  JobsView,
  RunsOptions,
} from '../contract.js';
import { validateJobName } from '../job-name.js';
import { isOpen, type JobDefinition, type RunRecord } from '../records.js';
import { checkDefinitions, checkJobs, checkRunsOptions, checkTimeout } from '../requests.js';
import { decideClaim } from '../rules/decisions.js';
import { SteppedJobs, type SteppedOperation } from '../rules/stepped-jobs.js';
import type { JobUpdate, Step } from '../rules/steps.js';
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

const optionKeys: Known<MemoryJobStoreOptions> = { runtime: true, link: true };

class MemoryJobStore extends SteppedJobs implements JobStore {
  readonly promises: JobStorePromises = { store: 'memory', durability: 'process' };
  readonly coordinator: Coordinator;
  readonly #state: MemoryJobs;
  readonly #caller: MemoryCaller;

  constructor(state: MemoryJobs, options: MemoryJobStoreOptions) {
    super();
    this.#state = requireInstance('state', state, MemoryJobs);
    requireKnown('options', options, optionKeys);
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
    return {
      nowMs: this.#state.nowMs,
      jobs: found.map((job) => this.#state.view(job)),
      corrupt: [],
    };
  }

  async runs(job: string, options: RunsOptions, call: CallOptions): Promise<RunRecord[]> {
    validateJobName(job);
    const { limit, beforeMs = Number.POSITIVE_INFINITY } = checkRunsOptions(options);
    return this.#caller.call('runs', checkTimeout(call), () => {
      const runs = [...(this.#state.jobs.get(job)?.runs.values() ?? [])].sort(byTick).reverse();
      return runs.filter(({ tickMs }) => tickMs < beforeMs).slice(0, limit);
    });
  }

  protected async execute<Answer>(
    operation: SteppedOperation,
    { job, id = '', decide }: Step<Answer>,
    call: CallOptions,
  ): Promise<Answer> {
    return this.#caller.call(operation, checkTimeout(call), () => {
      const stored = this.#state.jobs.get(job);
      const { nowMs } = this.#state;
      const { answer, update } = decide(stored && { ...stored, ...besides(stored, id), nowMs });
      if (update?.forgets === true) this.#state.jobs.delete(job);
      else if (update !== undefined && stored !== undefined) apply(stored, update);
      return answer;
    });
  }

  async close(): Promise<void> {
    this.#caller.close();
    await this.coordinator.close();
  }
}

function besides({ runs, requests, cancellations }: MemoryJob, id: string) {
  return {
    ...{ run: runs.get(id), request: requests.get(id), cancellation: cancellations.get(id) },
    open: [...runs.values()].filter(isOpen).sort(byTick),
  };
}

function apply(job: MemoryJob, update: JobUpdate): void {
  const { record, pause, runs = [], request, doneRequests = [], cancellation } = update;
  const { keepRuns = Number.POSITIVE_INFINITY } = update;
  if (record !== undefined) job.record = record;
  if (pause !== undefined) job.pause = pause ?? undefined;
  for (const run of runs) {
    job.runs.set(run.id, run);
    if (!isOpen(run)) job.cancellations.delete(run.id);
  }
  if (request !== undefined) job.requests.set(request.id, request);
  for (const id of doneRequests) job.requests.delete(id);
  if (cancellation !== undefined) job.cancellations.set(cancellation.runId, cancellation);
  if (job.runs.size > keepRuns)
    for (const id of surplus([...job.runs.values()].sort(byTick), keepRuns)) job.runs.delete(id);
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
