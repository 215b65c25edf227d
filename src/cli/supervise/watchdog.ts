import type { Runtime, Timer } from '../../time/index.js';
import type { StopTimes } from './deadlines.js';
import { type KernelTime, kernelTimeOf, leftMs } from './kernel-time.js';
import { type Stoppable, type StopResult, stopGroup } from './stop-group.js';
import type { WatchdogOrder } from './watchdog-messages.js';

export interface WatchdogOptions {
  readonly runtime: Runtime;
  readonly groupOf: (id: number) => Stoppable;
  /** The group is known, and guarded from now on. */
  readonly guarding: () => void;
  /** For people; the wrapper cannot speak. */
  readonly tell: (words: string) => void;
  /** There is nothing to watch over any more. Called once. */
  readonly end: () => void;
}

/** A suspended machine does not count for timers, so the clock is looked at this often at least. */
const lookEveryMs = 500;
/** Long enough for what lies in the pipe to be read. */
const hearFirstMs = 2;

interface Guarded extends StopTimes {
  readonly id: number;
  readonly group: Stoppable;
}

/**
 * Sees to it that a group does not outlive the lease it works under, whatever becomes of the wrapper that keeps it.
 *
 * If the wrapper is gone (the end of the pipe tells), the group is asked to stop at once, and killed at its time. If the
 * wrapper is silent, which is what a frozen one is, both happen at the times it told last. Then the watchdog ends, so
 * that it outlives neither of the two.
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  #guarded: Guarded | undefined;
  #timer: Timer | undefined;
  #isSure = false;
  #isTerminated = false;
  #isActing = false;
  #wrapperIsGone = false;

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  hear(order: WatchdogOrder): void {
    if (this.#isActing) return;
    this.#isSure = false;
    switch (order.type) {
      case 'guard': {
        const { group: id, termAt, killAt } = order;
        this.#guarded = { id, group: this.#options.groupOf(id), termAt, killAt };
        this.#isTerminated = false;
        this.#options.guarding();
        break;
      }
      case 'renewed':
        this.#setTimes(order);
        break;
      case 'stopping':
        this.#isTerminated = true;
        this.#setTimes({ termAt: order.killAt, killAt: order.killAt });
        break;
      case 'gone':
        this.#guarded = undefined;
        break;
    }
    this.#look();
  }

  /** The pipe has ended, and with it the wrapper. */
  wrapperGone(): void {
    if (this.#wrapperIsGone) return;
    this.#wrapperIsGone = true;
    if (this.#isActing) return;
    if (this.#guarded === undefined) this.#end();
    else void this.#stop(this.#guarded, 'the wrapper is gone');
  }

  #setTimes({ termAt, killAt }: StopTimes): void {
    if (this.#guarded !== undefined) this.#guarded = { ...this.#guarded, termAt, killAt };
  }

  #look(): void {
    this.#timer?.cancel();
    if (this.#guarded === undefined) return;
    const dueInMs = leftMs(this.#guarded.termAt, this.#now);
    if (dueInMs > 0) this.#lookAgainIn(Math.min(dueInMs, lookEveryMs));
    else if (this.#isSure) void this.#stop(this.#guarded, 'the wrapper has not renewed in time');
    else {
      // If it was this process that was frozen, better news may lie in the pipe; timers fire before it is read.
      this.#isSure = true;
      this.#lookAgainIn(hearFirstMs);
    }
  }

  #lookAgainIn(delayMs: number): void {
    this.#timer = this.#options.runtime.setTimer(delayMs, () => this.#look());
  }

  async #stop({ id, group, killAt }: Guarded, why: string): Promise<void> {
    this.#isActing = true;
    this.#timer?.cancel();
    const { runtime, tell } = this.#options;
    tell(
      this.#isTerminated
        ? `process group ${id} has been told to stop, and its time is running out`
        : `${why}; stopping process group ${id}`,
    );
    const result = await stopGroup(runtime, group, { killAt, terminate: !this.#isTerminated });
    tell(`process group ${id} ${resultWords[result]}`);
    this.#end();
  }

  #end(): void {
    this.#timer?.cancel();
    this.#options.end();
  }

  get #now(): KernelTime {
    return kernelTimeOf(this.#options.runtime.now());
  }
}

const resultWords: Readonly<Record<StopResult, string>> = {
  stopped: 'has stopped',
  killed: 'was killed',
  stuck: 'cannot be killed; look at it by hand',
};
