import { isTransient } from '../../errors/index.js';
import type { JobListing, RunRecord } from '../../schedule/index.js';
import { JobUnknownError } from '../../schedule/index.js';
import { Backoff, elapsedMs, type Instant, sleep } from '../../time/index.js';
import { jsonText, visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import { exitStatus } from '../exit-status.js';
import { runAsJson } from './run-text.js';
import type { JobSession } from './session.js';

/** What an operator wants of a job. */
export interface JobOrder {
  readonly job: string;
  readonly by: string;
  readonly reason: string;
  /** For the act and its effect together. */
  readonly timeoutMs: number;
  readonly format: 'text' | 'json';
}

/** What came of it. */
export interface JobVerdict {
  readonly holds: boolean;
  readonly say: string;
  readonly run?: RunRecord | undefined;
}

const lookEveryMs = 250;
const afterFailure = { firstMs: 200, limitMs: 2_000 };

/** An order under way: its time began when it was made. */
export class OrderUnderWay {
  readonly order: JobOrder;
  readonly #session: JobSession;
  readonly #from: Instant;
  #hasTold = false;

  constructor(session: JobSession, order: JobOrder) {
    this.order = order;
    this.#session = session;
    this.#from = session.runtime.now();
  }

  /**
   * Asks again while the store gives no answer and there is time: everything that is asked may be asked twice.
   *
   * @throws the last error when the time is up, and at once what asking again does not help against.
   */
  async insist<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    const { terminal, runtime, signal } = this.#session;
    const backoff = new Backoff(runtime, afterFailure);
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const pauseMs = backoff.nextMs();
        if (!isTransient(error) || this.#leftMs <= pauseMs) throw error;
        if (!this.#hasTold) terminal.note('the store did not answer; trying again');
        this.#hasTold = true;
        await sleep(runtime, pauseMs, signal);
        signal.throwIfAborted();
      }
    }
  }

  /** As {@link insist}, for what changes something. */
  act<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    return this.insist(() => this.#session.pending.ask(ask));
  }

  /** The job as it stands. @throws {JobUnknownError} */
  async look(): Promise<JobListing> {
    const { jobs } = this.#session;
    const { job } = this.order;
    const listings = await this.insist(() => jobs.list());
    const found = listings.find((one) => one.job === job);
    if (found === undefined) throw new JobUnknownError(job);
    return found;
  }

  /** The run as it stands, among the last ones; `undefined` if it has not begun. */
  async run(id: string): Promise<RunRecord | undefined> {
    const { jobs } = this.#session;
    const { job } = this.order;
    const runs = await this.insist(() => jobs.history(job, { limit: 1_000 }));
    return runs.find((run) => run.id === id);
  }

  /** Looks until there is a verdict, or the time is up. */
  async untilSeen(judge: () => Promise<JobVerdict | undefined>): Promise<JobVerdict | undefined> {
    const { runtime, signal } = this.#session;
    for (;;) {
      const verdict = await judge();
      if (verdict !== undefined || this.#leftMs <= 0) return verdict;
      await sleep(runtime, Math.min(lookEveryMs, this.#leftMs), signal);
      signal.throwIfAborted();
    }
  }

  /** Tells what came of it, and answers with the exit status. @param late what to say if the time was up before. */
  conclude(act: string, verdict: JobVerdict | undefined, late = ''): number {
    const { terminal, address, namespace, runtime } = this.#session;
    const { job, format } = this.order;
    const tookMs = elapsedMs(this.#from, runtime.now());
    if (format === 'json') {
      const run = verdict?.run === undefined ? null : runAsJson(verdict.run);
      const outcome = { holds: verdict?.holds ?? false, inTime: verdict !== undefined };
      const answer = { store: address, namespace, act, job, run, ...outcome };
      terminal.print(jsonText({ ...answer, tookMs: Math.round(tookMs) }, 2));
    } else if (verdict !== undefined) terminal.print(verdict.say);
    if (verdict === undefined) {
      terminal.note(`tenure jobs ${act}: not seen within ${sayDuration(tookMs)}; ${late}`);
      this.adviseHistory();
      return exitStatus.notInTime;
    }
    return verdict.holds ? exitStatus.success : exitStatus.failedVerdict;
  }

  adviseHistory(): void {
    const { terminal, write } = this.#session;
    terminal.note(`  next: ${write(['jobs', 'history', visible(this.order.job)])}`);
  }

  get #leftMs(): number {
    return this.order.timeoutMs - elapsedMs(this.#from, this.#session.runtime.now());
  }
}
