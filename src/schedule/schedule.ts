import { validateName } from '../coordinators/index.js';
import {
  type Election,
  type ElectionOptions,
  Elections,
  type Work,
  WorkOverdueError,
} from '../elections/index.js';
import { electionKeys } from '../elections/options.js';
import { type Known, requireDuration, requireFunction, requireKnown } from '../errors/checks.js';
import { ClosedError, OptionError, redactSecrets } from '../errors/index.js';
import { Emitter, type EventSource } from '../events/index.js';
import { Leases, type LeasesOptions } from '../leases/index.js';
import { OutageWarning } from '../leases/outage-warning.js';
import { Backoff, sleep } from '../time/index.js';
import type { JobStore } from './contract.js';
import { type JobOptions, resolveJob } from './definition.js';
import { type ScheduleEvents, scheduleEventNames } from './events.js';
import { longestJobNameBytes } from './job-name.js';
import { Jobs, requireJobStore } from './jobs.js';
import { JobLeader, type OwnJob } from './leader/leader.js';
import { RunWarnings } from './leader/run-warnings.js';
import { type LeftOut, Standby } from './standby.js';
import type { JobWork } from './work.js';

/** Durations in milliseconds of monotonic time; those of the leases are {@link LeasesOptions}'. */
export interface ScheduleOptions extends LeasesOptions {
  /**
   * The name of the election whose leader runs the jobs, and with `spread` the group of theirs. All replicas of one application
   * say the same, and other applications on the same store other ones: whoever leads runs its own jobs alone (`leftOut`). 1 to
   * 150 bytes. Default `schedule`.
   */
  readonly name?: string;
  /**
   * `true`: each job has an election of its own, `<name>/<job>`, so that the jobs of a fleet share its machines. Default
   * `false`: one leader runs all. It, and `name`, may change while replicas run: a job goes over once nobody leads in its old
   * election. But a fence knows a leader by the name of its lease, which changes too: if the work writes through one, stop
   * all replicas first.
   */
  readonly spread?: boolean;
  /** How often the leader looks for pauses, requests and cancellations. 50 to 60,000; default 1,000. */
  readonly pollMs?: number;
  /** What the elections get beside that, such as `graceAfterLossMs` or `drainMs`. */
  readonly election?: ElectionOptions;
}

/**
 * The jobs of one process, run once per tick in the whole fleet.
 *
 * Of all processes that define a job one leads, and begins its runs. The row of a run is written under the leader's term
 * before its work starts, and there is one for each tick: whatever the clocks of the replicas say, and whoever froze or
 * died. A run that its process left behind goes on under the next leader, from where it last saved its progress. So each tick has
 * one run, and a run may have several attempts: `run.id` is the same in all of them.
 */
export class Schedule implements AsyncDisposable {
  readonly #store: JobStore;
  readonly #leases: Leases;
  readonly #elections: Elections;
  readonly #events = new Emitter<ScheduleEvents>(scheduleEventNames);
  readonly #jobs = new Map<string, OwnJob>();
  readonly #name: string;
  readonly #spread: boolean;
  readonly #pollMs: number;
  readonly #election: ElectionOptions;
  readonly #made = new Map<string, Election>();
  readonly #leading: Promise<unknown>[] = [];
  readonly #ending = new AbortController();
  readonly #warnedOf = new Set<keyof ScheduleEvents>();
  #isStarted = false;
  #closing: Promise<void> | undefined;
  /** The jobs of the store, for operators. */
  readonly jobs: Jobs;

  /** @throws {OptionError} */
  constructor(store: JobStore, options: ScheduleOptions = {}) {
    this.#store = requireJobStore(store);
    const {
      name = 'schedule',
      spread = false,
      pollMs = 1_000,
      election = {},
      ...timing
    } = requireKnown('options', options, scheduleKeys);
    this.#name = validateScheduleName(name);
    if (typeof spread !== 'boolean')
      throw new OptionError('spread', spread, 'is neither true nor false', 'use one of them');
    this.#spread = spread;
    this.#pollMs = requireDuration('pollMs', pollMs, 50, 60_000);
    this.#election = requireKnown('election', election, electionKeys);
    this.#leases = new Leases(store.coordinator, timing);
    this.#elections = new Elections(this.#leases);
    const { runtime } = this.#leases;
    this.jobs = new Jobs(store, { runtime });
  }

  get events(): EventSource<ScheduleEvents> {
    return this.#events;
  }

  /** The leases by which this process leads, to be listened to: they are the schedule's own, and are closed with it. */
  get leases(): Leases {
    return this.#leases;
  }

  /** The elections that decide who runs the jobs: one, or with `spread` one for each job. */
  get elections(): Election[] {
    return this.#electionNames().map((name) => this.#electionOf(name));
  }

  /**
   * Defines a job, before {@link start}. All replicas define it alike; of two definitions the one of whoever leads counts.
   *
   * @param job 1 to 100 bytes without a slash. @throws {OptionError} for a bad name or option, or a name that is taken.
   */
  job(job: string, options: JobOptions, work: JobWork): this {
    this.#throwIfClosed();
    if (this.#isStarted)
      throw new OptionError('job', job, 'comes after start()', 'define all jobs before it');
    const resolved = resolveJob(job, options);
    requireFunction('work', work, 'pass async ({ run }) => { ... }');
    if (this.#jobs.has(job))
      throw new OptionError('job', job, 'is defined already', 'give each job a name of its own');
    this.#jobs.set(job, { job: resolved, work, warnings: new RunWarnings(job) });
    return this;
  }

  /**
   * Takes part from now on: leads, or waits to. Without jobs it only leads.
   *
   * @throws {OptionError} if it was called before.
   */
  start(): this {
    this.#throwIfClosed();
    if (this.#isStarted) throw new OptionError('start', 'twice', 'was called', 'call it once');
    this.#isStarted = true;
    for (const name of this.#electionNames()) this.#leading.push(this.#takePart(name));
    return this;
  }

  /**
   * Stops: runs that are under way get their `stopping`, and time to end (`election.drainMs`, by default the ttl); then the
   * leadership is given back. Never rejects; safe to call twice. The store is left open.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#ending.abort();
    await this.#elections.close();
    await Promise.all(this.#leading);
    await this.#leases.close();
  }

  #electionNames(): string[] {
    return this.#spread
      ? [...this.#jobs.keys()].map((job) => `${this.#name}/${job}`)
      : [this.#name];
  }

  #electionOf(name: string): Election {
    const made = this.#made.get(name) ?? this.#elections.election(name, this.#election);
    this.#made.set(name, made);
    return made;
  }

  async #takePart(name: string): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#ending.signal]);
    const watching = this.#watch(name, signal);
    await this.#lead(name);
    over.abort();
    await watching;
  }

  /** With `spread` nobody leads in the election of a job who does not define it. */
  async #watch(name: string, signal: AbortSignal): Promise<void> {
    const jobs = [...this.#jobs.keys()];
    if (this.#spread || jobs.length === 0) return;
    const standby = new Standby({
      ...{ store: this.#store, leases: this.#leases, jobs },
      election: this.#electionOf(name),
      leftOut: (event) => this.#tell('leftOut', event, sayLeftOut(event)),
    });
    await standby.watch(signal);
  }

  async #lead(name: string): Promise<void> {
    const election = this.#electionOf(name);
    const own = [...this.#jobs.values()];
    const jobs = this.#spread
      ? own.filter(({ job }) => name === `${this.#name}/${job.definition.job}`)
      : own;
    const work: Work<void> = async (lease, { stopping }) => {
      const { runtime, timing } = this.#leases;
      const leader = new JobLeader({
        ...{ store: this.#store, jobs, lease, stopping, runtime, pollMs: this.#pollMs },
        events: this.#events,
        callTimeoutMs: timing.attemptTimeoutMs,
        ...{ overdueAfterMs: timing.ttlMs, ttlMs: timing.ttlMs },
      });
      await leader.lead();
    };
    const outageWarning = this.#outageWarningOf(name);
    election.workIsHeardBy({
      who: `the leadership of the schedule "${name}"`,
      listen: "schedule.events.on('leadershipFailed', ...)",
      isHeard: () => this.#events.listenerCount('leadershipFailed') > 0,
    });
    election.events.on('campaignFailed', ({ error, retryInMs }) => {
      this.#events.emit('storeFailed', { error, retryInMs });
      outageWarning.failed(error, retryInMs);
    });
    const backoff = new Backoff(this.#leases.runtime, startPauses);
    while (!this.#ending.signal.aborted) {
      const error = await election.lead(work, { signal: this.#ending.signal }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error === undefined || error instanceof ClosedError) return;
      if (error instanceof WorkOverdueError) {
        const what = sayFailure(name, 'does not take part any more', error);
        this.#tell('stopped', { election: name, error }, what);
        return;
      }
      const retryInMs = backoff.nextMs();
      const what = sayFailure(name, 'cannot lead, and tries again', error);
      this.#tell('startFailed', { election: name, error, retryInMs }, what);
      await sleep(this.#leases.runtime, retryInMs, this.#ending.signal);
    }
  }

  #outageWarningOf(election: string): OutageWarning {
    return new OutageWarning(this.#leases, {
      who: `the schedule "${election}"`,
      listen: "schedule.events.on('storeFailed', ...)",
      isHeard: () => this.#events.listenerCount('storeFailed') > 0,
    });
  }

  /** What is not to go unheard: jobs that do not run, and nobody knows. Without a listener it is said once of each kind. */
  #tell<Name extends 'stopped' | 'startFailed' | 'leftOut'>(
    name: Name,
    event: ScheduleEvents[Name],
    what: string,
  ): void {
    this.#events.emit(name, event);
    if (this.#events.listenerCount(name) > 0 || this.#warnedOf.has(name)) return;
    this.#warnedOf.add(name);
    process.emitWarning(what, 'TenureScheduleWarning');
  }

  #throwIfClosed(): void {
    if (this.#closing !== undefined) throw new ClosedError('this schedule');
  }
}

export const scheduleKeys: Known<ScheduleOptions> = {
  ...{ name: true, spread: true, pollMs: true, election: true },
  ...{ id: true, runtime: true },
  ...{ ttlMs: true, renewEveryMs: true, giveUpAfterMs: true, attemptTimeoutMs: true },
  ...{ renewFrom: true, stallLimitMs: true, onStall: true },
};

/** How long until a store that cannot be used is tried again. */
const startPauses = { firstMs: 5_000, limitMs: 60_000 };

/** Shorthand for `new Schedule(store, options)`. */
export function schedule(store: JobStore, options: ScheduleOptions = {}): Schedule {
  return new Schedule(store, options);
}

function sayFailure(election: string, what: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `the schedule "${election}" ${what}: ${redactSecrets(why)}`;
}

function sayLeftOut({ election, leaderId, jobs }: LeftOut): string {
  const which = jobs.length > 10 ? [...jobs.slice(0, 10), `and ${jobs.length - 10} more`] : jobs;
  const found = `the schedule "${election}" waits, and its leader ${leaderId} does not run: ${which.join(', ')}`;
  return `${found}. If this is no deploy under way, give each application a name of its own (name of schedule()).`;
}

/** The name of a job and a slash have to fit behind it in the name of an election. */
function validateScheduleName(name: string): string {
  validateName(name);
  const longest = 255 - 1 - longestJobNameBytes;
  if (Buffer.byteLength(name) <= longest) return name;
  throw new OptionError('name', name, 'is too long', `use at most ${longest} bytes`);
}
