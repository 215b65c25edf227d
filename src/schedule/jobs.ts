import type { Act, LeaseRecord } from '../coordinators/index.js';
import { requireAct } from '../coordinators/requests.js';
import { type Known, requireKnown, requireMethods } from '../errors/checks.js';
import { OptionError, RecordCorruptError } from '../errors/index.js';
import type { Runtime } from '../time/index.js';
import { requireRuntime } from '../time/require-runtime.js';
import type { Adoption, CancelResult, JobStore, JobView } from './contract.js';
import { JobInUseError, JobUnknownError } from './errors.js';
import { type JobListing, listingsOf } from './job-listing.js';
import { validateJobName } from './job-name.js';
import type { JobPause, RunRecord } from './records.js';
import { checkedAct } from './requests.js';

export interface JobsOptions {
  /** One request to the store may take this long, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
  readonly runtime?: Runtime;
}

export interface HistoryOptions {
  /** 1 to 1,000; default 100. */
  readonly limit?: number;
  /** Only runs that were due before this Unix time, in milliseconds. */
  readonly beforeMs?: number;
}

const historyKeys: Known<HistoryOptions> = { limit: true, beforeMs: true };

const jobsKeys: Known<JobsOptions> = { timeoutMs: true, runtime: true };

/**
 * The jobs of a store, for whoever operates them: from any machine that reaches the store, whether or not it defines
 * them. The store is used, not owned.
 *
 * All methods throw {@link OptionError} for bad input, {@link JobUnknownError} for a job that is not there, and what the
 * store throws when it gives no answer.
 */
export class Jobs {
  readonly #store: JobStore;
  readonly #runtime: Runtime;
  readonly #call: { readonly timeoutMs: number };

  /** @throws {OptionError} for what is no store of jobs. */
  constructor(store: JobStore, options: JobsOptions = {}) {
    this.#store = requireJobStore(store);
    const { timeoutMs = 5_000, runtime } = requireKnown('options', options, jobsKeys);
    this.#runtime = requireRuntime(runtime);
    this.#call = { timeoutMs };
  }

  /** All jobs, by name, and whether anybody runs them now. */
  async list(): Promise<JobListing[]> {
    const view = await this.#store.jobs(this.#call);
    const elections = [...new Set(view.jobs.map(({ record }) => record.election))];
    const leases = await this.#leases(elections);
    return listingsOf(view, new Map(elections.map((name, index) => [name, leases[index]])));
  }

  async #leases(elections: readonly string[]): Promise<(LeaseRecord | undefined)[]> {
    if (elections.length === 0) return [];
    const { coordinator } = this.#store;
    try {
      return await coordinator.read(elections, this.#call);
    } catch (error) {
      if (!(error instanceof RecordCorruptError)) throw error;
      // Nobody leads where something foreign stands; that keeps nobody from the others.
      if (elections.length === 1) return [undefined];
      return (await Promise.all(elections.map((name) => this.#leases([name])))).flat();
    }
  }

  /** The runs of a job, the one with the latest tick first; those that have not ended, too. */
  async history(job: string, options: HistoryOptions = {}): Promise<RunRecord[]> {
    const { limit = 100, beforeMs } = requireKnown('options', options, historyKeys);
    const runs = await this.#store.runs(
      job,
      { limit, ...(beforeMs !== undefined && { beforeMs }) },
      this.#call,
    );
    if (runs.length === 0) await this.#require(job);
    return runs;
  }

  /**
   * Asks for a run beside the schedule, also of a paused job. The leader begins it as soon as no other run of the job is
   * under way. Resolves with its id at once; what becomes of it tells the history.
   */
  async runNow(job: string, act: Act): Promise<string> {
    const { by, reason } = requireAct(act);
    const id = `${validateJobName(job)}!${this.#runtime.randomHex(8)}`;
    const asked = await this.#store.request({ id, job, by, reason }, this.#call);
    if (asked === undefined) throw new JobUnknownError(job);
    return id;
  }

  /**
   * No tick begins from when this resolves, until {@link resume}; a run that is under way goes on. The first pause stays,
   * and is what is returned.
   */
  async pause(job: string, act: Act): Promise<JobPause> {
    const pause = await this.#store.pause(job, act, this.#call);
    if (pause === undefined) throw new JobUnknownError(job);
    return pause;
  }

  /** Ends a pause; `false` if there was none. Ticks that were due meanwhile are late: `misfire` says what becomes of them. */
  async resume(job: string): Promise<boolean> {
    const wasPaused = await this.#store.resume(job, this.#call);
    if (!wasPaused) await this.#require(job);
    return wasPaused;
  }

  /**
   * Has a run aborted that has not ended: its `signal` aborts, on whatever machine it runs. Whether it stops is up to its
   * work: the history tells. A run that was asked for and has not begun is withdrawn: it never begins, and the history has
   * it as `withdrawn`. A run that its leader has left open, while nobody leads its job now, or only somebody who does not
   * define it, is ended here: whoever began it is refused from then on. `false` if it has ended, or there is none of this id.
   *
   * @param runId the id that {@link runNow} answered with, or that a run is listed with. Left out: the run that is open, or
   * if none is, all that were asked for.
   */
  cancel(job: string, act: Act): Promise<boolean>;
  cancel(job: string, runId: string, act: Act): Promise<boolean>;
  async cancel(job: string, second: string | Act, third?: Act): Promise<boolean> {
    if (typeof second !== 'string') return this.#cancelWhatStands(job, second);
    const result = await this.#cancelOne(job, second, third as Act);
    if (result === 'none') await this.#require(job);
    return result !== 'none';
  }

  async #cancelWhatStands(job: string, act: Act): Promise<boolean> {
    checkedAct(act);
    const { open, requests } = await this.#require(job);
    const ids = (open.length > 0 ? open.slice(0, 1) : requests).map(({ id }) => id);
    let isDone = false;
    for (const id of ids) isDone = (await this.#cancelOne(job, id, act)) !== 'none' || isDone;
    return isDone;
  }

  async #cancelOne(job: string, runId: string, act: Act): Promise<CancelResult> {
    const checked = checkedAct(act);
    const result = await this.#store.cancel(job, runId, checked, this.#call);
    if (result !== 'marked') return result;
    const over = await this.#overOf(job);
    if (over !== undefined) await this.#store.cancel(job, runId, { ...checked, over }, this.#call);
    return result;
  }

  /** Whose a job is, if nobody leads under that term any more: terms do not come back. */
  async #overOf(job: string): Promise<Adoption | undefined> {
    const { election, term } = (await this.#require(job)).record;
    const [lease] = await this.#leases([election]);
    const isLed = lease?.state === 'held' && lease.term === term;
    return isLed ? undefined : { election, term };
  }

  /**
   * Removes a job that no process defines any more, with its history, its pause and what was asked for. A leader that does
   * define it makes it anew at its next look (`pollMs`), with the ticks from then on; so does the next leader. One that cannot
   * be read is removed, too.
   *
   * @throws {JobInUseError} if a run of it is open, or somebody has claimed it meanwhile: nothing is removed.
   */
  async forget(job: string): Promise<void> {
    validateJobName(job);
    const { jobs, corrupt } = await this.#store.look([job], this.#call);
    const [view] = jobs;
    if (view === undefined && corrupt.length === 0) throw new JobUnknownError(job);
    const result = await this.#store.forget(job, view?.record, this.#call);
    if (result.outcome === 'open') throw new JobInUseError(job, result.run);
    if (result.outcome === 'changed') throw new JobInUseError(job, undefined);
  }

  async #require(job: string): Promise<JobView> {
    const { jobs, corrupt } = await this.#store.look([job], this.#call);
    const [view] = jobs;
    if (view !== undefined) return view;
    throw corrupt[0]?.error ?? new JobUnknownError(job);
  }
}

const methods = [
  'claim',
  'look',
  'write',
  'jobs',
  'runs',
  'request',
  'pause',
  'resume',
  'cancel',
  'forget',
] as const satisfies (keyof JobStore)[];

/** @throws {OptionError} */
export function requireJobStore(store: JobStore): JobStore {
  const remedy = 'pass what postgresJobs, redisJobs, sqliteJobs or memoryJobs returns';
  if (typeof store === 'string')
    throw new OptionError('store', store, 'is not a store of jobs', remedy);
  return requireMethods('store', store, methods, 'is not a store of jobs', remedy);
}
