import { setMaxListeners } from 'node:events';
import { isTransient } from '../../errors/index.js';
import { type Emitter, onAbort } from '../../events/index.js';
import { type Lease, LeaseNotHeldError } from '../../leases/index.js';
import { type Runtime, ServerClock } from '../../time/index.js';
import type { ClaimResult, JobStore, JobsView, JobView } from '../contract.js';
import type { ResolvedJob } from '../definition.js';
import type { ScheduleEvents } from '../events.js';
import type { JobWork } from '../work.js';
import { LedJob } from './led-job.js';
import { Pen } from './pen.js';

export interface OwnJob {
  readonly job: ResolvedJob;
  readonly work: JobWork;
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
}

/** Leads some jobs for one term: claims them, then begins what is due, until it is told to stop. */
export class JobLeader {
  readonly #options: JobLeaderOptions;
  readonly #pen: Pen;
  readonly #clock = new ServerClock(1);
  readonly #led = new Map<string, LedJob>();
  readonly #told = new Set<string>();
  /** Aborts when the works are to stop: with `stopping`, or since something ended this leader. */
  readonly #ending = new AbortController();
  #isTold = false;
  #wake: () => void = () => {};

  constructor(options: JobLeaderOptions) {
    this.#options = options;
    const { store, lease, runtime, callTimeoutMs, events } = options;
    const failed = (error: unknown, retryInMs: number) =>
      events.emit('storeFailed', { error, retryInMs });
    this.#pen = new Pen({ store, lease, runtime, callTimeoutMs, failed });
    setMaxListeners(0, this.#ending.signal);
  }

  /**
   * Settles when it was told to stop and all work has stopped.
   *
   * @throws {StaleTermError} if the store has seen a higher term; what keeps the store from being used.
   */
  async lead(): Promise<void> {
    const { lease, events, stopping } = this.#options;
    const leave = onAbort(stopping, () => this.#ending.abort(stopping.reason));
    if (stopping.aborted) this.#ending.abort(stopping.reason);
    try {
      await this.#begin();
      await this.#loop();
    } catch (error) {
      if (!(error instanceof LeaseNotHeldError)) events.emit('leadershipFailed', { lease, error });
      throw error;
    } finally {
      await this.#settled();
      leave();
      if (this.#isTold) events.emit('stoppedLeading', { lease, jobs: [...this.#led.keys()] });
    }
  }

  async #begin(): Promise<void> {
    const { lease, jobs, events } = this.#options;
    await this.#pen.persist(() => this.#look());
    await this.#claim(jobs);
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
      if (led.failure !== undefined) throw led.failure;
      nextMs = Math.min(nextMs, led.attend(() => this.#wake()) ?? Number.POSITIVE_INFINITY);
    }
    return nextMs;
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
    const { pollMs, events, jobs } = this.#options;
    let view: JobsView;
    try {
      view = await this.#look();
    } catch (error) {
      if (!isTransient(error)) throw error;
      events.emit('storeFailed', { error, retryInMs: pollMs });
      return;
    }
    for (const one of view.jobs) {
      const { job } = one.record;
      const mark = marks.get(job);
      if (mark !== undefined) this.#led.get(job)?.refresh(one, mark);
    }
    const others = jobs.filter(({ job }) => !this.#led.has(job.definition.job));
    if (others.length > 0) await this.#claim(others);
  }

  async #look(): Promise<JobsView> {
    const { store, jobs, runtime, callTimeoutMs } = this.#options;
    const names = jobs.map(({ job }) => job.definition.job);
    const sentAtMs = runtime.now().monotonicMs;
    const view = await store.look(names, { timeoutMs: callTimeoutMs });
    this.#clock.observe(view.nowMs, sentAtMs, runtime.now().monotonicMs);
    return view;
  }

  async #claim(jobs: readonly OwnJob[], adoptFrom?: string): Promise<void> {
    const { store, lease } = this.#options;
    const definitions = jobs.map(({ job }) => job.definition);
    const results = await this.#pen.persist((call) =>
      store.claim(lease, definitions, adoptFrom, call),
    );
    const elsewhere = new Map<string, OwnJob[]>();
    for (const [index, result] of results.entries()) {
      const own = jobs[index] as OwnJob;
      const election = this.#claimed(own, result);
      if (election !== undefined && adoptFrom === undefined)
        elsewhere.set(election, [...(elsewhere.get(election) ?? []), own]);
    }
    for (const [election, own] of elsewhere) await this.#adopt(election, own);
  }

  /** @returns the election that has the job, if it is another one. */
  #claimed(own: OwnJob, result: ClaimResult): string | undefined {
    switch (result.outcome) {
      case 'claimed':
        this.#led.set(own.job.definition.job, this.#ledJob(own, result.view));
        return undefined;
      case 'refused':
        throw this.#pen.refused(result.installedTerm);
      case 'elsewhere':
        return result.election;
    }
  }

  /** The jobs of another election are taken over once nobody leads in it: its next leader is refused then. */
  async #adopt(election: string, jobs: readonly OwnJob[]): Promise<void> {
    const { store, events } = this.#options;
    const [record] = await this.#pen.persist((call) => store.coordinator.read([election], call));
    if (record === undefined) return this.#claim(jobs, election);
    for (const { job } of jobs) {
      const name = job.definition.job;
      if (this.#told.has(name)) continue;
      this.#told.add(name);
      events.emit('jobElsewhere', { job: name, election });
    }
  }

  #ledJob({ job, work }: OwnJob, view: JobView): LedJob {
    const { runtime, events, overdueAfterMs } = this.#options;
    return new LedJob(
      {
        ...{ job, work, runtime, events, overdueAfterMs },
        stopping: this.#ending.signal,
        pen: this.#pen,
        nowMs: () => this.#nowMs(),
      },
      view,
    );
  }
}
