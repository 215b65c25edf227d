import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Coordinator } from '../../src/coordinators/index.js';
import { sqlitePromises } from '../../src/coordinators/sqlite/promises.js';
import {
  loadSqlite,
  type SqliteDatabase,
  type SqliteLibrary,
} from '../../src/drivers/sqlite/client.js';
import type { SqliteClock } from '../../src/drivers/sqlite/clock.js';
import { sqliteCoordinator } from '../../src/sqlite.js';
import type { ConformanceSubject, ConformanceTarget, SubjectControls } from '../../src/testing.js';
import { VirtualRuntime } from '../../src/testing.js';

/** Real coordinators on a real file in virtual time; the clock that the file is judged by follows it. */
export function sqliteTarget(): ConformanceTarget {
  const inOneProcess = 'a request is a function call that returns its answer';
  return {
    name: 'sqlite',
    promises: sqlitePromises,
    impossible: {
      loseReplies: `${inOneProcess}: an answer that was given cannot get lost`,
      duplicateRequests: `${inOneProcess}: nothing in between could make it twice`,
      holdRequests:
        'a request waits for the lock inside its own client, which takes it back at its deadline: it is never on its way',
    },
    create: async () => new SqliteSubject(await loadSqlite()),
  };
}

/** The clock of the machine, in virtual time. */
export function virtualClock(runtime: VirtualRuntime, bootId = 'boot'): SqliteClock {
  return {
    kind: 'monotonic',
    bootId,
    now() {
      const { monotonicMs, wallMs } = runtime.now();
      return { nowMs: 1e6 + monotonicMs, wallMs };
    },
  };
}

class SqliteSubject implements ConformanceSubject {
  readonly runtime = new VirtualRuntime();
  readonly ttlMs = 30_000;
  readonly timeoutMs = 5_000;
  readonly timerSlackMs = 0;
  readonly controls: SubjectControls;
  readonly #library: SqliteLibrary;
  readonly #folder = mkdtempSync(join(tmpdir(), 'tenure-sqlite-'));
  readonly #path = join(this.#folder, 'tenure.db');
  readonly #clients = new Map<Coordinator, DisturbedLibrary>();
  #nameCount = 0;

  constructor(library: SqliteLibrary) {
    this.#library = library;
    this.controls = this.#controls();
  }

  async connect(): Promise<Coordinator> {
    const library = new DisturbedLibrary(this.#library);
    const { runtime } = this;
    const client = sqliteCoordinator(this.#path, {
      runtime,
      library,
      clock: virtualClock(runtime),
    });
    this.#clients.set(client, library);
    // Opened before the first disturbance, so that this meets requests and not the making of the file.
    await client.read(['warm'], { timeoutMs: this.timeoutMs });
    return client;
  }

  newName(): string {
    this.#nameCount += 1;
    return `group-${this.#nameCount}/name`;
  }

  advance(durationMs: number): Promise<void> {
    return this.runtime.advance(durationMs);
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return this.runtime.advanceUntil(promise);
  }

  async close(): Promise<void> {
    for (const client of this.#clients.keys()) await client.close();
    rmSync(this.#folder, { recursive: true });
  }

  #libraryOf(client: Coordinator): DisturbedLibrary {
    const library = this.#clients.get(client);
    if (library === undefined) throw new Error('this client is not of this subject');
    return library;
  }

  /** A connection of an operator, who opens the file with a tool of their own. */
  #asOperator<Value>(act: (database: SqliteDatabase) => Value): Value {
    const database = this.#library.open(this.#path);
    try {
      return act(database);
    } finally {
      database.close();
    }
  }

  /** A copy of the file as it is now, made by SQLite itself. */
  #backUp(): string {
    const copy = join(this.#folder, 'copy.db');
    this.#asOperator((database) => database.prepare('VACUUM INTO ?').run(copy));
    return copy;
  }

  /** What an operator does who has stopped every process, and starts them again. */
  #replaceFile(copy: string | undefined): void {
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.#path + suffix, { force: true });
    if (copy !== undefined) renameSync(copy, this.#path);
  }

  #controls(): SubjectControls {
    return {
      // SQLITE_BUSY: somebody else is always first to take the lock.
      hang: async (client) => this.#libraryOf(client).refuseWith(5),
      // SQLITE_CANTOPEN: the process has used up its file descriptors, or the disk does not answer.
      cut: async (client) => this.#libraryOf(client).refuseWith(14),
      heal: async (client) => this.#libraryOf(client).refuseWith(undefined),
      deleteRecord: async (name) => {
        this.#asOperator((database) =>
          database.prepare('DELETE FROM lease WHERE name = ?').run(name),
        );
      },
      overwriteRecord: async (name, text) => {
        const group = name.slice(0, name.lastIndexOf('/'));
        this.#asOperator((database) =>
          database
            .prepare(
              'INSERT OR REPLACE INTO lease (namespace, name, name_group, kind) VALUES (?, ?, ?, ?)',
            )
            .run('default', name, group, text),
        );
      },
      foreignText: async (name) =>
        this.#asOperator((database) => {
          const row = database.prepare('SELECT kind FROM lease WHERE name = ?').get(name);
          const kind = (row as { kind: string } | undefined)?.kind;
          return kind === 'lease' || kind === 'reservation' ? undefined : kind;
        }),
      restartKeepingData: async () => this.#replaceFile(this.#backUp()),
      restartLosingData: async () => this.#replaceFile(undefined),
      loseTail: async (during) => {
        await this.runtime.advance(10);
        const copy = this.#backUp();
        await during();
        // Nobody restores a copy within the millisecond.
        await this.runtime.advance(10);
        this.#replaceFile(copy);
      },
      stepClock: async (stepMs) => this.runtime.stepWall(stepMs),
      pendingCount: async () => this.runtime.pendingTimerCount,
      loseReplies: impossible,
      duplicateRequests: impossible,
      holdRequests: impossible,
      flushRequests: impossible,
    };
  }
}

async function impossible(): Promise<never> {
  throw new Error('declared impossible');
}

class RefusalOfTests extends Error {
  constructor(readonly resultCode: number) {
    super('refused by a test');
  }
}

/** The real library, with one client's attempts to begin a transaction refused as SQLite would refuse them. */
export class DisturbedLibrary implements SqliteLibrary {
  readonly #library: SqliteLibrary;
  #refusal: number | undefined;

  constructor(library: SqliteLibrary) {
    this.#library = library;
  }

  refuseWith(resultCode: number | undefined): void {
    this.#refusal = resultCode;
  }

  open(path: string): SqliteDatabase {
    this.#throwIfRefused();
    const database = this.#library.open(path);
    return {
      exec: (sql) => {
        if (sql.startsWith('BEGIN')) this.#throwIfRefused();
        return database.exec(sql);
      },
      prepare: (sql) => database.prepare(sql),
      close: () => database.close(),
    };
  }

  resultCode(error: unknown): number | undefined {
    return error instanceof RefusalOfTests ? error.resultCode : this.#library.resultCode(error);
  }

  #throwIfRefused(): void {
    if (this.#refusal !== undefined) throw new RefusalOfTests(this.#refusal);
  }
}
