import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { describe, expect, inject, it } from 'vitest';
import { leaseSchema } from '../../src/coordinators/sqlite/schema.js';
import { SqliteSession } from '../../src/drivers/sqlite/index.js';
import { Once, type OnceStore } from '../../src/once/index.js';
import { postgresOnce } from '../../src/once/postgres/index.js';
import { redisOnce } from '../../src/once/redis/index.js';
import { OnceKeys } from '../../src/once/redis/keys.js';
import { sqliteOnce } from '../../src/once/sqlite/index.js';
import { realRuntime } from '../../src/time/index.js';
import { freshPostgresDatabase, startRedis } from '../support/servers/index.js';

const act = { by: 'dora', reason: 'looked' };
const settlement = { attempt: 1, outcome: 'done', by: 'dora', reason: 'looked', atMs: 1 };
const corrupt = { code: 'TENURE_RECORD_CORRUPT' };
const farMs = 8_640_000_000_000_001;

/** A store, and how somebody else writes there. */
interface Place {
  readonly store: OnceStore;
  /** Puts something into a field of the record of a key; `undefined`: takes it away. */
  write(key: string, field: string, value: unknown): Promise<void>;
  /** Fields, and what none of them can hold. */
  readonly wrong: Readonly<Record<string, readonly unknown[]>>;
  /** The field of the result. */
  readonly result: string;
  close(): Promise<void>;
}

async function inPostgres(): Promise<Place> {
  const database = await freshPostgresDatabase(inject('postgresUrl'));
  const store = postgresOnce(database.url);
  await store.migrate();
  const pool = new Pool({ connectionString: database.url, max: 1 });
  const times = [-1, farMs, '9223372036854775807', '-9223372036854775808'];
  const lists = ['5', 'null', '{}', '"x"', '[5]', '[null]', '[{}]'];
  const lines = Object.entries({ attempt: 0, outcome: 'x', by: 1, reason: null, atMs: 1e40 });
  return {
    store,
    write: async (key, field, value) => {
      await pool.query(`UPDATE tenure.once_keys SET ${field} = $2 WHERE key = $1`, [key, value]);
    },
    wrong: {
      attempt: [0, -1, 2_147_483_647],
      started_ms: times,
      deadline_ms: [...times, 5e15],
      ended_ms: times,
      expires_ms: times,
      settlements: [
        ...lists,
        ...lines.map(([name, value]) => JSON.stringify([{ ...settlement, [name]: value }])),
      ],
    },
    result: 'result',
    close: async () => {
      await store.close();
      await pool.end();
      await database.drop();
    },
  };
}

async function inRedis(): Promise<Place> {
  const server = await startRedis();
  const store = redisOnce(server.url);
  const user = new Redis(server.url);
  const keys = new OnceKeys('default');
  const numbers = ['', '-1', '1.5', 'nan', '0x10', '1e3', ' 1', `${farMs}`, '9'.repeat(400)];
  return {
    store,
    write: async (key, field, value) => {
      if (value === undefined) await user.hdel(keys.record(key), field);
      else await user.hset(keys.record(key), field, `${value}`);
    },
    wrong: {
      version: [undefined, '2'],
      state: [undefined, '', 'other'],
      owner: [undefined],
      by: [undefined],
      key: [undefined],
      attempt: [undefined, '0', ...numbers],
      started: [undefined, ...numbers],
      deadline: [undefined, ...numbers, `${5e15}`],
      ended: numbers,
      expires: numbers,
      settlements: [
        ...[undefined, 'x', '\n', '1|done|1|x', '1|done|1|["a"]', '1|done|1|["a",5]'],
        ...['0|done|1|["a","b"]', '1|other|1|["a","b"]', `1|done|${farMs}|["a","b"]`],
        '1|done|1|["a","b"]\n',
      ],
    },
    result: 'result',
    close: async () => {
      await store.close();
      user.disconnect();
      await server.stop();
    },
  };
}

async function inSqlite(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-once-'));
  const path = join(folder, 'keys.db');
  const store = sqliteOnce(path);
  await store.forget(1, { timeoutMs: 5_000 });
  const user = new SqliteSession({
    ...{ what: 'a user', path, schema: leaseSchema, runtime: realRuntime },
    createDirectory: false,
  });
  const numbers = [-1, farMs, '1', true, []];
  const lines = Object.entries({ attempt: 0, outcome: 'x', by: 1, reason: null, atMs: farMs });
  return {
    store,
    write: (key, field, value) =>
      user.call('write', 'write', 5_000, (transaction) => {
        const found = transaction.get('SELECT record FROM once_key WHERE key = ?', key);
        const record = JSON.stringify({ ...JSON.parse(`${found?.record}`), [field]: value });
        transaction.run('UPDATE once_key SET record = ? WHERE key = ?', record, key);
      }),
    wrong: {
      state: [undefined, null, '', 'other', 1],
      owner: [undefined, 1],
      startedBy: [undefined, 1],
      attempt: [undefined, 0, 1.5, 2e9, '1'],
      startedAtMs: [undefined, ...numbers],
      deadlineAtMs: [undefined, ...numbers, 5e15],
      endedAtMs: numbers,
      expiresAtMs: numbers,
      settlements: [
        ...[undefined, 5, 'x', {}, [5], [null], [{}]],
        ...lines.map(([name, value]) => [{ ...settlement, [name]: value }]),
      ],
    },
    result: 'result',
    close: async () => {
      await store.close();
      user.close();
      rmSync(folder, { recursive: true });
    },
  };
}

describe.concurrent.each([
  ['PostgreSQL', inPostgres],
  ['Redis', inRedis],
  ['SQLite', inSqlite],
])('what nobody but a stranger can have written into a key in %s', (_, open) => {
  it('is told by its type, calls nothing, is left as it is, and keeps nobody from the other keys', async () => {
    const place = await open();
    const once = new Once(place.store, { id: 'one' });
    try {
      const broken = () => Promise.reject(new Error('broken'));
      await once.do('sound', broken).catch(() => {});
      let count = 0;
      for (const [field, values] of Object.entries(place.wrong))
        for (const value of values) {
          const what = `${field} ${JSON.stringify(value)}`;
          count += 1;
          const key = `key-${count}`;
          await once.do(key, broken).catch(() => {});
          await place.write(key, field, value);
          const effect = () => expect.fail(`it was called with ${what}`);
          const again = once.do(key, effect, { onUnknown: 'repeat' });
          await expect(again, what).rejects.toMatchObject(corrupt);
          await expect(once.read(key), what).rejects.toMatchObject(corrupt);
          await expect(once.settle(key, 'not-applied', act), what).rejects.toMatchObject(corrupt);
        }
      expect((await once.unknown({ limit: 1_000 })).map(({ key }) => key)).toEqual(['sound']);
      expect(await once.forgetExpired()).toBe(0);
      await expect(once.read(`key-${count}`)).rejects.toMatchObject(corrupt);
      expect(await once.settle('sound', 'not-applied', act)).toMatchObject({ isSettled: true });
    } finally {
      await once.close();
      await place.close();
    }
  });

  it('is told of a result that is no JSON, too', async () => {
    const place = await open();
    const once = new Once(place.store);
    try {
      await once.do('done', () => 1);
      await place.write('done', place.result, '{"receipt');
      const effect = () => expect.fail('it was called');
      await expect(once.do('done', effect)).rejects.toMatchObject(corrupt);
    } finally {
      await once.close();
      await place.close();
    }
  });
});
