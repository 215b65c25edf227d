import { elapsedMs, type Instant, type Runtime } from '../../time/index.js';
import type { StopTimes } from './deadlines.js';
import { type KernelTime, kernelTimeOf, leftMs } from './kernel-time.js';
import { WatchdogProcess } from './watchdog-process.js';

export interface WatchOptions {
  readonly runtime: Runtime;
  /** On whose behalf the watchdog speaks. Default `run`. */
  readonly command?: string;
  readonly tell: (words: string) => void;
}

/** So many watchdogs may die within {@link memoryMs}; if one more does, something kills them and would go on. */
const replacementCount = 3;
const memoryMs = 60_000;

interface Post extends StopTimes {
  readonly group: number;
  readonly isStopping: boolean;
  /** Called when a watchdog guards the group. */
  readonly guarding: () => void;
  /** Called when none can be had any more. */
  readonly unwatched: (words: string) => void;
}

/**
 * Keeps a watchdog. One that dies is replaced at once, since its wrapper is still there to look after the child; if that
 * fails too often, the child has to stop.
 */
export class Watch {
  readonly #options: WatchOptions;
  #watchdog: WatchdogProcess | undefined;
  #post: Post | undefined;
  /** When the last few ended. */
  #deaths: Instant[] = [];

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Starts a watchdog unless one is there: it takes a moment, which is better spent waiting for the election. */
  prepare(): void {
    if (this.#watchdog !== undefined) return;
    const { runtime, command = 'run' } = this.#options;
    const watchdog = new WatchdogProcess(runtime, command);
    this.#watchdog = watchdog;
    void watchdog.ended.then((how) => {
      if (this.#watchdog !== watchdog) return;
      this.#watchdog = undefined;
      this.#replace(how);
    });
  }

  /**
   * Resolves as soon as the group is guarded, also if the wrapper dies right then. @throws if no watchdog can be had.
   *
   * @param unwatched is called if that becomes so later.
   */
  guard(group: number, times: StopTimes, unwatched: (words: string) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#post = {
        group,
        ...times,
        isStopping: false,
        guarding: resolve,
        unwatched: (words) => {
          reject(new Error(words));
          unwatched(words);
        },
      };
      this.prepare();
      this.#send();
    });
  }

  renewed(times: StopTimes): void {
    if (this.#post === undefined || this.#post.isStopping) return;
    this.#post = { ...this.#post, ...times };
    this.#watchdog?.renewed(times);
  }

  stopping(killAt: KernelTime): void {
    if (this.#post === undefined) return;
    this.#post = { ...this.#post, termAt: killAt, killAt, isStopping: true };
    this.#watchdog?.stopping(killAt);
  }

  gone(): void {
    this.#post = undefined;
    this.#watchdog?.gone();
  }

  /** Resolves when none is left. */
  async dismiss(): Promise<void> {
    this.#post = undefined;
    const watchdog = this.#watchdog;
    this.#watchdog = undefined;
    await watchdog?.dismiss();
  }

  #send(): void {
    if (this.#post === undefined) return;
    const { group, isStopping, killAt, guarding } = this.#post;
    void this.#watchdog?.guard(group, this.#post).then(guarding);
    if (isStopping) this.#watchdog?.stopping(killAt);
  }

  #replace(how: string): void {
    const post = this.#post;
    // One that has acted, since we were frozen, ends too; the lease is lost by then.
    if (post === undefined || this.#isPast(post.termAt)) return;
    const words = `the watchdog ended (${how})`;
    const { runtime, tell } = this.#options;
    const now = runtime.now();
    this.#deaths = this.#deaths.filter((death) => elapsedMs(death, now) < memoryMs);
    if (this.#deaths.length >= replacementCount) {
      post.unwatched(`${words}, as did ${replacementCount} before it`);
      return;
    }
    this.#deaths.push(now);
    tell(`${words}; another one takes its place`);
    this.prepare();
    this.#send();
  }

  #isPast(time: KernelTime): boolean {
    return leftMs(time, kernelTimeOf(this.#options.runtime.now())) <= 0;
  }
}
