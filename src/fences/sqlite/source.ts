import {
  type FileIdentity,
  identifyFile,
  isSameFile,
  loadSqlite,
  prepareFile,
  type SqliteLibrary,
} from '../../drivers/sqlite/index.js';
import { StoreMisconfiguredError, UnreachableError } from '../../errors/index.js';
import { FenceConnection } from './connection.js';
import { isInTransaction, pragma, type SqliteHandle } from './handle.js';

/** Where the fence finds the database that it guards. */
export interface Source {
  /** A connection that is fit for it. Outside of any transaction of the fence. */
  open(): Promise<FenceConnection>;
  /** A transaction has ended in which something failed: the connection may not be usable any more. */
  doubt(): void;
  close(): void;
}

/** A database that the user has opened, and will close. */
export class GuestSource implements Source {
  readonly #connection: FenceConnection;

  constructor(handle: SqliteHandle) {
    this.#connection = new FenceConnection(handle);
  }

  async open(): Promise<FenceConnection> {
    const { handle } = this.#connection;
    if (!isInTransaction(handle) && Number(pragma(handle, 'synchronous')) < full)
      handle.exec('PRAGMA synchronous = FULL');
    requireDurable(handle);
    return this.#connection;
  }

  doubt(): void {}

  close(): void {}
}

/** A file that the fence opens at its first use, and again if it was replaced. */
export class FileSource implements Source {
  readonly #path: string;
  #library: SqliteLibrary | undefined;
  #open:
    | {
        readonly connection: FenceConnection;
        readonly identity: FileIdentity;
        readonly close: () => unknown;
      }
    | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async open(): Promise<FenceConnection> {
    this.#library ??= await loadSqlite();
    if (this.#open !== undefined && !isSameFile(this.#open.identity, identifyFile(this.#path)))
      this.close();
    this.#open ??= this.#connect(this.#library);
    return this.#open.connection;
  }

  #connect(library: SqliteLibrary) {
    prepareFile(this.#path, { createDirectory: false });
    const identity = identifyFile(this.#path);
    if (identity === undefined) throw new UnreachableError(`${this.#path} was removed just now.`);
    const handle = library.open(this.#path);
    try {
      const connection = new FenceConnection(handle);
      const what = `opening ${this.#path}`;
      // A change of the journal's mode asks for the file alone.
      connection.exec('PRAGMA busy_timeout = 1000; PRAGMA foreign_keys = ON', 'open', what);
      connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL', 'open', what);
      requireDurable(handle);
      return { connection, identity, close: () => handle.close() };
    } catch (error) {
      handle.close();
      throw error;
    }
  }

  doubt(): void {
    this.close();
  }

  close(): void {
    this.#open?.close();
    this.#open = undefined;
  }
}

const full = 2;

/**
 * An installed term that a crash forgets would let an old owner in again.
 *
 * @throws {StoreMisconfiguredError}
 */
export function requireDurable(handle: SqliteHandle): void {
  const mode = String(pragma(handle, 'journal_mode'));
  if (mode === 'off' || mode === 'memory')
    throw new StoreMisconfiguredError(
      `the database has journal_mode = ${mode}, in which a crash may damage it, or it is none in a file. Use PRAGMA journal_mode = WAL; for tests in memory there is memoryFence().`,
    );
  if (Number(pragma(handle, 'synchronous')) >= full) return;
  throw new StoreMisconfiguredError(
    'the database has PRAGMA synchronous below FULL, so that a power failure could bring an old term back. Set PRAGMA synchronous = FULL when it is opened.',
  );
}
