import { ClosedError, TenureError, UnreachableError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import type { EventSource, Unsubscribe } from '../../events/index.js';
import { Backoff, type Runtime, type Timer } from '../../time/index.js';
import type { SqliteClock } from './clock.js';
import { breaksConnection, isBusyCode, isMovedCode, sqliteError } from './errors.js';
import { SqliteFailure } from './failure.js';
import { movedAway, type SqliteEvents, SqliteKeeper, type SqliteKeeperOptions } from './keeper.js';
import { runTransaction, type SqliteMode, type SqliteTransaction } from './transaction.js';
import { WaitingCall } from './waiting-call.js';

export interface SqliteSessionOptions extends SqliteKeeperOptions {
  /** For the error after `close()`. */
  readonly what: string;
}

/** One turn of the event loop is not held up for longer than this, or one transaction if that takes longer. */
const longestTurnMs = 8;

/**
 * One file and the calls on it: each a transaction, executed at once if the file's lock is free, else tried again until
 * its deadline. However many wait, one attempt is made for all of them, so that a file that stays locked costs the event
 * loop little.
 *
 * The file is opened at the first call, and again after it was lost.
 */
export class SqliteSession implements EventSource<SqliteEvents> {
  readonly #what: string;
  readonly #runtime: Runtime;
  readonly #keeper: SqliteKeeper;
  readonly #backoff: Backoff;
  readonly #calls = new Set<WaitingCall>();
  #retry: Timer | undefined;
  #isClosed = false;

  constructor({ what, ...options }: SqliteSessionOptions) {
    this.#what = what;
    this.#runtime = options.runtime;
    this.#keeper = new SqliteKeeper(options);
    this.#backoff = new Backoff(options.runtime, { firstMs: 4, limitMs: 40 });
  }

  get path(): string {
    return this.#keeper.path;
  }

  /** The clock that the file's times are on. @throws {StoreMisconfiguredError} as {@link SqliteKeeper.clock}. */
  get clock(): SqliteClock {
    return this.#keeper.clock;
  }

  on<Name extends keyof SqliteEvents>(
    name: Name,
    listener: (event: SqliteEvents[Name]) => void,
  ): Unsubscribe {
    this.throwIfClosed();
    return this.#keeper.on(name, listener);
  }

  /**
   * Runs `execute` as one transaction. What it throws rolls it back and rejects the call.
   *
   * @throws {UnreachableError} Not executed within `timeoutMs`: the file was locked, or could not be reached.
   * @throws {ClosedError} and what {@link sqliteError} makes of SQLite's answer.
   */
  call<Answer>(
    operation: string,
    mode: SqliteMode,
    timeoutMs: number,
    execute: (transaction: SqliteTransaction) => Answer,
  ): Promise<Answer> {
    this.throwIfClosed();
    return new Promise<Answer>((resolve, reject) => {
      const particulars = { operation, mode, timeoutMs, runtime: this.#runtime, path: this.path };
      const waiting = new WaitingCall(particulars, reject, () => this.#leave(waiting));
      waiting.execute = (connection) => {
        const isLate = () => waiting.isLate();
        const outcome = runTransaction(connection, mode, this.#keeper, isLate, execute);
        if (outcome === 'late') waiting.giveUp();
        else if (outcome !== 'moved') waiting.settle(() => resolve(outcome.answer));
        return outcome !== 'moved';
      };
      this.#calls.add(waiting);
      // Whoever waits for the lock already has tried just now; a read does not need it.
      if (this.#retry === undefined) this.#work();
      else if (mode === 'read' && this.#keeper.isLoaded) this.#try(waiting);
    });
  }

  /**
   * Runs a reading step now, or not at all: for hints, which may be missed.
   *
   * @returns `undefined` if the file could not be read now.
   */
  peek<Answer>(read: (transaction: SqliteTransaction) => Answer): Answer | undefined {
    if (this.#isClosed) return undefined;
    try {
      const connection = this.#keeper.open();
      if (connection === undefined) return undefined;
      const outcome = runTransaction(connection, 'read', this.#keeper, () => false, read);
      if (typeof outcome === 'object') return outcome.answer;
      this.#keeper.lose(movedAway);
    } catch (error) {
      // The next call meets the same, and says so.
      if (error instanceof SqliteFailure) this.#afterFailure(error.resultCode);
      else if (!(error instanceof TenureError)) throw error;
    }
    return undefined;
  }

  /** Makes {@link peek} possible without a call. */
  warm(): void {
    // Who made no call is not told that there is no library.
    if (!this.#keeper.isLoaded) this.#keeper.load().catch(() => undefined);
  }

  /** Another number than before if other connections have written since; `undefined`: it cannot be told now. */
  dataVersion(): number | undefined {
    const { connection } = this.#keeper;
    try {
      return connection?.isMoved() === false ? connection.dataVersion() : undefined;
    } catch {
      return undefined;
    }
  }

  #leave(waiting: WaitingCall): void {
    this.#calls.delete(waiting);
    if (this.#calls.size === 0) this.#stopRetrying();
  }

  /** Every call that waits gets its try, until one finds the lock taken: that holds for all others that need it. */
  #work(): void {
    this.#stopRetrying();
    if (!this.#keeper.isLoaded) {
      this.#load();
      return;
    }
    const endOfTurnMs = this.#nowMs() + longestTurnMs;
    let isLocked = false;
    for (const waiting of [...this.#calls]) {
      if (isLocked && waiting.mode === 'write') continue;
      if (this.#nowMs() > endOfTurnMs) {
        this.#retryAfter(0);
        return;
      }
      if (!this.#try(waiting)) isLocked = true;
    }
    if (this.#calls.size > 0) this.#retryAfter(this.#backoff.nextMs());
  }

  #load(): void {
    this.#keeper.load().then(
      () => {
        if (!this.#isClosed) this.#work();
      },
      (error: unknown) => {
        for (const waiting of [...this.#calls]) waiting.reject(error);
      },
    );
  }

  /** @returns whether the call is settled. A file that was replaced is opened anew and tried once more. */
  #try(waiting: WaitingCall): boolean {
    if (waiting.isLate()) {
      waiting.giveUp();
      return true;
    }
    try {
      for (let opening = 0; opening < 2; opening++) {
        const connection = this.#keeper.open();
        if (connection !== undefined && waiting.execute(connection)) {
          this.#backoff.reset();
          return true;
        }
        this.#keeper.lose(movedAway);
      }
      return false;
    } catch (error) {
      return this.#failed(waiting, error);
    }
  }

  /** @returns whether that is the end of the call; else it is tried again. */
  #failed(waiting: WaitingCall, error: unknown): boolean {
    if (error instanceof SqliteFailure && isBusyCode(error.resultCode)) {
      waiting.metLock(this.dataVersion());
      return false;
    }
    const meaning = error instanceof SqliteFailure ? this.#meaningOf(error, waiting) : error;
    if (!(meaning instanceof UnreachableError)) {
      waiting.reject(meaning);
      return true;
    }
    waiting.failure = meaning;
    return false;
  }

  #meaningOf({ resultCode, phase }: SqliteFailure, { operation }: WaitingCall): TenureError {
    this.#afterFailure(resultCode);
    return isMovedCode(resultCode)
      ? unreachable('unreachable', `${this.path} was replaced just now.`)
      : sqliteError(resultCode, phase, operation, this.path);
  }

  #afterFailure(resultCode: number): void {
    if (isMovedCode(resultCode)) this.#keeper.lose(movedAway);
    else if (breaksConnection(resultCode))
      this.#keeper.lose(`SQLite failed with result code ${resultCode}`);
  }

  #retryAfter(delayMs: number): void {
    this.#retry = this.#runtime.setTimer(delayMs, () => {
      this.#work();
    });
  }

  #stopRetrying(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
  }

  #nowMs(): number {
    return this.#runtime.now().monotonicMs;
  }

  /** @throws {ClosedError} */
  throwIfClosed(): void {
    if (this.#isClosed) throw new ClosedError(this.#what);
  }

  /** Ends every call that waits (it was not executed) and lets go of the file. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of [...this.#calls]) waiting.endByClosing();
    this.#stopRetrying();
    this.#keeper.close();
  }
}
