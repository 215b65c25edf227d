import { setMaxListeners } from 'node:events';
import { ClosedError, OptionError } from '../../errors/index.js';
import { onAbort } from '../../events/index.js';
import type { Runtime } from '../../time/index.js';
import { RunCancelledError, RunTimeoutError } from '../errors.js';
import { longestProgressBytes, type RunRecord } from '../records.js';
import type { JobWork, Progress, RunContext } from '../work.js';
import { type Pen, StoppedAskingError } from './pen.js';

export interface AttemptOptions {
  readonly run: RunRecord;
  readonly work: JobWork;
  readonly pen: Pen;
  readonly runtime: Runtime;
  readonly stopping: AbortSignal;
  readonly timeoutMs: number;
  /** It was told to stop this long ago, and goes on. */
  readonly overdueAfterMs: number;
  readonly overdue: () => void;
}

export type AttemptOutcome =
  | { readonly how: 'returned' }
  | { readonly how: 'threw'; readonly error: unknown }
  | { readonly how: 'timed-out'; readonly error: RunTimeoutError; readonly detail: string }
  | { readonly how: 'cancelled'; readonly by: string; readonly detail: string }
  /** Its lease has ended, or it was asked to stop and threw: the run goes on elsewhere. */
  | { readonly how: 'interrupted' };

/** How the work has ended. */
interface Ended {
  readonly hasThrown: boolean;
  readonly error?: unknown;
  /** What had aborted its signal by then. */
  readonly reason: unknown;
}

/** One attempt of a run: calls the work, and tells it when to stop. */
export class Attempt {
  readonly #options: AttemptOptions;
  readonly #controller = new AbortController();
  #progress: string | undefined;
  /** The saves, one after the other: of two the later one stands. */
  #saving: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#progress = options.run.progress;
    setMaxListeners(0, this.#controller.signal);
  }

  get runId(): string {
    return this.#options.run.id;
  }

  /** What was saved last. */
  get progress(): string | undefined {
    return this.#progress;
  }

  cancel(by: string, reason: string): void {
    this.#abort(new RunCancelledError(this.runId, by, reason));
  }

  /** Never rejects. Settles when the work has. */
  async run(): Promise<AttemptOutcome> {
    const { pen, runtime, timeoutMs, stopping } = this.#options;
    const { signal } = pen.lease;
    const leave = onAbort(signal, () => this.#abort(signal.reason));
    if (signal.aborted) this.#abort(signal.reason);
    const watchdog = new Watchdog(this.#options);
    const leaveStopping = onAbort(stopping, () => watchdog.begin());
    const leaveAbort = onAbort(this.#controller.signal, () => watchdog.begin());
    const timer =
      timeoutMs === Number.POSITIVE_INFINITY
        ? undefined
        : runtime.setTimer(timeoutMs, () =>
            this.#abort(new RunTimeoutError(this.runId, timeoutMs)),
          );
    try {
      return this.#judge(await this.#work());
    } finally {
      timer?.cancel();
      watchdog.end();
      for (const end of [leave, leaveStopping, leaveAbort]) end();
    }
  }

  async #work(): Promise<Ended> {
    const { signal } = this.#controller;
    try {
      await this.#options.work(this.#context());
      return { hasThrown: false, reason: signal.reason };
    } catch (error) {
      return { hasThrown: true, error, reason: signal.reason };
    } finally {
      // A save that nobody waited for must not stand after what is written of the end.
      this.#isOver = true;
      await this.#saving.catch(() => {});
    }
  }

  /**
   * A result that comes when the time is over, or the run was cancelled, comes too late: whoever was told of that counts on
   * it. Work that finishes because its process stops has finished.
   */
  #judge({ hasThrown, error, reason }: Ended): AttemptOutcome {
    const after = hasThrown ? '' : ' Its work ended without an error after that.';
    if (reason instanceof RunCancelledError)
      return { how: 'cancelled', by: reason.by, detail: `${reason.message}${after}` };
    if (reason instanceof RunTimeoutError)
      return { how: 'timed-out', error: reason, detail: `it took too long.${after}` };
    if (!hasThrown) return { how: 'returned' };
    const isStopped = this.#controller.signal.aborted || this.#options.stopping.aborted;
    return isStopped ? { how: 'interrupted' } : { how: 'threw', error };
  }

  #abort(reason: unknown): void {
    if (!this.#controller.signal.aborted) this.#controller.abort(reason);
  }

  #context(): RunContext {
    const { run, pen, stopping } = this.#options;
    const { id, job, kind, tickMs, attempt } = run;
    return {
      run: { id, job, kind },
      lease: pen.lease,
      signal: this.#controller.signal,
      stopping,
      tick: new Date(tickMs),
      attempt,
      progress: this.#progressOf(run),
    };
  }

  #progressOf(run: RunRecord): Progress {
    return {
      load: () => (this.#progress === undefined ? undefined : JSON.parse(this.#progress)),
      save: async (value) => {
        const progress = progressText(value);
        const save = () => this.#save(run, progress);
        this.#saving = this.#saving.then(save, save);
        return this.#saving;
      },
    };
  }

  async #save(run: RunRecord, progress: string): Promise<void> {
    if (this.#isOver) throw new ClosedError(`the attempt of ${run.id}`);
    const written = this.#options.pen.write({ job: run.job, runs: [{ ...run, progress }] });
    await written.catch((error: unknown) => {
      throw error instanceof StoppedAskingError ? (error.cause ?? error) : error;
    });
    this.#progress = progress;
  }
}

/** Tells, once, that work goes on long after it was told to stop. */
class Watchdog {
  readonly #options: AttemptOptions;
  #stop: (() => void) | undefined;

  constructor(options: AttemptOptions) {
    this.#options = options;
  }

  begin(): void {
    if (this.#stop !== undefined) return;
    const { runtime, overdueAfterMs, overdue } = this.#options;
    const timer = runtime.setTimer(overdueAfterMs, overdue, { keepsProcessAlive: false });
    this.#stop = () => timer.cancel();
  }

  end(): void {
    this.#stop?.();
    this.#stop = () => {};
  }
}

function progressText(value: unknown): string {
  const remedy = `save what JSON can hold, at most ${longestProgressBytes} bytes of it`;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // A cycle, or a BigInt.
  }
  if (text === undefined) throw new OptionError('progress', typeof value, 'is not JSON', remedy);
  const bytes = Buffer.byteLength(text);
  if (bytes <= longestProgressBytes) return text;
  throw new OptionError('progress', `${bytes} bytes`, 'is too long', remedy);
}
