import { setMaxListeners } from 'node:events';
import { isTransient, RecordCorruptError } from '../../errors/index.js';
import { type Emitter, onAbort } from '../../events/index.js';
import { type Lease, LeaseNotHeldError } from '../../leases/index.js';
import { type Runtime, ServerClock } from '../../time/index.js';
import type { Adoption, ClaimResult, JobStore, JobsView, JobView } from '../contract.js';
import type { ResolvedJob } from '../definition.js';
import { JobUnknownError } from '../errors.js';
import type { ScheduleEvents } from '../events.js';
import type { JobWork } from '../work.js';
import { LedJob } from './led-job.js';
import { type Patience, Pen, StoppedAskingError } from './pen.js';
import type { RunWarnings } from './run-warnings.js';

export interface OwnJob {
  readonly job: ResolvedJob;
  readonly work: JobWork;
  readonly warnings: RunWarnings;
}

export interface JobLeaderOptions {
  readonly store: JobStore;
  readonly jobs: readonly OwnJob[];
  readonly lease: Lease;
  /** Aborts when this leader is to stop. */
  readonly stopping: AbortSignal;
  readonly runtime: Runtime;
  readonly events: Emitter<ScheduleEvents>;
  /** How often the store is looked at for what others want. */
  readonly pollMs: number;
  readonly callTimeoutMs: number;
  readonly overdueAfterMs: number;
  readonly ttlMs: number;
}

/** So many jobs are claimed with one request: their rows are locked meanwhile, and its time is limited. */
const mostAtOnce = 50;

/** Jobs of one leader elsewhere. */
interface Elsewhere {
  readonly from: Adoption;
  readonly jobs: readonly OwnJob[];
}

/** Leads some jobs for one term: claims them, then begins what is due, until it is told to stop. */
export class JobLeader {
  readonly #options: JobLeaderOptions;
  readonly #pen: Pen;
  readonly #clock = new ServerClock(1);
  readonly #led = new Map<string, LedJob>();
  /** Jobs of which it was told that they are elsewhere, or cannot be read. */
  readonly #told = new Set<string>();
  /** Aborts when the works are to stop: with `stopping`, or since something ended this leader. */
  readonly #ending = new AbortController();
  readonly #failures = new Set<unknown>();
  /** With the claims of many jobs: without them this leader is none. */
  readonly #patience: Patience;
  #isTold = false;
  #wake: () => void = () => {};

  constructor(options: JobLeaderOptions) {
    this.#options = options;
    const { store, lease, runtime, callTimeoutMs, events } = options;
    const failed = (error: unknown, retryInMs: number) =>
      events.emit('storeFailed', { error, retryInMs });
    const stopping = this.#ending.signal;
    setMaxListeners(0, stopping);
    const { ttlMs } = options;
    this.#pen = new Pen({ store, lease, runtime, callTimeoutMs, ttlMs, stopping, failed });
    // A process that stops within a claim may keep its rows locked for so long: less than its lease keeps others from them.
    const timeoutMs = Math.max(callTimeoutMs, ttlMs / 3);
    this.#patience = { timeoutMs, limitMs: ttlMs, afterStopMs: () => 0 };
  }

  /**
   * Settles when it was told to stop and all work has stopped.
   *
   * @throws {StaleTermError} if the store has seen a higher term; what keeps the store from being used, or its jobs from
   * being claimed for a whole ttl.
   */
  async lead(): Promise<void> {
    const { lease, events, stopping } = this.#options;
    const leave = onAbort(stopping, () => this.#ending.abort(stopping.reason));
    if (stopping.aborted) this.#ending.abort(stopping.reason);
    try {
      await this.#begin();
      await this.#loop();
    } catch (error) {
      if (error instanceof StoppedAskingError) return;
      this.#tell(error);
      throw error;
    } finally {
      await this.#settled();
      leave();
      for (const led of this.#led.values()) this.#tell(led.failure);
      if (this.#isTold) events.emit('stoppedLeading', { lease, jobs: [...this.#led.keys()] });
    }
  }

  /** Once each; not that a lease has ended, or what was asked in vain, which others tell. */
  #tell(failure: unknown): void {
    const { lease, events } = this.#options;
    if (failure === undefined || failure instanceof LeaseNotHeldError) return;
    if (failure instanceof StoppedAskingError) return;
    if (this.#failures.has(failure)) return;
    this.#failures.add(failure);
    events.emit('leadershipFailed', { lease, error: failure });
  }

  async #begin(): Promise<void> {
    const { lease, jobs, events } = this.#options;
    await this.#pen.persist((call) => this.#look(call), this.#patience);
    await this.#claimAll(jobs);
    this.#isTold = true;
    events.emit('leading', { lease, jobs: [...this.#led.keys()] });
  }

  /** Whatever ended it, others may begin only when its works have stopped, and they have to: nothing else begins here. */
  async #settled(): Promise<void> {
    const { runtime, lease, overdueAfterMs, stopping } = this.#options;
    this.#ending.abort();
    // Nobody drains what was not asked to stop: work that heeds nothing keeps the jobs from everybody only so long.
    const timer = stopping.aborted
      ? undefined
      : runtime.setTimer(overdueAfterMs, () => lease.end('shutdown'));
    await Promise.all([...this.#led.values()].map((led) => led.settled));
    timer?.cancel();
  }

  async #loop(): Promise<void> {
    const { runtime, pollMs } = this.#options;
    const stopping = this.#ending.signal;
    let lookedAtMs = runtime.now().monotonicMs;
    while (!stopping.aborted) {
      const nextMs = this.#attend();
      const nowMs = runtime.now().monotonicMs;
      const restMs = Math.max(0, lookedAtMs + pollMs - nowMs);
      if (restMs === 0) {
        lookedAtMs = nowMs;
        await this.#lookQuietly();
        continue;
      }
      await this.#rest(Math.min(restMs, Math.max(1, nextMs - this.#nowMs())));
    }
  }

  /** @returns when there is something to begin, by the store's clock. */
  #attend(): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const led of this.#led.values()) {
      if (led.failure !== undefined) this.#giveUp(led);
      nextMs = Math.min(nextMs, led.attend(() => this.#wake()) ?? Number.POSITIVE_INFINITY);
    }
    return nextMs;
  }

  /** What befell one job alone keeps nobody from the others: it is claimed again at the next look. @throws what ends the term. */
  #giveUp(led: LedJob): void {
    const { failure } = led;
    if (failure instanceof JobUnknownError) this.#forgotten(led);
    else if (failure instanceof RecordCorruptError) this.#corrupt(led.name, failure);
    else throw failure;
    this.#led.delete(led.name);
  }

  #forgotten({ name }: LedJob): void {
    this.#options.events.emit('jobForgotten', { job: name });
  }

  #corrupt(job: string, error: unknown): void {
    if (this.#told.has(job)) return;
    this.#told.add(job);
    this.#options.events.emit('jobCorrupt', { job, error });
  }

  #rest(durationMs: number): Promise<void> {
    const { runtime } = this.#options;
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel();
        leave();
        this.#wake = () => {};
        resolve();
      };
      const timer = runtime.setTimer(durationMs, done);
      const leave = onAbort(this.#ending.signal, done);
      this.#wake = done;
    });
  }

  /** Never ahead of the store's clock, and behind it by a round trip at most. */
  #nowMs(): number {
    return this.#clock.serverMsBefore(this.#options.runtime.now().monotonicMs);
  }

  /** What others want, and whether jobs that were elsewhere can be led now. A store that gives no answer is asked again. */
  async #lookQuietly(): Promise<void> {
    const marks = new Map([...this.#led].map(([name, led]) => [name, led.mark]));
    const { pollMs, events, jobs, lease, callTimeoutMs } = this.#options;
    let view: JobsView;
    try {
      view = await this.#look({ timeoutMs: callTimeoutMs });
    } catch (error) {
      if (!isTransient(error)) throw error;
      events.emit('storeFailed', { error, retryInMs: pollMs });
      return;
    }
    const seen = new Map(view.jobs.map((one) => [one.record.job, one]));
    const unread = new Set(view.corrupt.map(({ job }) => job));
    for (const [name, mark] of marks) {
      const led = this.#led.get(name);
      const one = seen.get(name);
      if (led === undefined) continue;
      const { election, term } = one?.record ?? {};
      if (one !== undefined && election === lease.name && term === lease.term)
        led.refresh(one, mark);
      // A successor has it, of this election or of another one: nothing more is done under this term.
      else if (term !== undefined && (election !== lease.name || term > lease.term))
        throw this.#pen.refused(term);
      // Forgotten, and perhaps made anew by a predecessor that woke late; or it cannot be read. It is claimed again.
      else if (!led.isBusy && led.mark === mark) {
        if (!unread.has(name)) this.#forgotten(led);
        this.#led.delete(name);
      }
    }
    const others = jobs.filter(({ job }) => !this.#led.has(job.definition.job));
    await this.#claimAll(others);
  }

  async #look(call: { readonly timeoutMs: number }): Promise<JobsView> {
    const { store, jobs, runtime } = this.#options;
    const names = jobs.map(({ job }) => job.definition.job);
    const sentAtMs = runtime.now().monotonicMs;
    const view = await store.look(names, call);
    this.#clock.observe(view.nowMs, sentAtMs, runtime.now().monotonicMs);
    return view;
  }

  async #claimAll(jobs: readonly OwnJob[]): Promise<void> {
    for (let at = 0; at < jobs.length; at += mostAtOnce)
      await this.#claim(jobs.slice(at, at + mostAtOnce));
  }

  async #claim(jobs: readonly OwnJob[], adoptFrom?: Adoption): Promise<void> {
    const { store, lease } = this.#options;
    const definitions = jobs.map(({ job }) => job.definition);
    const results = await this.#pen.persist(
      (call) => store.claim(lease, definitions, adoptFrom, call),
      this.#patience,
    );
    const elsewhere = new Map<string, Elsewhere>();
    for (const [index, result] of results.entries()) {
      const own = jobs[index] as OwnJob;
      const from = this.#claimed(own, result);
      if (from === undefined || adoptFrom !== undefined) continue;
      const key = `${from.term} ${from.election}`;
      elsewhere.set(key, { from, jobs: [...(elsewhere.get(key)?.jobs ?? []), own] });
    }
    for (const { from, jobs: own } of elsewhere.values()) await this.#adopt(from, own);
  }

  /** @returns whose the job is, if it is another election's. */
  #claimed(own: OwnJob, result: ClaimResult): Adoption | undefined {
    switch (result.outcome) {
      case 'claimed':
        this.#told.delete(own.job.definition.job);
        this.#led.set(own.job.definition.job, this.#ledJob(own, result.view));
        return undefined;
      case 'refused':
        throw this.#pen.refused(result.installedTerm);
      case 'elsewhere':
        return { election: result.election, term: result.term };
      case 'corrupt':
        this.#corrupt(own.job.definition.job, result.error);
        return undefined;
    }
  }

  /** The jobs of another election are taken over once nobody leads in it: its next leader is refused then. */
  async #adopt(from: Adoption, jobs: readonly OwnJob[]): Promise<void> {
    const { store, events } = this.#options;
    const { election } = from;
    const [record] = await this.#pen.persist(
      (call) => store.coordinator.read([election], call),
      this.#patience,
    );
    if (record === undefined) return this.#claim(jobs, from);
    for (const { job } of jobs) {
      const name = job.definition.job;
      if (this.#told.has(name)) continue;
      this.#told.add(name);
      events.emit('jobElsewhere', { job: name, election });
    }
  }

  #ledJob({ job, work, warnings }: OwnJob, view: JobView): LedJob {
    const { runtime, events, overdueAfterMs } = this.#options;
    return new LedJob(
      {
        ...{ job, work, warnings, runtime, events, overdueAfterMs },
        stopping: this.#ending.signal,
        pen: this.#pen,
        nowMs: () => this.#nowMs(),
      },
      view,
    );
  }
}
