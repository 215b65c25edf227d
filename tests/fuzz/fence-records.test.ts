import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { RecordCorruptError } from '../../src/errors/index.js';
import { Gate } from '../../src/fences/http/admission.js';
import { isRowRefusal, postgresFence, postgresRowGuard } from '../../src/fences/postgres/index.js';
import { type RedisBatch, redisFence } from '../../src/fences/redis/index.js';
import { FenceKeys } from '../../src/fences/redis/keys.js';
import { type SqliteFenceTransaction, sqliteFence } from '../../src/fences/sqlite/index.js';
import { call } from '../support/call.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { openDatabase } from '../support/sqlite-database.js';
import { damaged } from './damage.js';
import { abuseFence, installed, type Meddling, wrongDigests, wrongTerms } from './fence-scene.js';
import { fewOrAll } from './rounds.js';

/** However busy the machine is. */
const { timeoutMs } = call;
let database: FreshDatabase;
let stranger: pg.Pool;
let admin: Redis;

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  stranger = new pg.Pool({ connectionString: database.url, max: 2 });
  await stranger.query('CREATE TABLE data (key text PRIMARY KEY, value text NOT NULL)');
  admin = new Redis(inject('redisUrl'));
});
afterAll(async () => {
  admin?.disconnect();
  await stranger?.end();
  await database?.drop();
});

const upsert =
  'INSERT INTO public.data VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value';

/** In a schema of its own, whose table somebody has altered. */
async function inPostgres(schema: string, altered: string, meddlings: readonly Meddling[]) {
  const fence = postgresFence<pg.PoolClient>(database.url, { schema, timeoutMs });
  await fence.migrate();
  await stranger.query(`ALTER TABLE ${schema}.fences ${altered}`);
  try {
    return await abuseFence({
      fence,
      meddlings,
      write: (on, key, value) => on.query(upsert, [key, value]),
      read: async (key) => {
        const { rows } = await stranger.query('SELECT value FROM data WHERE key = $1', [key]);
        return rows[0]?.value;
      },
      recordOf: (name) => `the row of "${name}" in "${schema}".fences`,
    });
  } finally {
    await fence.close();
  }
}

const setting =
  (schema: string, column: string, spoils: Meddling['spoils']) => (value: string) => ({
    what: `${column} = ${value}`,
    spoils,
    spoil: (name: string) =>
      stranger.query(`UPDATE ${schema}.fences SET ${column} = ${value} WHERE name = $1`, [name]),
  });

describe('what stands at a fence and was meddled with lets nobody pass, and is told with its remedy', () => {
  it('in PostgreSQL, without the constraints of the table', async () => {
    const nothing = ['fences_term_check', 'fences_holder_digest_check'];
    const altered = [
      ...nothing.map((constraint) => `DROP CONSTRAINT IF EXISTS ${constraint}`),
      ...['term', 'holder_digest'].map((column) => `ALTER COLUMN ${column} DROP NOT NULL`),
    ].join(', ');
    const wrong = await inPostgres('fuzz', altered, [
      ...[...wrongTerms, 'NULL'].map(setting('fuzz', 'term', 'term')),
      ...[...wrongDigests, "repeat('x', 1000000)", 'NULL'].map(
        setting('fuzz', 'holder_digest', 'holder'),
      ),
    ]);
    expect(wrong).toEqual([]);
  });

  it('in PostgreSQL, with a column of another type', async () => {
    const altered = 'DROP CONSTRAINT fences_term_check, ALTER COLUMN term TYPE numeric';
    const numbers = ["'NaN'", '7.5', '1e300', '-1e300', '0.1'].map(setting('odd', 'term', 'term'));
    expect(await inPostgres('odd', altered, numbers)).toEqual([]);
  });

  it('in a row of PostgreSQL that has an owner of its own', async () => {
    await stranger.query('CREATE TABLE account (id text PRIMARY KEY, value text)');
    const guard = postgresRowGuard({ table: 'account', key: 'id' });
    await stranger.query(guard.migrationSql);
    await stranger.query('ALTER TABLE account DROP CONSTRAINT account_tenure_term_check');
    const values = { value: 'by a stranger to the row' };
    for (const trigger of [false, true]) {
      if (trigger) await stranger.query(guard.triggerSql);
      for (const term of wrongTerms) {
        const name = `row ${term} ${trigger}`;
        const token = { name, ...installed };
        await guard.upsert(stranger, token, name, { value: 'before' });
        if (trigger) await stranger.query('ALTER TABLE account DISABLE TRIGGER USER');
        await stranger.query('UPDATE account SET tenure_term = $1 WHERE id = $2', [term, name]);
        if (trigger) await stranger.query('ALTER TABLE account ENABLE TRIGGER USER');
        for (const write of [
          () => guard.claim(stranger, token, name),
          () => guard.update(stranger, token, name, values),
          () => guard.upsert(stranger, { ...token, term: 8 }, name, values),
        ])
          await expect(write(), name).rejects.toThrow(
            expect.objectContaining({
              code: 'TENURE_RECORD_CORRUPT',
              message: expect.stringMatching(
                new RegExp(`tenure_term of the row that is written under "${name}".*restore it`),
              ),
            }),
          );
        if (trigger) {
          const client = await stranger.connect();
          await client.query('BEGIN');
          await guard.carry(client, { ...token, term: 8 });
          const write = client.query("UPDATE account SET value = 'x' WHERE id = $1", [name]);
          await expect(write, name).rejects.toSatisfy(isRowRefusal);
          await client.query('ROLLBACK');
          client.release();
        }
        const { rows } = await stranger.query('SELECT value FROM account WHERE id = $1', [name]);
        expect(rows, name).toEqual([{ value: 'before' }]);
      }
    }
  });

  it('in a SQLite file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-fuzz-'));
    const path = join(folder, 'data.db');
    const fence = sqliteFence(path);
    await fence.migrate();
    const user = openDatabase(path);
    user.exec('CREATE TABLE data (key TEXT PRIMARY KEY, value TEXT NOT NULL)');
    // As a stranger makes it: any type in any column, and nothing checked.
    const columns = 'name PRIMARY KEY, term, holder_digest, installed_at_ms';
    user.exec(`DROP TABLE tenure_fences; CREATE TABLE tenure_fences (${columns})`);
    const set = (column: string, spoils: Meddling['spoils']) => (value: string) => ({
      what: `${column} = ${value}`,
      spoils,
      spoil: (name: string) =>
        user.prepare(`UPDATE tenure_fences SET ${column} = ${value} WHERE name = ?`).run(name),
    });
    const odd = [
      'NULL',
      "'x'",
      "''",
      "'7x'",
      '7.5',
      '9e999',
      '-9e999',
      "x'00ff'",
      "' '",
      "'0x7'",
      "' 7'",
      "'7e0'",
    ];
    const digests = ["''", "'x'", 'NULL', '7', "x'00ff'", 'hex(zeroblob(500000))'];
    try {
      const wrong = await abuseFence<SqliteFenceTransaction>({
        fence,
        width: 1,
        meddlings: [
          ...[...wrongTerms, ...odd].map(set('term', 'term')),
          ...digests.map(set('holder_digest', 'holder')),
        ],
        write: (on, key, value) => on.run('INSERT OR REPLACE INTO data VALUES (?, ?)', key, value),
        read: (key) => {
          const row = user.prepare('SELECT value FROM data WHERE key = ?').get(key);
          return (row as { value: string } | undefined)?.value;
        },
        recordOf: (name) => `the row of "${name}" in tenure_fences`,
      });
      expect(wrong).toEqual([]);
    } finally {
      user.close();
      await fence.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('in Redis, where an HTTP service admits nobody by it either', async () => {
    const namespace = `fuzz/${process.pid}`;
    const keys = new FenceKeys(`tenure-fence:fuzz-${process.pid}`, namespace);
    const hashTag = keys.hashTag.slice(1, -1);
    const fence = redisFence(inject('redisUrl'), {
      namespace,
      hashTag,
      timeoutMs,
      connectTimeoutMs: timeoutMs,
    });
    const gate = new Gate({ fence, resource: { accepts: () => true }, timeoutMs });
    const isAdmitted = async (name: string, term: number) => {
      const headers: Readonly<Record<string, string>> = {
        'fencing-token': String(term),
        'fencing-holder': installed.holder.digest,
        'fencing-resource': encodeURIComponent(name),
      };
      const header = (one: string) => headers[one];
      return (await gate.admit({ method: 'POST', header, request: {} })).answer === undefined;
    };
    const valid = `1|7|${installed.holder.digest}`;
    const isOurs = (text: string) => /^1\|[1-9]\d{0,14}\|[0-9a-f]{32}$/.test(text);
    const stored = damaged(valid, 3).map((text) => Buffer.from(text).toString());
    const texts = fewOrAll(
      [...new Set(stored)].filter((text) => !isOurs(text)),
      80,
      1,
    );
    const absurd = ['8640000000000001', '9007199254740993', '9'.repeat(17), '9'.repeat(400)];
    const others: readonly (readonly [string, (key: string) => Promise<unknown>])[] = [
      ['a hash', (key) => admin.hset(key, 'a', valid)],
      ['a list', (key) => admin.rpush(key, valid)],
      ['a set', (key) => admin.sadd(key, valid)],
      ['a stream', (key) => admin.xadd(key, '*', 'a', valid)],
    ];
    const write = (write: (key: string) => Promise<unknown>) => async (name: string) => {
      await admin.del(keys.term(name));
      await write(keys.term(name));
      for (const term of [7, 8])
        if (await isAdmitted(name, term)) throw new Error(`the service admits term ${term}`);
    };
    try {
      const wrong = await abuseFence<RedisBatch>({
        fence,
        width: 20,
        meddlings: [
          ...[...texts, ...absurd.map((term) => valid.replace('|7|', `|${term}|`))].map(
            (text): Meddling => ({
              what: JSON.stringify(text),
              spoils: 'term',
              spoil: write((key) => admin.set(key, text)),
            }),
          ),
          ...others.map(([what, put]): Meddling => ({ what, spoils: 'term', spoil: write(put) })),
        ],
        write: (batch, key, value) => batch.command('SET', `${keys.hashTag}:data:${key}`, value),
        read: async (key) => (await admin.get(`${keys.hashTag}:data:${key}`)) ?? undefined,
        recordOf: (name) => `"${keys.term(name)}"`,
      });
      expect(wrong).toEqual([]);
      expect(await isAdmitted('another name', 7), 'it does admit').toBe(true);
    } finally {
      await fence.close();
    }
  });

  it('in the record of an effect in Redis', async () => {
    const namespace = `fuzz-effects/${process.pid}`;
    const fence = redisFence(inject('redisUrl'), {
      namespace,
      timeoutMs,
      connectTimeoutMs: timeoutMs,
    });
    const keys = new FenceKeys(fence.hashTag.slice(1, -1), namespace);
    const key = keys.effect({ scope: 'scope', key: 'key', seq: 1 });
    const record = () =>
      fence.transaction({ name: 'name', ...installed }, (batch) =>
        fence.recordOnce(batch, 'scope', 'key', 1, 'id'),
      );
    try {
      await admin.rpush(key, 'id');
      await expect(record()).rejects.toThrow(RecordCorruptError);
      await expect(record()).rejects.toThrow(/restore it, or remove it if the effect/);
      await admin.del(key);
      expect(await record()).toBe(true);
      await admin.set(key, '');
      await expect(record()).rejects.toMatchObject({ code: 'TENURE_SEQUENCE_REUSED' });
    } finally {
      await fence.close();
    }
  });
});
