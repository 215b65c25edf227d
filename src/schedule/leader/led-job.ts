import type { Emitter } from '../../events/index.js';
import { Backoff, type Runtime } from '../../time/index.js';
import type { JobChange, JobView } from '../contract.js';
import type { ResolvedJob } from '../definition.js';
import type { ScheduleEvents } from '../events.js';
import { isOpen, type RunRecord, type RunState } from '../records.js';
import { aheadOf, isAhead, reachedMs, setBack } from '../rules/clock-back.js';
import type { Due } from '../rules/due.js';
import type { JobWork } from '../work.js';
import { Attempt, type AttemptOutcome } from './attempt.js';
import {
  detailOf,
  type EndFacts,
  RunDrafts,
  type SeenPause,
  shortened,
  skippedOf,
} from './drafts.js';
import { dueOf } from './due-of.js';
import { isKept, nothingIsPruned } from './past-runs.js';
import { type Pen, StoppedAskingError } from './pen.js';
import type { RunWarnings } from './run-warnings.js';

export interface LedJobOptions {
  readonly job: ResolvedJob;
  readonly work: JobWork;
  readonly warnings: RunWarnings;
  readonly pen: Pen;
  readonly runtime: Runtime;
  readonly stopping: AbortSignal;
  readonly events: Emitter<ScheduleEvents>;
  /** The store's clock: never ahead of it. */
  readonly nowMs: () => number;
  /** A run that was told to stop this long ago is overdue. */
  readonly overdueAfterMs: number;
}

/**
 * One job as its leader sees it. One run at a time: the open one first, oldest tick first, then what somebody asked for,
 * then what is due.
 */
export class LedJob {
  readonly #options: LedJobOptions;
  readonly #drafts: RunDrafts;
  #view: JobView;
  #lastPause: SeenPause | undefined;
  /** What was read before the last write says nothing about what stands there now. */
  #writeCount = 0;
  #busy: Promise<void> | undefined;
  #attempt: Attempt | undefined;
  #failure: unknown;
  /** Told, and could not be mended. */
  #aheadToMs: number | undefined;

  constructor(options: LedJobOptions, view: JobView) {
    this.#options = options;
    this.#drafts = new RunDrafts(options.job, options.pen.lease);
    this.#view = view;
  }

  get name(): string {
    return this.#options.job.definition.job;
  }

  /** Settles when nothing is under way; never rejects. */
  get settled(): Promise<void> {
    return this.#busy ?? Promise.resolve();
  }

  /** What ended it: a refusal, an ended lease, or a store that cannot be used. `undefined` as long as nothing has. */
  get failure(): unknown {
    return this.#failure;
  }

  get isBusy(): boolean {
    return this.#busy !== undefined;
  }

  /** To be handed to {@link refresh} together with what was read after this. */
  get mark(): number {
    return this.#writeCount;
  }

  /** What stands in the store, as it was read after `mark` was taken. */
  refresh(view: JobView, mark: number): void {
    // Who wants a run cancelled is told of the one that runs, however old the rest of the news is.
    this.#heed(view);
    if (mark === this.#writeCount && this.#busy === undefined) this.#view = view;
  }

  /** Begins what there is to begin, and says when to ask again, by the store's clock; `undefined` while it is busy. */
  attend(ended: () => void): number | undefined {
    if (this.#busy !== undefined || this.#failure !== undefined) return undefined;
    if (this.#options.stopping.aborted) return undefined;
    const nowMs = Math.floor(this.#options.nowMs());
    const next = this.#next(nowMs);
    if (next.act === undefined) return next.atMs;
    const { act } = next;
    this.#busy = act()
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .finally(() => {
        this.#busy = undefined;
        this.#attempt = undefined;
        ended();
      });
    return undefined;
  }

  #heed({ cancellations }: JobView): void {
    const mine = cancellations.find(({ runId }) => runId === this.#attempt?.runId);
    if (mine !== undefined) this.#attempt?.cancel(mine.by, mine.reason);
  }

  #next(nowMs: number): { readonly act?: () => Promise<void>; readonly atMs?: number } {
    const { record, pause, open, requests, cancellations } = this.#view;
    const [run] = open;
    if (run !== undefined) {
      const cancelled = cancellations.find(({ runId }) => runId === run.id);
      if (cancelled !== undefined)
        return {
          act: () => this.#end(run, 'cancelled', { detail: cancelled.reason, by: cancelled.by }),
        };
      const atMs = run.state === 'waiting' ? this.#retryAtMs(run, nowMs) : 0;
      return atMs > nowMs ? { atMs } : { act: () => this.#goOn(run) };
    }
    const [request] = requests;
    if (request !== undefined)
      return { act: () => this.#begin(this.#drafts.requested(request, nowMs)) };
    if (aheadOf(record, nowMs) > 0 && reachedMs(record) !== this.#aheadToMs)
      return { act: () => this.#clockWentBack(nowMs) };
    if (pause !== undefined) {
      this.#lastPause = { ...pause, untilMs: nowMs };
      return {};
    }
    const found = dueOf(this.#options.job, record, nowMs);
    if (found.tickMs !== undefined || found.skipped !== undefined)
      return { act: () => this.#beginTick(found, nowMs) };
    return found.nextMs === undefined ? {} : { atMs: found.nextMs };
  }

  /** No pause is longer than the job's: what is further away was said by a clock that was ahead. */
  #retryAtMs({ retryAtMs = 0 }: RunRecord, nowMs: number): number {
    const { retry } = this.#options.job;
    return isAhead(retryAtMs - retry.longestPauseMs, nowMs) ? 0 : retryAtMs;
  }

  /** The ticks after now come due again, if the runs of all that were begun ahead of their time are there still. */
  async #clockWentBack(nowMs: number): Promise<void> {
    const { pen, events, job } = this.#options;
    const { record } = this.#view;
    const aheadMs = aheadOf(record, nowMs);
    const seenMs = reachedMs(record);
    const isMended = await nothingIsPruned(pen, this.name, job.keepRuns, nowMs);
    if (isMended) {
      const clockBack = { seenMs, toMs: nowMs };
      await this.#write({ job: this.name, clockBack });
      this.#view = { ...this.#view, record: setBack(record, clockBack) };
    } else this.#aheadToMs = seenMs;
    events.emit('clockWentBack', { job: this.name, aheadMs, isMended });
  }

  async #beginTick(found: Due, nowMs: number): Promise<void> {
    const change = this.#drafts.ticked(found, nowMs, this.#lastPause);
    const { aheadToMs = Number.NEGATIVE_INFINITY } = this.#view.record;
    const [skipped] = change.runs ?? [];
    // Before the clock was set back it may have run, or been told as skipped.
    const isTold =
      skipped !== undefined &&
      skipped.tickMs <= aheadToMs &&
      (await isKept(this.#options.pen, skipped));
    await this.#begin(isTold ? { ...change, runs: [] } : change);
  }

  async #write(change: JobChange) {
    this.#writeCount += 1;
    const { keepRuns } = this.#options.job;
    const result = await this.#options.pen.write({ ...change, keepRuns });
    this.#writeCount += 1;
    return result;
  }

  async #begin(change: JobChange): Promise<void> {
    const result = await this.#write(change);
    const { record } = this.#view;
    const consideredToMs = change.consideredToMs ?? record.consideredToMs;
    if (result.outcome === 'paused') {
      // Somebody paused it since it was looked at; the next look says who.
      this.#view = { ...this.#view, pause: { by: '', reason: '', atMs: this.#options.nowMs() } };
      return;
    }
    const requests = this.#view.requests.filter(({ id }) => id !== change.begin?.id);
    this.#view = { ...this.#view, requests };
    if (result.outcome === 'withdrawn') return;
    this.#view = { ...this.#view, record: { ...record, consideredToMs } };
    if (result.outcome === 'exists') return this.#found(result.run, change);
    this.#tellSkipped(change);
    if (change.begin !== undefined) await this.#attend(change.begin);
  }

  #tellSkipped({ runs: [skipped] = [] }: JobChange): void {
    if (skipped === undefined) return;
    this.#options.events.emit('ticksSkipped', { job: this.name, skipped: skippedOf(skipped) });
  }

  /** The run is there: from this leader's own write, whose answer was lost, or from somebody before. */
  async #found(run: RunRecord, change: JobChange): Promise<void> {
    if (this.#drafts.isOwn(run) && run.attempt === 1 && run.state === 'running') {
      this.#tellSkipped(change);
      return this.#attend(run);
    }
    const { begin, ...rest } = change;
    const left = { ...rest, runs: (change.runs ?? []).filter(({ id }) => id !== run.id) };
    await this.#write(left);
    this.#tellSkipped(left);
    this.#opened(run);
  }

  /** A run that was begun before: by a predecessor that is gone, or here, and its pause is over. */
  async #goOn(run: RunRecord): Promise<void> {
    const { resumeLimit } = this.#options.job;
    const isInterrupted = run.state === 'running';
    const interruptionCount = run.interruptionCount + (isInterrupted ? 1 : 0);
    if (isInterrupted && interruptionCount > resumeLimit) {
      const detail = `its process ended, or lost its term, ${interruptionCount} times; what it has done is unknown`;
      return this.#end({ ...run, interruptionCount }, 'abandoned', { detail });
    }
    const resumed = this.#drafts.resumed(run, interruptionCount);
    await this.#write({ job: this.name, runs: [resumed] });
    await this.#attend(resumed);
  }

  async #attend(run: RunRecord): Promise<void> {
    const { work, pen, runtime, stopping, events, overdueAfterMs, job } = this.#options;
    this.#opened(run);
    // Much may have happened until the answer was here.
    await pen.held();
    if (stopping.aborted) return this.#putOff(run);
    events.emit('runBegan', { run });
    const attempt = new Attempt({
      ...{ run, work, pen, runtime, stopping, overdueAfterMs },
      timeoutMs: job.timeoutMs,
      overdue: () => this.#overdue(run),
    });
    this.#attempt = attempt;
    this.#heed(this.#view);
    const outcome = await attempt.run();
    this.#attempt = undefined;
    const { progress } = attempt;
    await this.#settle({ ...run, ...(progress !== undefined && { progress }) }, outcome);
  }

  #overdue(run: RunRecord): void {
    const { events, warnings, overdueAfterMs } = this.#options;
    events.emit('runOverdue', { run });
    if (events.listenerCount('runOverdue') === 0) warnings.overdue(overdueAfterMs);
  }

  async #settle(run: RunRecord, outcome: AttemptOutcome): Promise<void> {
    switch (outcome.how) {
      case 'returned':
        return this.#end(run, 'succeeded');
      case 'cancelled':
        return this.#end(run, 'cancelled', outcome);
      case 'interrupted':
        return this.#interrupted(run);
      case 'timed-out':
        return this.#failed(run, 'timed-out', outcome.detail, outcome.error);
      case 'threw':
        return this.#failed(run, 'failed', detailOf(outcome.error), outcome.error);
    }
  }

  /** Work that must not be begun twice is not: it may have done anything before it threw. */
  async #interrupted(run: RunRecord): Promise<void> {
    if (this.#options.job.resumeLimit > 0) return this.#putOff(run);
    const detail = 'it was told to stop, and threw; what it has done is unknown';
    return this.#end(run, 'abandoned', { detail });
  }

  async #failed(run: RunRecord, state: RunState, detail: string, error: unknown): Promise<void> {
    const { retry } = this.#options.job;
    const { runtime, events, nowMs, warnings } = this.#options;
    const failureCount = run.failureCount + 1;
    if (failureCount > retry.limit) {
      await this.#end({ ...run, failureCount }, state, { detail });
      if (events.listenerCount('runEnded') === 0) warnings.failed(error, 'is not tried again');
      return;
    }
    const pauses = { firstMs: retry.firstPauseMs, limitMs: retry.longestPauseMs };
    const backoff = new Backoff(runtime, pauses);
    for (let count = 1; count < failureCount; count++) backoff.nextMs();
    const retryAtMs = Math.ceil(nowMs() + backoff.nextMs());
    const waiting: RunRecord = {
      ...{ ...run, state: 'waiting', failureCount, retryAtMs },
      detail: shortened(detail),
    };
    await this.#write({ job: this.name, runs: [waiting] });
    this.#opened(waiting);
    events.emit('runFailed', { run: waiting, error });
    const isHeard = events.listenerCount('runFailed') + events.listenerCount('runEnded') > 0;
    if (!isHeard) warnings.failed(error, 'is tried again');
  }

  /** It goes on under the next term, and that is no fault of its own. If it cannot be written any more, it counts as one. */
  async #putOff(run: RunRecord): Promise<void> {
    const { pen, events, nowMs } = this.#options;
    const waiting: RunRecord = { ...run, state: 'waiting', retryAtMs: Math.floor(nowMs()) };
    if (pen.lease.state === 'held') {
      const written = this.#write({ job: this.name, runs: [waiting] });
      await written.catch(unlessStopped);
    }
    this.#opened(waiting);
    events.emit('runInterrupted', { run: waiting });
  }

  async #end(run: RunRecord, state: RunState, why: EndFacts = {}): Promise<void> {
    const ended = this.#drafts.ended(run, state, Math.round(this.#options.nowMs()), why);
    await this.#write({ job: this.name, runs: [ended] });
    this.#view = { ...this.#view, open: this.#view.open.filter(({ id }) => id !== run.id) };
    this.#options.events.emit('runEnded', { run: ended });
  }

  /** The run as it stands, among those that are open. */
  #opened(run: RunRecord): void {
    const others = this.#view.open.filter(({ id }) => id !== run.id);
    this.#view = { ...this.#view, open: isOpen(run) ? [run, ...others] : others };
  }
}

function unlessStopped(error: unknown): void {
  if (!(error instanceof StoppedAskingError)) throw error;
}
