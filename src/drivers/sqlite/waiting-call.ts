import type { UnreachableError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import type { Runtime, Timer } from '../../time/index.js';
import type { SqliteConnection } from './connection.js';
import { findLockHolder } from './lock-holder.js';
import type { SqliteMode } from './transaction.js';

export interface WaitingCallOptions {
  readonly operation: string;
  readonly mode: SqliteMode;
  readonly timeoutMs: number;
  readonly runtime: Runtime;
  readonly path: string;
}

/** A call that was made and has not been executed yet. It settles once: by being executed, or at its deadline. */
export class WaitingCall {
  /** One attempt. @returns whether the call is settled now; else the file was another one. */
  execute: (connection: SqliteConnection) => boolean = () => false;
  /** Why the last attempt failed, unless that was a lock. */
  failure: UnreachableError | undefined;
  readonly #options: WaitingCallOptions;
  readonly #reject: (error: unknown) => void;
  readonly #settled: () => void;
  readonly #deadlineMs: number;
  readonly #timer: Timer;
  #isSettled = false;
  /** What the file's version was when its lock was first met. */
  #lockedAtVersion: number | undefined;
  #version: number | undefined;
  #hasMetLock = false;

  constructor(options: WaitingCallOptions, reject: (error: unknown) => void, settled: () => void) {
    const { runtime, timeoutMs } = options;
    this.#options = options;
    this.#reject = reject;
    this.#settled = settled;
    this.#deadlineMs = runtime.now().monotonicMs + timeoutMs;
    this.#timer = runtime.setTimer(timeoutMs, () => this.giveUp());
  }

  get operation(): string {
    return this.#options.operation;
  }

  get mode(): SqliteMode {
    return this.#options.mode;
  }

  isLate(): boolean {
    return this.#options.runtime.now().monotonicMs >= this.#deadlineMs;
  }

  metLock(dataVersion: number | undefined): void {
    if (!this.#hasMetLock) this.#lockedAtVersion = dataVersion;
    this.#hasMetLock = true;
    this.#version = dataVersion;
    this.failure = undefined;
  }

  settle(act: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#timer.cancel();
    this.#settled();
    act();
  }

  reject(error: unknown): void {
    this.settle(() => this.#reject(error));
  }

  /** At the deadline, or after it: it was not executed, and will not be. */
  giveUp(): void {
    const { operation, path, timeoutMs } = this.#options;
    const was = `${operation} was not executed within ${Math.round(timeoutMs)} ms`;
    this.reject(
      unreachable(
        'timeout',
        this.#hasMetLock && this.failure === undefined
          ? `${was}: ${path} stayed locked. ${this.#whoLocks()}`
          : `${was}. ${this.failure?.message ?? `This process came to it too late, or is still opening ${path}.`}`,
      ),
    );
  }

  endByClosing(): void {
    const { operation, path } = this.#options;
    this.reject(
      unreachable(
        'unreachable',
        `${operation} on ${path} was not executed: it was closed meanwhile.`,
      ),
    );
  }

  #whoLocks(): string {
    const holder = findLockHolder(this.#options.path);
    if (holder?.isStopped)
      return `Process ${holder.pid} is stopped inside a transaction: let it go on (SIGCONT), or end it.`;
    const hasBeenWritten = this.#version !== this.#lockedAtVersion;
    if (hasBeenWritten) return 'Other processes wrote to it all the time: try again.';
    return holder === undefined
      ? 'Another process may be stopped inside a transaction: look for it with lslocks or fuser.'
      : `Process ${holder.pid} holds its lock and may be stuck inside a transaction: let it go on, or end it.`;
  }
}
