import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ClosedError,
  OptionError,
  OutcomeUnknownError,
  StaleTermError,
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type SqliteFence, sqliteFence } from '../../../src/fences/sqlite/index.js';
import type { TestDatabase } from '../../support/sqlite-database.js';
import { forgetsOldEffects } from '../stored-fences.js';
import { openDatabase, type PreparedFile, preparedFile, put, readData } from './subject.js';

let file: PreparedFile;
let database: TestDatabase;
let reader: TestDatabase;
let fence: SqliteFence;

beforeAll(async () => {
  file = await preparedFile();
  reader = openDatabase(file.path);
});

afterAll(() => {
  reader.close();
  file.remove();
});

beforeEach(() => {
  database = openDatabase(file.path);
  fence = sqliteFence(file.path, { transactionTimeoutMs: 300, waitTimeoutMs: 20_000 });
});

afterEach(async () => {
  await fence.close();
  database.close();
});

const read = (key: string) => readData(reader, key);

describe('a transaction of the SQLite fence', () => {
  it.each(['COMMIT', 'ROLLBACK', 'COMMIT; BEGIN', 'ROLLBACK; BEGIN IMMEDIATE'])(
    'has an unknown outcome if its work ends it itself, by %s',
    async (text) => {
      const name = freshName('own');
      const attempt = fence.transaction(tokenOf(name, 5), (open) => {
        put(open, `${name}/before`, 'there');
        open.exec(text);
        if (text.includes('BEGIN')) put(open, name, 'unguarded');
      });
      await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
      await expect(attempt).rejects.toThrow(/ended the transaction itself/);
      expect(read(name)).toBeUndefined();
      expect(read(`${name}/before`)).toBe(text.startsWith('COMMIT') ? 'there' : undefined);
      await fence.claim(tokenOf(name, 6));
    },
  );

  it.each([
    ['COMMIT', 'throws'],
    ['COMMIT; BEGIN', 'throws'],
    ['COMMIT; nonsense', 'has that statement fail'],
    ['COMMIT', 'takes too long'],
  ])('has an unknown outcome if its work says %s and then %s', async (text, how) => {
    const name = freshName('commits');
    const gate = new Gate();
    const attempt = fence.transaction(tokenOf(name, 5), async (open) => {
      put(open, name, 'there');
      open.exec(text);
      if (how === 'takes too long') await gate.pass();
      throw new Error('mine');
    });
    const failure = await attempt.catch((error: unknown) => error);
    gate.open();
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(String(failure)).toMatch(/ended the transaction itself/);
    const causes = { throws: /mine/, 'has that statement fail': /nonsense/ };
    expect(String(Object(failure).cause)).toMatch(
      causes[how as keyof typeof causes] ?? /longer than 300 ms/,
    );
    expect(read(name)).toBe('there');
    await fence.claim(tokenOf(name, 6));
  });

  it('is rolled back when its work takes too long, and takes nothing that comes late', async () => {
    const name = freshName('late');
    const token = tokenOf(name, 5);
    const gate = new Gate();
    const late: unknown[] = [];
    const attempt = fence.transaction(token, async (open) => {
      put(open, name, 'early');
      await gate.pass();
      try {
        put(open, name, 'late');
      } catch (error) {
        late.push(error);
      }
    });
    await expect(attempt).rejects.toBeInstanceOf(UnreachableError);
    await expect(attempt).rejects.toThrow(/rolled back.*longer than 300 ms/);
    gate.open();
    await expect.poll(() => late[0]).toBeInstanceOf(ClosedError);
    expect(read(name)).toBeUndefined();
    await fence.claim(tokenOf(name, 4));
  });

  it("passes on SQLite's own error, and can be used again afterwards", async () => {
    const name = freshName('constraint');
    const token = tokenOf(name, 5);
    const attempt = fence.transaction(token, (open) => {
      for (let count = 0; count < 2; count++) open.run("INSERT INTO data VALUES (?, '')", name);
    });
    await expect(attempt).rejects.toThrow(/UNIQUE constraint failed/);
    await fence.transaction(token, (open) => put(open, name, 'again'));
    expect(read(name)).toBe('again');
  });

  it('is not committed after a check in it was refused, even if the work swallows that', async () => {
    const name = freshName('swallowed');
    await fence.claim(tokenOf(name, 6));
    const attempt = fence.transaction(tokenOf(`${name}/own`, 5), async (open) => {
      await fence.check(open, tokenOf(name, 5)).catch(() => {});
      put(open, name, 'stale');
    });
    await expect(attempt).rejects.toBeInstanceOf(StaleTermError);
    expect(read(name)).toBeUndefined();
  });

  it('waits for the lock of another connection without holding up the event loop', async () => {
    const name = freshName('wait');
    database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 5);
    const claim = fence.claim(tokenOf(name, 5));
    await expect.poll(() => turns).toBeGreaterThan(20);
    clearInterval(turning);
    database.exec('COMMIT');
    await claim;
    expect(await fence.installedTerm(name)).toBe(5);
  });

  it('gives up waiting for a lock, with nothing written, and says who may have it', async () => {
    const name = freshName('locked');
    const hasty = sqliteFence(file.path, { transactionTimeoutMs: 100, waitTimeoutMs: 200 });
    database.exec('BEGIN IMMEDIATE');
    const attempt = hasty.claim(tokenOf(name, 5));
    await expect(attempt).rejects.toBeInstanceOf(UnreachableError);
    await expect(attempt).rejects.toThrow(new RegExp(`Process ${process.pid} holds its lock`));
    database.exec('ROLLBACK');
    expect(await hasty.installedTerm(name)).toBeUndefined();
    await hasty.close();
  });

  it('waits for its turn among those of its fence, and no longer than it may', async () => {
    const name = freshName('turn');
    const own = sqliteFence(database, { transactionTimeoutMs: 100, waitTimeoutMs: 200 });
    const patient = sqliteFence(file.path);
    const token = tokenOf(name, 5);
    const gate = new Gate();
    const open = patient.transaction(token, () => gate.pass());
    await gate.reached;
    const order: string[] = [];
    const behind = [1, 2].map((number) =>
      patient.transaction(token, () => void order.push(`${number}`)),
    );
    await expect(own.claim(token)).rejects.toBeInstanceOf(UnreachableError);
    expect(order).toEqual([]);
    gate.open();
    await Promise.all([open, ...behind]);
    expect(order).toEqual(['1', '2']);
    await Promise.all([own.close(), patient.close()]);
  });

  it('is refused while the user has one open on the same connection', async () => {
    const own = sqliteFence(database);
    await own.installedTerm('n');
    database.exec('BEGIN');
    const attempt = own.claim(tokenOf(freshName('nested'), 5));
    await expect(attempt).rejects.toBeInstanceOf(StoreRefusedError);
    await expect(attempt).rejects.toThrow(/another transaction is open on this connection/);
    database.exec('COMMIT');
    await own.close();
  });

  it('forgets old effects, and only those', async () => {
    const text = 'UPDATE tenure_effects SET recorded_at_ms = recorded_at_ms - 7200000';
    await forgetsOldEffects(fence, () => database.exec(text));
  });
});

describe('a check of the SQLite fence in a transaction of the user', () => {
  it('is refused outside of one, and by what is no database', async () => {
    const token = tokenOf(freshName('outside'), 5);
    await expect(fence.check(database, token)).rejects.toThrow(/BEGIN IMMEDIATE/);
    for (const wrong of [database, {}, null, undefined, 'x'])
      await expect(fence.check(wrong as never, token)).rejects.toBeInstanceOf(OptionError);
    expect(await fence.installedTerm(token.name)).toBeUndefined();
  });

  it('is made within the call: what follows is guarded also where nobody awaits it', async () => {
    const name = freshName('at-once');
    await fence.claim(tokenOf(name, 6));
    database.exec('BEGIN IMMEDIATE');
    const refusal = expect(fence.check(database, tokenOf(name, 5))).rejects.toThrow(StaleTermError);
    put(database, name, 'stale');
    expect(() => database.exec('COMMIT')).toThrow(/FOREIGN KEY/);
    database.exec('ROLLBACK');
    await refusal;
    expect(read(name)).toBeUndefined();
  });

  it('takes the write lock of a transaction that began without it', async () => {
    const name = freshName('deferred');
    database.exec('BEGIN');
    await fence.check(database, tokenOf(name, 5));
    expect(() => reader.exec('BEGIN IMMEDIATE')).toThrow(/locked/);
    database.exec('COMMIT');
    expect(await fence.installedTerm(name)).toBe(5);
  });

  it('refuses a transaction that has read what is older than a claim', async () => {
    const name = freshName('older');
    const old = tokenOf(name, 5);
    await fence.claim(old);
    database.exec('BEGIN');
    readData(database, name);
    await fence.claim(tokenOf(name, 6));
    await expect(fence.check(database, old)).rejects.toMatchObject({
      storeCode: 'SQLITE_BUSY_SNAPSHOT',
    });
    database.exec('ROLLBACK');
  });

  it('that failed lets nothing be committed: not what was written before, not what comes after', async () => {
    const name = freshName('spoilt');
    await fence.claim(tokenOf(name, 6));
    database.exec('BEGIN IMMEDIATE');
    put(database, `${name}/before`, 'stale');
    await expect(fence.check(database, tokenOf(name, 5))).rejects.toBeInstanceOf(StaleTermError);
    put(database, `${name}/after`, 'stale');
    expect(() => database.exec('COMMIT')).toThrow(/FOREIGN KEY/);
    expect(() => database.exec('COMMIT')).toThrow(/FOREIGN KEY/);
    database.exec('ROLLBACK');
    expect([read(`${name}/before`), read(`${name}/after`)]).toEqual([undefined, undefined]);
    // The same connection is taken again: nothing of it is left.
    database.exec('BEGIN IMMEDIATE');
    await fence.check(database, tokenOf(name, 7));
    put(database, name, 'fresh');
    database.exec('COMMIT');
    expect(read(name)).toBe('fresh');
  });

  it('cannot be swallowed where a full disk made SQLite end the transaction by itself', async () => {
    const full = await preparedFile();
    const user = openDatabase(full.path);
    const own = sqliteFence(full.path);
    put(user, 'there', 'before');
    const { page_count: pageCount } = Object(user.prepare('PRAGMA page_count').get());
    user.exec(`PRAGMA max_page_count = ${pageCount}; BEGIN IMMEDIATE`);
    let failure: unknown;
    for (let seq = 0; failure === undefined && seq < 1_000; seq++) {
      const record = own.recordOnce(user, 'scope', 'k'.repeat(1_000), seq, 'i'.repeat(200));
      failure = await record.then(() => undefined).catch((error: unknown) => error);
    }
    expect(String(failure)).toMatch(/full/i);
    put(user, 'there', 'unguarded');
    expect(() => user.exec('COMMIT')).toThrow(/FOREIGN KEY/);
    user.exec('ROLLBACK');
    expect(readData(user, 'there')).toBe('before');
    await own.close();
    user.close();
    full.remove();
  });

  it('takes back what was written before, where nothing could keep it from being committed', async () => {
    const name = freshName('unkept');
    database.exec('PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE');
    put(database, name, 'unguarded');
    const attempt = fence.check(database, tokenOf(name, 5));
    await expect(attempt).rejects.toBeInstanceOf(StoreMisconfiguredError);
    expect(readData(database, name)).toBeUndefined();
    database.exec('COMMIT');
    expect(read(name)).toBeUndefined();
  });

  it('that found the file locked cannot be swallowed either', async () => {
    const name = freshName('busy');
    const blocker = openDatabase(file.path);
    blocker.exec('BEGIN IMMEDIATE');
    database.exec('BEGIN');
    await expect(fence.check(database, tokenOf(name, 5))).rejects.toBeInstanceOf(UnreachableError);
    blocker.exec('ROLLBACK');
    put(database, name, 'unguarded');
    expect(() => database.exec('COMMIT')).toThrow(/FOREIGN KEY/);
    database.exec('ROLLBACK');
    blocker.close();
  });

  it.each([
    ['foreign_keys = OFF', /PRAGMA foreign_keys = ON/],
    ['synchronous = NORMAL', /PRAGMA synchronous = FULL/],
  ])('names a setting that it could not guard under: %s', async (setting, remedy) => {
    database.exec(`PRAGMA ${setting}; BEGIN IMMEDIATE`);
    const attempt = fence.check(database, tokenOf(freshName('setting'), 5));
    await expect(attempt).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(attempt).rejects.toThrow(remedy);
    database.exec('ROLLBACK');
  });
});

describe('a database that the SQLite fence is given', () => {
  it('has its durability raised for transactions of the fence, and its own busy timeout kept', async () => {
    database.exec('PRAGMA synchronous = OFF; PRAGMA busy_timeout = 1234');
    const own = sqliteFence(database);
    await own.claim(tokenOf(freshName('raised'), 5));
    const value = (name: string) =>
      Object.values(Object(database.prepare(`PRAGMA ${name}`).get()))[0];
    expect([value('synchronous'), value('busy_timeout')]).toEqual([2, 1234]);
    await own.close();
    // It is still open.
    database.exec('SELECT 1');
  });

  it('guards its own transactions whether or not it looks at foreign keys', async () => {
    const name = freshName('keys');
    database.exec('PRAGMA foreign_keys = OFF');
    const own = sqliteFence(database);
    await own.claim(tokenOf(name, 6));
    const attempt = own.transaction(tokenOf(`${name}/own`, 5), async (open) => {
      put(open, name, 'stale');
      await own.check(open, tokenOf(name, 5)).catch(() => {});
    });
    await expect(attempt).rejects.toBeInstanceOf(StaleTermError);
    expect(read(name)).toBeUndefined();
    await own.close();
  });

  it('is refused in memory, where memoryFence is meant', async () => {
    const memory = openDatabase(':memory:');
    const attempt = sqliteFence(memory).migrate();
    await expect(attempt).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(attempt).rejects.toThrow(/memoryFence/);
    memory.close();
  });

  it('is named as not migrated', async () => {
    const other = await preparedFile();
    const empty = openDatabase(other.path);
    empty.exec('DROP TABLE tenure_fences');
    const own = sqliteFence(empty);
    await expect(own.claim(tokenOf('n', 5))).rejects.toThrow(/Call fence.migrate/);
    await Promise.all([own.migrate(), sqliteFence(other.path).migrate()]);
    await own.claim(tokenOf('n', 5));
    empty.close();
    other.remove();
  });

  it.each([
    ['a number', 3],
    ['null', null],
    ['an object that is none', {}],
    ['a URL of something else', 'postgres://x'],
    ['a file in memory', ':memory:'],
  ])('is refused at construction if it is %s', (_what, source) => {
    expect(() => sqliteFence(source as never)).toThrow(OptionError);
  });

  it.each([
    { transactionTimeoutMs: 99 },
    { waitTimeoutMs: 30_000 },
    { runtime: 3 as never },
    null as never,
  ])('is refused with the options %j', (options) => {
    expect(() => sqliteFence(file.path, options)).toThrow(OptionError);
  });
});
