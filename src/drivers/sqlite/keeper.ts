import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
import type { Runtime, Timer } from '../../time/index.js';
import { ring } from './bell.js';
import { loadSqlite, type SqliteLibrary } from './client.js';
import { kernelClock, type SqliteClock } from './clock.js';
import type { SqliteConnection } from './connection.js';
import { prepareFile } from './file.js';
import type { StatFileSystem } from './file-systems.js';
import { openConnection } from './opening.js';
import type { SqliteSchema } from './schema.js';

export interface SqliteKeeperOptions {
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

export interface SqliteEvents {
  /** The file that was open was given up: it was removed or replaced, or its disk failed. The next call opens it anew. */
  lost: { readonly path: string; readonly reason: string };
  /** Something a person should know that stops nothing. */
  warning: { readonly path: string; readonly message: string };
}

/** How often the file is looked after for somebody who only wants to know that it was lost. */
const guardEveryMs = 1_000;

/** The one open file of a session: opens it when it is needed, and gives it up when it is not the right one any more. */
export class SqliteKeeper implements EventSource<SqliteEvents> {
  readonly #options: SqliteKeeperOptions;
  readonly #events = new Emitter<SqliteEvents>({ lost: true, warning: true });
  #library: SqliteLibrary | undefined;
  #loading: Promise<void> | undefined;
  #connection: SqliteConnection | undefined;
  #guard: Timer | undefined;
  #lastWarning: string | undefined;
  #isClosed = false;

  constructor(options: SqliteKeeperOptions) {
    this.#options = options;
    this.#library = options.library;
  }

  get path(): string {
    return this.#options.path;
  }

  get schema(): SqliteSchema {
    return this.#options.schema;
  }

  /** @throws {StoreMisconfiguredError} if the machine does not say which boot it is in. */
  get clock(): SqliteClock {
    return this.#options.clock ?? kernelClock();
  }

  get isLoaded(): boolean {
    return this.#library !== undefined;
  }

  /** Gets hold of SQLite. @throws {OptionError} if there is none; the next call tries again. */
  load(): Promise<void> {
    this.#loading ??= loadSqlite()
      .then((library) => {
        this.#library = library;
      })
      .finally(() => {
        this.#loading = undefined;
      });
    return this.#loading;
  }

  /** What is open now. */
  get connection(): SqliteConnection | undefined {
    return this.#connection;
  }

  /**
   * Opens the file if it is not open; `undefined` as long as the library is not loaded.
   *
   * @throws as {@link prepareFile} and {@link openConnection}.
   */
  open(): SqliteConnection | undefined {
    if (this.#library === undefined) return undefined;
    if (this.#connection?.isSpoiled === false) return this.#connection;
    // The same file: nothing of it is lost.
    this.#connection?.close();
    this.#connection = undefined;
    const { path, schema, createDirectory, statFileSystem } = this.#options;
    const warning = prepareFile(path, { createDirectory, statFileSystem });
    this.#connection = openConnection(this.#library, path, schema, this.clock);
    if (warning !== undefined && warning !== this.#lastWarning)
      this.#emit('warning', { path, message: warning });
    this.#lastWarning = warning;
    return this.#connection;
  }

  /** Gives the open file up. */
  lose(reason: string): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    connection.close();
    this.#emit('lost', { path: this.path, reason });
    ring(this.path);
  }

  on<Name extends keyof SqliteEvents>(
    name: Name,
    listener: (event: SqliteEvents[Name]) => void,
  ): Unsubscribe {
    const leave = this.#events.on(name, listener);
    this.#keepGuard();
    return () => {
      leave();
      this.#keepGuard();
    };
  }

  /** Later in this turn: a listener may make calls, and must not come in between two steps of another one. */
  #emit<Name extends keyof SqliteEvents>(name: Name, event: SqliteEvents[Name]): void {
    queueMicrotask(() => this.#events.emit(name, event));
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
      if (this.#connection?.isMoved()) this.lose(movedAway);
    } catch {
      // Its folder cannot be read now; calls say why.
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#events.removeAll();
    this.#keepGuard();
    this.#connection?.close();
    this.#connection = undefined;
  }
}

/** The reason of a loss that nothing but the file's name tells. */
export const movedAway = 'it was removed or replaced';
