import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  loadSqlite,
  type SqliteDatabase,
  type SqliteLibrary,
} from '../../../src/drivers/sqlite/client.js';
import type { SqliteClock } from '../../../src/drivers/sqlite/clock.js';
import type { SqliteSchema } from '../../../src/drivers/sqlite/schema.js';
import { SqliteSession, type SqliteSessionOptions } from '../../../src/drivers/sqlite/session.js';
import type { SqliteTransaction } from '../../../src/drivers/sqlite/transaction.js';
import {
  ClosedError,
  RecordCorruptError,
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { VirtualRuntime } from '../../../src/testing.js';
import { virtualClock } from '../../coordinators/sqlite-target.js';
import { folderPerTest } from './folder.js';

const newFolder = folderPerTest();
const schema: SqliteSchema = {
  applicationId: 4711,
  format: 2,
  sql: 'CREATE TABLE note (text TEXT NOT NULL) STRICT;',
  onNewBoot: (connection) => void connection.run('DELETE FROM note'),
};

let library: SqliteLibrary;
beforeAll(async () => {
  library = await loadSqlite();
});

const toClose: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of toClose.splice(0)) one.close();
});

function open(path: string, options: Partial<SqliteSessionOptions> = {}): SqliteSession {
  const runtime = options.runtime ?? new VirtualRuntime();
  const clock = runtime instanceof VirtualRuntime ? virtualClock(runtime) : undefined;
  const session = new SqliteSession({
    what: 'the session',
    path,
    schema,
    library,
    runtime,
    createDirectory: false,
    clock,
    ...options,
  });
  toClose.push(session);
  return session;
}

/** Another program that has the file open. */
function stranger(path: string): SqliteDatabase {
  const database = library.open(path);
  toClose.push(database);
  return database;
}

const add = (text: string) => (transaction: SqliteTransaction) =>
  transaction.run('INSERT INTO note VALUES (?)', text);
const readAll = ({ all }: SqliteTransaction) =>
  all('SELECT text FROM note ORDER BY text').map(({ text }) => text);
const notesIn = (session: SqliteSession) => session.call('read', 'read', 1000, readAll);

describe('a session', () => {
  it('executes a call at once, with a clock that is read inside the transaction', async () => {
    const runtime = new VirtualRuntime();
    const session = open(join(newFolder(), 'x.db'), { runtime });
    const nowMs = await session.call('add', 'write', 1000, (transaction) => {
      add('one')(transaction);
      return transaction.nowMs;
    });
    expect(nowMs).toBe(virtualClock(runtime).now().nowMs);
    expect(await notesIn(session)).toEqual(['one']);
  });

  it('leaves nothing of a call that throws', async () => {
    const session = open(join(newFolder(), 'x.db'));
    const failing = session.call('add', 'write', 1000, (transaction) => {
      add('one')(transaction);
      throw new Error('of the work');
    });
    await expect(failing).rejects.toThrow('of the work');
    await session.call('add', 'write', 1000, add('two'));
    expect(await notesIn(session)).toEqual(['two']);
  });

  it('goes on after a statement that failed', async () => {
    const session = open(join(newFolder(), 'x.db'));
    let lostCount = 0;
    session.on('lost', () => {
      lostCount += 1;
    });
    const failing = session.call('add', 'write', 1000, ({ run }) =>
      run('INSERT INTO note VALUES (?), (?)', 'x', null),
    );
    await expect(failing).rejects.toThrow(StoreRefusedError);
    await session.call('add', 'write', 1000, add('one'));
    expect(await notesIn(session)).toEqual(['one']);
    expect(lostCount).toBe(0);
  });

  it('writes through the log, waits for the disk, and hardly for a lock', async () => {
    const session = open(join(newFolder(), 'x.db'));
    const settings = await session.call('look', 'read', 1000, ({ get }) => [
      Object.values(get('PRAGMA journal_mode') ?? {})[0],
      Object.values(get('PRAGMA synchronous') ?? {})[0],
      Object.values(get('PRAGMA busy_timeout') ?? {})[0],
    ]);
    expect(settings).toEqual(['wal', 2, 5]);
  });

  it('after it was closed refuses calls, and leaves no timer', async () => {
    const runtime = new VirtualRuntime();
    const session = open(join(newFolder(), 'x.db'), { runtime });
    session.on('lost', () => undefined);
    await session.call('add', 'write', 1000, add('one'));
    expect(runtime.pendingTimerCount).toBe(1);
    session.close();
    expect(runtime.pendingTimerCount).toBe(0);
    expect(() => session.call('add', 'write', 1000, add('two'))).toThrow(ClosedError);
    expect(() => session.on('lost', () => undefined)).toThrow(ClosedError);
  });
});

describe('while another program holds the lock', () => {
  async function locked() {
    const path = join(newFolder(), 'x.db');
    const runtime = new VirtualRuntime();
    const session = open(path, { runtime });
    await session.call('add', 'write', 1000, add('before'));
    const other = stranger(path);
    other.exec('BEGIN IMMEDIATE');
    return { session, other, runtime };
  }

  it('a call waits, and is executed as soon as the lock is free', async () => {
    const { session, other, runtime } = await locked();
    const pending = session.call('add', 'write', 1000, (transaction) => {
      add('after')(transaction);
      return transaction.nowMs;
    });
    await runtime.advance(500);
    other.exec('ROLLBACK');
    const nowMs = await runtime.advanceUntil(pending);
    expect(nowMs, 'by the clock at the execution').toBeGreaterThanOrEqual(1e6 + 500);
    expect(nowMs).toBeLessThan(1e6 + 600);
    expect(await notesIn(session)).toEqual(['after', 'before']);
  });

  it('a call that still waits at its deadline rejects, and is never executed', async () => {
    const { session, other, runtime } = await locked();
    const pending = session.call('acquire', 'write', 1000 - 1 / 3, add('never'));
    pending.catch(() => undefined);
    await runtime.advance(1000);
    await expect(pending).rejects.toThrow(UnreachableError);
    await expect(pending).rejects.toThrow(
      /^acquire was not executed within 1000 ms: .* stayed locked\./,
    );
    other.exec('ROLLBACK');
    await runtime.advance(1000);
    expect(await notesIn(session)).toEqual(['before']);
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('reads go on, also those that come later', async () => {
    const { session, runtime } = await locked();
    const pending = session.call('add', 'write', 1000, add('one'));
    pending.catch(() => undefined);
    expect(await notesIn(session)).toEqual(['before']);
    await runtime.advance(1000);
    expect(await notesIn(session)).toEqual(['before']);
  });

  it('a session can be opened and read from', async () => {
    const { session } = await locked();
    expect(await notesIn(open(session.path))).toEqual(['before']);
  });

  it('each call has its own deadline, and closing ends them all', async () => {
    const { session, runtime } = await locked();
    const ends: string[] = [];
    for (const timeoutMs of [400, 100, 900]) {
      session.call('add', 'write', timeoutMs, add('x')).catch((error) => ends.push(error.message));
    }
    await runtime.advance(500);
    expect(ends.map((end) => /within (\d+) ms/.exec(end)?.[1])).toEqual(['100', '400']);
    session.close();
    await runtime.settle();
    expect(ends[2]).toContain('it was closed meanwhile');
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('says so if others have written all the time, and suspects nobody', async () => {
    const { session, other, runtime } = await locked();
    const pending = session.call('add', 'write', 1000, add('x'));
    pending.catch(() => undefined);
    for (let round = 0; round < 5; round++) {
      other.exec("INSERT INTO note VALUES ('theirs')");
      other.exec('COMMIT');
      other.exec('BEGIN IMMEDIATE');
      await runtime.advance(200);
    }
    await expect(pending).rejects.toThrow('Other processes wrote to it all the time');
  });

  it('a statement that met it within a transaction does not spoil the next ones', async () => {
    const { session, other, runtime } = await locked();
    // As a read may, while another process brings the log in order after a crash.
    const meeting = session.call('look', 'read', 100, ({ run }) => run('DELETE FROM note'));
    meeting.catch(() => undefined);
    await runtime.advance(100);
    await expect(meeting).rejects.toThrow(UnreachableError);
    other.exec('ROLLBACK');
    const pending = session.call('add', 'write', 1000, add('after'));
    await runtime.advanceUntil(pending);
    expect(await notesIn(session)).toEqual(['after', 'before']);
  });

  it('one attempt is made for all calls that wait, with pauses in between', async () => {
    const path = join(newFolder(), 'x.db');
    const runtime = new VirtualRuntime();
    const begins: number[] = [];
    const session = open(path, { runtime, library: noting(begins, runtime) });
    await session.call('add', 'write', 1000, add('before'));
    stranger(path).exec('BEGIN IMMEDIATE');
    begins.length = 0;
    const calls = Array.from({ length: 50 }, () => session.call('add', 'write', 1000, add('x')));
    const ends = Promise.allSettled(calls);
    await runtime.advance(1000);
    expect((await ends).every(({ status }) => status === 'rejected')).toBe(true);
    // Pauses grow to 20 to 40 ms, and an attempt blocks for 5 ms of them at most.
    expect(begins.length).toBeGreaterThan(20);
    expect(begins.length).toBeLessThan(60);
  });
});

/** The library, with the virtual time of each attempt to take the lock. */
function noting(begins: number[], runtime: VirtualRuntime): SqliteLibrary {
  return atBegin(() => begins.push(runtime.now().monotonicMs));
}

function atBegin(act: () => void): SqliteLibrary {
  return {
    resultCode: (error) => library.resultCode(error),
    open(path) {
      const database = library.open(path);
      return {
        exec(sql) {
          if (sql === 'BEGIN IMMEDIATE') act();
          return database.exec(sql);
        },
        prepare: (sql) => database.prepare(sql),
        close: () => database.close(),
      };
    },
  };
}

describe('a process that is stopped inside a transaction', () => {
  it('finds when it wakes that its time is over, and leaves nothing behind', async () => {
    const runtime = new VirtualRuntime();
    const session = open(join(newFolder(), 'x.db'), { runtime });
    const pending = session.call('acquire', 'write', 1000, (transaction) => {
      add('late')(transaction);
      runtime.freeze(1000);
    });
    await expect(pending).rejects.toThrow(UnreachableError);
    expect(await notesIn(session)).toEqual([]);
  });

  it('executes nothing if it is stopped before it has the lock', async () => {
    const runtime = new VirtualRuntime();
    let [beginCount, isExecuted] = [0, false];
    const stopping = atBegin(() => {
      // The first is that of the creation.
      if (++beginCount > 1) runtime.freeze(1000);
    });
    const session = open(join(newFolder(), 'x.db'), { runtime, library: stopping });
    const pending = session.call('acquire', 'write', 1000, () => {
      isExecuted = true;
    });
    await expect(pending).rejects.toThrow('This process came to it too late');
    expect(isExecuted).toBe(false);
  });
});

describe('a file that is removed or replaced', () => {
  it('is noticed by the next call, which uses the one that is there', async () => {
    const path = join(newFolder(), 'x.db');
    const session = open(path);
    const reasons: string[] = [];
    session.on('lost', ({ reason }) => reasons.push(reason));
    await session.call('add', 'write', 1000, add('old'));
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    expect(await notesIn(session)).toEqual([]);
    expect(existsSync(path)).toBe(true);
    expect(reasons).toEqual(['it was removed or replaced']);
    await open(path).call('add', 'write', 1000, add('new'));
    expect(await notesIn(session)).toEqual(['new']);
  });

  it('is noticed within a second without a call, if somebody wants to know', async () => {
    const path = join(newFolder(), 'x.db');
    const runtime = new VirtualRuntime();
    const session = open(path, { runtime });
    let lostCount = 0;
    session.on('lost', () => {
      lostCount += 1;
    });
    await notesIn(session);
    rmSync(path);
    await runtime.advance(1000);
    expect(lostCount).toBe(1);
  });

  it('is replaced under a call that has the lock already: nothing is written to the old one', async () => {
    const path = join(newFolder(), 'x.db');
    const session = open(path);
    await session.call('add', 'write', 1000, add('old'));
    const other = stranger(path);
    other.prepare('SELECT text FROM note').all();
    rmSync(path);
    await session.call('add', 'write', 1000, add('new'));
    const old = other.prepare('SELECT text FROM note').all() as { text: string }[];
    expect(old.map(({ text }) => text)).toEqual(['old']);
    expect(await notesIn(session)).toEqual(['new']);
  });

  it('lets a listener make calls, each of which is executed once', async () => {
    const path = join(newFolder(), 'x.db');
    const session = open(path);
    await session.call('add', 'write', 1000, add('old'));
    const renewals: Promise<unknown>[] = [];
    session.on('lost', () => renewals.push(session.call('renew', 'write', 1000, add('renewal'))));
    rmSync(path);
    await session.call('add', 'write', 1000, add('new'));
    await Promise.all(renewals);
    expect(await notesIn(session)).toEqual(['new', 'renewal']);
  });
});

describe('a file that is not ours', () => {
  it.each<[string, (path: string) => void, new (...words: never[]) => Error, string]>([
    [
      'text',
      (path) => writeFileSync(path, 'x'.repeat(5000)),
      StoreMisconfiguredError,
      'is not a SQLite database',
    ],
    [
      'the database of another program',
      (path) => stranger(path).exec('CREATE TABLE theirs (x)'),
      StoreMisconfiguredError,
      'is a database of another program',
    ],
    [
      'without its tables',
      (path) => stranger(path).exec('CREATE TABLE theirs (x); PRAGMA application_id = 4711'),
      StoreMisconfiguredError,
      'are not those of tenure',
    ],
  ])('is refused and left alone: %s', async (_, make, kind, words) => {
    const path = join(newFolder(), 'x.db');
    make(path);
    const call = () => open(path).call('add', 'write', 1000, add('x'));
    await expect(call()).rejects.toThrow(kind);
    await expect(call()).rejects.toThrow(words);
  });

  it('stays out of the log mode that it would be put into', async () => {
    const path = join(newFolder(), 'x.db');
    stranger(path).exec('CREATE TABLE theirs (x)');
    await expect(notesIn(open(path))).rejects.toThrow(StoreMisconfiguredError);
    expect(stranger(path).prepare('PRAGMA journal_mode').get()).toMatchObject({
      journal_mode: 'delete',
    });
  });

  it.each([
    ['a newer version of tenure', 'UPDATE file SET format = 3', 'Upgrade tenure here'],
    ['another operating system', "UPDATE file SET clock = 'wall'", 'another operating system'],
    ['nobody who can be named', 'DELETE FROM file', 'has lost the row'],
  ])('is refused if it was made by %s, also while it is open', async (_, change, words) => {
    const path = join(newFolder(), 'x.db');
    const session = open(path);
    await notesIn(session);
    stranger(path).exec(change);
    await expect(notesIn(open(path))).rejects.toThrow(words);
    await expect(notesIn(session)).rejects.toThrow(words);
  });
});

describe('a file that is damaged', () => {
  it('is reported with the way out, once its pages make no sense', async () => {
    const path = join(newFolder(), 'x.db');
    const before = open(path);
    await before.call('add', 'write', 1000, add('x'.repeat(20_000)));
    before.close();
    stranger(path).exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const { readFileSync } = await import('node:fs');
    const bytes = readFileSync(path);
    bytes.fill(0xff, 4096);
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    writeFileSync(path, bytes, { mode: 0o600 });
    const call = () => open(path).call('add', 'write', 1000, add('y'));
    await expect(call()).rejects.toThrow(RecordCorruptError);
    await expect(call()).rejects.toThrow('move it and its -wal and -shm files away');
  });
});

describe('another boot of the machine', () => {
  const clockOf = (bootId: string): SqliteClock => virtualClock(new VirtualRuntime(), bootId);

  it('ends what was on the clock of the earlier one', async () => {
    const path = join(newFolder(), 'x.db');
    const before = open(path, { clock: clockOf('first') });
    await before.call('add', 'write', 1000, add('x'));
    before.close();
    expect(await notesIn(open(path, { clock: clockOf('second') }))).toEqual([]);
  });

  it('is refused while a process of this one runs: two machines use the file', async () => {
    const path = join(newFolder(), 'x.db');
    const here = open(path, { clock: clockOf('here') });
    await notesIn(here);
    await notesIn(open(path, { clock: clockOf('there') }));
    await expect(notesIn(here)).rejects.toThrow('is used by another machine as well');
  });
});
