import { ClosedError, TenureError, UnreachableError } from '../../errors/index.js';
import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
import { Backoff, type Runtime, type Timer } from '../../time/index.js';
import { ring } from './bell.js';
import { loadSqlite, type SqliteLibrary } from './client.js';
import { kernelClock, type SqliteClock } from './clock.js';
import type { SqliteConnection } from './connection.js';
import { breaksConnection, isBusyCode, isMovedCode, sqliteError } from './errors.js';
import { SqliteFailure } from './failure.js';
import { prepareFile } from './file.js';
import type { StatFileSystem } from './file-systems.js';
import { openConnection } from './opening.js';
import type { SqliteSchema } from './schema.js';
import { runTransaction, type SqliteMode, type SqliteTransaction } from './transaction.js';
import { WaitingCall } from './waiting-call.js';

export interface SqliteSessionOptions {
  /** For the error after `close()`. */
  readonly what: string;
  /** Absolute. */
  readonly path: string;
  readonly schema: SqliteSchema;
  readonly runtime: Runtime;
  readonly createDirectory: boolean;
  /** What tests replace: the machine's clock, the library, what the kernel says of a folder. */
  readonly clock?: SqliteClock | undefined;
  readonly library?: SqliteLibrary | undefined;
  readonly statFileSystem?: StatFileSystem | undefined;
}

export interface SqliteSessionEvents {
  /** The file that was open was given up: it was removed or replaced, or its disk failed. The next call opens it anew. */
  lost: { readonly path: string; readonly reason: string };
  /** Something a person should know that stops nothing. */
  warning: { readonly path: string; readonly message: string };
}

/** One turn of the event loop is not held up for longer than this, or one transaction if that takes longer. */
const longestTurnMs = 8;
/** How often somebody who only wants to know of a lost file has it looked after. */
const guardEveryMs = 1_000;

/**
 * One file and the calls on it: each a transaction, executed at once if the file's lock is free, else tried again until
 * its deadline. However many wait, one attempt is made for all of them, so that a file that stays locked costs the event
 * loop little.
 *
 * The file is opened at the first call, and again after it was lost.
 */
export class SqliteSession implements EventSource<SqliteSessionEvents> {
  readonly #options: SqliteSessionOptions;
  readonly #events = new Emitter<SqliteSessionEvents>();
  readonly #backoff: Backoff;
  readonly #calls = new Set<WaitingCall>();
  #library: SqliteLibrary | undefined;
  #isLoading = false;
  #connection: SqliteConnection | undefined;
  #retry: Timer | undefined;
  #guard: Timer | undefined;
  #warned: string | undefined;
  #isClosed = false;

  constructor(options: SqliteSessionOptions) {
    this.#options = options;
    this.#library = options.library;
    this.#backoff = new Backoff(options.runtime, { firstMs: 4, limitMs: 40 });
  }

  get path(): string {
    return this.#options.path;
  }

  on<Name extends keyof SqliteSessionEvents>(
    name: Name,
    listener: (event: SqliteSessionEvents[Name]) => void,
  ): Unsubscribe {
    this.throwIfClosed();
    const leave = this.#events.on(name, listener);
    this.#keepGuard();
    return () => {
      leave();
      this.#keepGuard();
    };
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
    const { runtime, path } = this.#options;
    return new Promise<Answer>((resolve, reject) => {
      const waiting = new WaitingCall({ operation, mode, timeoutMs, runtime, path }, reject, () => {
        this.#calls.delete(waiting);
        if (this.#calls.size === 0) this.#stopRetrying();
      });
      waiting.execute = (connection) => {
        const isLate = () => waiting.isLate();
        const outcome = runTransaction(connection, mode, this.#world, isLate, execute);
        if (outcome === 'late') waiting.giveUp();
        else if (outcome !== 'moved') waiting.settle(() => resolve(outcome.answer));
        return outcome !== 'moved';
      };
      this.#calls.add(waiting);
      // Whoever waits for the lock already has tried just now; a read does not need it.
      if (this.#retry === undefined) this.#work();
      else if (mode === 'read') this.#try(waiting);
    });
  }

  /**
   * Runs a reading step now, or not at all: for hints, which may be missed.
   *
   * @returns `undefined` if the file could not be read now.
   */
  peek<Answer>(
    read: (transaction: SqliteTransaction, connection: SqliteConnection) => Answer,
  ): Answer | undefined {
    if (this.#isClosed) return undefined;
    if (this.#library === undefined) this.#load();
    try {
      const connection = this.#open();
      if (connection === undefined) return undefined;
      const step = (transaction: SqliteTransaction) => read(transaction, connection);
      const outcome = runTransaction(connection, 'read', this.#world, () => false, step);
      if (typeof outcome === 'object') return outcome.answer;
      this.#lose('it was removed or replaced');
    } catch (error) {
      // The next call meets the same, and says so.
      if (error instanceof SqliteFailure) this.#afterFailure(error.resultCode);
      else if (!(error instanceof TenureError)) throw error;
    }
    return undefined;
  }

  /** Tells whether other connections have written since it gave another number; `undefined`: it cannot be told now. */
  dataVersion(): number | undefined {
    const connection = this.#connection;
    try {
      return connection?.isMoved() === false ? connection.dataVersion() : undefined;
    } catch {
      return undefined;
    }
  }

  /** The clock that the file's times are on. */
  get clock(): SqliteClock {
    return this.#options.clock ?? kernelClock();
  }

  get #world(): { readonly clock: SqliteClock; readonly schema: SqliteSchema } {
    return { clock: this.clock, schema: this.#options.schema };
  }

  /** Every call that waits gets its try, until one finds the lock taken: that holds for all others that need it. */
  #work(): void {
    this.#stopRetrying();
    if (this.#library === undefined) {
      this.#load();
      return;
    }
    const endOfTurnMs = this.#nowMs() + longestTurnMs;
    let isLocked = false;
    for (const waiting of [...this.#calls]) {
      if (waiting.isSettled || (isLocked && waiting.mode === 'write')) continue;
      if (this.#nowMs() > endOfTurnMs) {
        this.#retryAfter(0);
        return;
      }
      const outcome = this.#try(waiting);
      if (outcome === 'unavailable') isLocked = true;
    }
    if (this.#calls.size > 0) this.#retryAfter(this.#backoff.nextMs());
  }

  /** A file that was replaced is opened anew and tried once more; if it moves again, later. */
  #try(waiting: WaitingCall): 'settled' | 'unavailable' {
    if (waiting.isLate()) {
      waiting.giveUp();
      return 'settled';
    }
    try {
      for (let opening = 0; opening < 2; opening++) {
        const connection = this.#open();
        if (connection !== undefined && waiting.execute(connection)) {
          this.#backoff.reset();
          return 'settled';
        }
        this.#lose('it was removed or replaced');
      }
      return 'unavailable';
    } catch (error) {
      return this.#failed(waiting, error);
    }
  }

  #failed(waiting: WaitingCall, error: unknown): 'settled' | 'unavailable' {
    if (error instanceof UnreachableError) {
      waiting.failure = error;
      return 'unavailable';
    }
    if (!(error instanceof SqliteFailure)) {
      waiting.reject(error);
      return 'settled';
    }
    const { resultCode, phase } = error;
    if (isBusyCode(resultCode)) {
      waiting.metLock(this.dataVersion());
      return 'unavailable';
    }
    const meaning = sqliteError(resultCode, phase, waiting.operation, this.path);
    this.#afterFailure(resultCode);
    if (meaning instanceof UnreachableError || isMovedCode(resultCode)) {
      waiting.failure = meaning;
      return 'unavailable';
    }
    waiting.reject(meaning);
    return 'settled';
  }

  #afterFailure(resultCode: number): void {
    if (breaksConnection(resultCode) || isMovedCode(resultCode))
      this.#lose(`SQLite failed with result code ${resultCode}`);
  }

  /** `undefined` while the library is being loaded. */
  #open(): SqliteConnection | undefined {
    if (this.#connection !== undefined || this.#library === undefined) return this.#connection;
    const { path, schema, createDirectory, statFileSystem } = this.#options;
    const warning = prepareFile(path, { createDirectory, statFileSystem });
    this.#connection = openConnection(this.#library, path, schema, this.clock);
    if (warning !== undefined && warning !== this.#warned)
      this.#events.emit('warning', { path, message: warning });
    this.#warned = warning;
    return this.#connection;
  }

  #lose(reason: string): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    connection.close();
    this.#events.emit('lost', { path: this.path, reason });
    ring(this.path);
  }

  #load(): void {
    if (this.#isLoading) return;
    this.#isLoading = true;
    loadSqlite().then(
      (library) => {
        this.#library = library;
        if (!this.#isClosed) this.#work();
      },
      (error: unknown) => {
        this.#isLoading = false;
        for (const waiting of [...this.#calls]) waiting.reject(error);
      },
    );
  }

  #retryAfter(delayMs: number): void {
    this.#retry = this.#options.runtime.setTimer(delayMs, () => this.#work());
  }

  #stopRetrying(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
  }

  /** A timer only while somebody wants to know of a loss. */
  #keepGuard(): void {
    const isWanted = !this.#isClosed && this.#events.listenerCount('lost') > 0;
    if (isWanted === (this.#guard !== undefined)) return;
    this.#guard?.cancel();
    this.#guard = undefined;
    if (!isWanted) return;
    const look = () => {
      this.#guard = undefined;
      this.#lookAfterFile();
      this.#keepGuard();
    };
    this.#guard = this.#options.runtime.setTimer(guardEveryMs, look, { keepsProcessAlive: false });
  }

  #lookAfterFile(): void {
    try {
      if (this.#connection?.isMoved()) this.#lose('it was removed or replaced');
    } catch {
      // Its folder cannot be read now; calls say why.
    }
  }

  #nowMs(): number {
    return this.#options.runtime.now().monotonicMs;
  }

  /** @throws {ClosedError} */
  throwIfClosed(): void {
    if (this.#isClosed) throw new ClosedError(this.#options.what);
  }

  /** Ends every call that waits (it was not executed) and lets go of the file. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of [...this.#calls]) waiting.endByClosing();
    this.#stopRetrying();
    this.#events.removeAll();
    this.#keepGuard();
    this.#connection?.close();
    this.#connection = undefined;
  }
}
