import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { OptionError, StaleTermError, StoreMisconfiguredError } from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { isRowRefusal, postgresRowGuard } from '../../../src/fences/postgres/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../../support/servers/index.js';
import { openPool, runSql } from './subject.js';

let database: FreshDatabase;
let pool: pg.Pool;
let key: string;
const rows = postgresRowGuard({ table: 'public.documents', key: 'id' });
const guarded = postgresRowGuard({ table: 'Guarded', key: 'id' });

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  pool = openPool(database.url);
  for (const [table, guard] of [
    ['documents', rows],
    ['"Guarded"', guarded],
  ] as const) {
    await pool.query(`CREATE TABLE ${table} (id text PRIMARY KEY, body text, size int)`);
    for (let twice = 0; twice < 2; twice++) await pool.query(guard.migrationSql);
  }
  for (let twice = 0; twice < 2; twice++) await pool.query(guarded.triggerSql);
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

beforeEach(async () => {
  key = freshName('row');
});

async function bodyOf(table = 'documents'): Promise<string | undefined> {
  const { rows: found } = await runSql(database.url, `SELECT body FROM ${table} WHERE id = $1`, [
    key,
  ]);
  return found[0]?.body;
}

describe('a row that is guarded by its own term', () => {
  it('takes a higher term, and the same one from its holder alone', async () => {
    const owner = tokenOf('n', 5);
    await rows.upsert(pool, owner, key, { body: 'added' });
    expect(await rows.update(pool, owner, key, { body: 'again', size: 3 })).toBe(true);
    await expect(rows.update(pool, tokenOf('n', 5), key, { body: 'twin' })).rejects.toThrow(
      StaleTermError,
    );
    expect(await bodyOf()).toBe('again');
    expect(await rows.update(pool, tokenOf('n', 6), key, { body: 'next' })).toBe(true);
    const stale = { body: 'stale' };
    for (const write of [
      () => rows.update(pool, owner, key, stale),
      () => rows.upsert(pool, owner, key, stale),
    ])
      await expect(write()).rejects.toMatchObject({ term: 5, installedTerm: 6 });
    expect(await bodyOf()).toBe('next');
  });

  it('names its migration where that was not run, and lets other missing columns through', async () => {
    await pool.query('CREATE TABLE unprepared (id text PRIMARY KEY, body text)');
    const unprepared = postgresRowGuard({ table: 'unprepared', key: 'id' });
    const owner = tokenOf('n', 5);
    for (const write of [
      () => unprepared.claim(pool, owner, key),
      () => unprepared.update(pool, owner, key, { body: 'text' }),
      () => unprepared.upsert(pool, owner, key, { body: 'text' }),
    ]) {
      await expect(write()).rejects.toBeInstanceOf(StoreMisconfiguredError);
      await expect(write()).rejects.toThrow(
        'the table "unprepared" has no columns tenure_term and tenure_holder. Run the guard\'s migrationSql once',
      );
    }
    await pool.query(unprepared.migrationSql);
    await unprepared.upsert(pool, owner, key, { body: 'text' });
    const misspelt = unprepared.update(pool, owner, key, { boddy: 'text' });
    await expect(misspelt).rejects.toMatchObject({ code: '42703' });
  });

  describe('on a client that its last user left inside a transaction', () => {
    const untold = (client: pg.PoolClient) =>
      Reflect.set(client, 'getTransactionStatus', undefined);

    it.each([
      ['with what it wrote', async (client: pg.PoolClient) => void (await client.query('BEGIN'))],
      ['whose BEGIN is on its way', async (client: pg.PoolClient) => void client.query('BEGIN')],
      [
        'in which a statement has failed',
        async (client: pg.PoolClient) => {
          await client.query('BEGIN');
          await client.query('SELECT 1 / 0').catch(() => {});
        },
      ],
      [
        'and that cannot tell by itself',
        async (client: pg.PoolClient) => {
          untold(client);
          await client.query('BEGIN');
        },
      ],
      [
        'that cannot tell by itself, in which a statement has failed',
        async (client: pg.PoolClient) => {
          untold(client);
          await client.query('BEGIN');
          await client.query('SELECT 1 / 0').catch(() => {});
        },
      ],
    ])('is refused, and commits nothing: one %s', async (_, begin) => {
      const small = openPool(database.url, { max: 1 });
      const writes = [
        () => rows.claim(small, tokenOf('n', 5), key),
        () => rows.update(small, tokenOf('n', 6), key, { body: 'written' }),
        () => rows.upsert(small, tokenOf('n', 7), key, { body: 'written' }),
      ];
      await pool.query("INSERT INTO documents VALUES ($1, 'old')", [key]);
      for (const write of writes) {
        const client = await small.connect();
        await begin(client);
        void client.query('UPDATE documents SET size = 1 WHERE id = $1', [key]).catch(() => {});
        client.release();
        await expect(write()).rejects.toMatchObject({
          ...{ code: 'TENURE_STORE_REFUSED', storeCode: 'TN013' },
          message: expect.stringContaining('inside a transaction already'),
        });
        const { rows: found } = await runSql(
          database.url,
          'SELECT body, size, tenure_term FROM documents WHERE id = $1',
          [key],
        );
        expect(found).toEqual([{ body: 'old', size: null, tenure_term: null }]);
      }
      for (const write of writes) expect(await write()).not.toBe(false);
      expect(await bodyOf()).toBe('written');
      await small.end();
    });

    it('is what its own user began: that is as good', async () => {
      await pool.query("INSERT INTO documents VALUES ($1, 'old')", [key]);
      const client = await pool.connect();
      await client.query('BEGIN');
      expect(await rows.update(client, tokenOf('n', 5), key, { body: 'new' })).toBe(true);
      await client.query('COMMIT');
      client.release();
      expect(await bodyOf()).toBe('new');
    });
  });

  it('tells a row that is not there from a stale term', async () => {
    expect(await rows.update(pool, tokenOf('n', 5), key, { body: 'x' })).toBe(false);
    expect(await rows.claim(pool, tokenOf('n', 5), key)).toBe(false);
  });

  it('takes any term if it has none, and then no lower one', async () => {
    await pool.query("INSERT INTO documents VALUES ($1, 'old')", [key]);
    expect(await rows.claim(pool, tokenOf('n', 5), key)).toBe(true);
    expect(await bodyOf()).toBe('old');
    await expect(rows.claim(pool, tokenOf('n', 4), key)).rejects.toThrow(StaleTermError);
  });

  it('ends a lease that it refuses', async () => {
    await rows.upsert(pool, tokenOf('n', 6), key, {});
    const told: number[] = [];
    const lease = { ...tokenOf('n', 5), supersede: (term: number) => void told.push(term) };
    await expect(rows.claim(pool, lease, key)).rejects.toThrow(StaleTermError);
    expect(told).toEqual([6]);
  });

  it('makes a claim wait for a write that is under way, and then for nobody who is stale', async () => {
    await rows.upsert(pool, tokenOf('n', 4), key, { body: 'first' });
    const old = tokenOf('n', 5);
    const client = await pool.connect();
    await client.query('BEGIN');
    await rows.update(client, old, key, { body: 'under way' });
    const claim = rows.claim(pool, tokenOf('n', 6), key);
    await client.query('COMMIT');
    client.release();
    expect(await claim).toBe(true);
    expect(await bodyOf()).toBe('under way');
    await expect(rows.update(pool, old, key, { body: 'late' })).rejects.toThrow(StaleTermError);
  });

  it('lets one of many owners of one term in, and never a lower term after a higher', async () => {
    const owners = Array.from({ length: 8 }, (_, index) => tokenOf('n', 5 + (index % 2)));
    const done = await Promise.allSettled(
      owners.map((owner, index) => rows.upsert(pool, owner, key, { body: `${index}` })),
    );
    const sixes = done.filter((one, index) => one.status === 'fulfilled' && index % 2 === 1);
    expect(sixes).toHaveLength(1);
    const winner = done.findIndex((one, index) => one.status === 'fulfilled' && index % 2 === 1);
    expect(await bodyOf()).toBe(`${winner}`);
  });

  it('says at once that a key is not unique, and writes no second time', async () => {
    await pool.query('CREATE TABLE loose (id text, body text)');
    const loose = postgresRowGuard({ table: 'loose', key: 'id' });
    await pool.query(loose.migrationSql);
    await pool.query("INSERT INTO loose VALUES ('twice', 'a'), ('twice', 'b')");
    let sentCount = 0;
    const client = {
      query: (text: string, values: unknown[]) => {
        sentCount++;
        return pool.query(text, values);
      },
    };
    const write = loose.update(client as never, tokenOf('n', 5), 'twice', { body: 'c' });
    await expect(write).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(write).rejects.toThrow(/2 rows.*unique index/);
    expect(sentCount).toBe(1);
  });

  it('commits durably whatever the session says', async () => {
    const lax = openPool(database.url, { options: '-c synchronous_commit=off', max: 1 });
    const client = await lax.connect();
    const setting = async () => (await client.query('SHOW synchronous_commit')).rows[0];
    const writes = [
      () => rows.upsert(client, tokenOf('n', 5), key, {}),
      () => rows.claim(client, tokenOf('n', 6), key),
      () => guarded.carry(client, tokenOf('n', 6)),
    ];
    for (const write of writes) {
      await client.query('BEGIN');
      await write();
      expect(await setting()).toEqual({ synchronous_commit: 'on' });
      await client.query('COMMIT');
    }
    expect(await setting()).toEqual({ synchronous_commit: 'off' });
    client.release();
    await lax.end();
  });

  it('binds every value, however it looks', async () => {
    const body = "'); DROP TABLE documents; --";
    await rows.upsert(pool, tokenOf('n', 5), key, { body, size: 7 });
    expect(await bodyOf()).toBe(body);
    await rows.upsert(pool, tokenOf('n', 6), key, { size: null });
    expect(await bodyOf()).toBe(body);
  });

  it.each([
    ['table', { table: 'a"; DROP TABLE b', key: 'id' }],
    ['table', { table: 'a.b.c', key: 'id' }],
    ['table', { table: 3, key: 'id' }],
    ['key', { table: 'a', key: 'id"' }],
    ['key', { table: 'a' }],
  ])('refuses names that are none: %s of %j', (option, options) => {
    expect(() => postgresRowGuard(options as never)).toThrow(
      expect.objectContaining({ option }) as Error,
    );
  });

  it.each(['tenure_term', 'tenure_holder', 'id', 'b"ody', ''])(
    'refuses the column %j among the values',
    async (column) => {
      const attempt = rows.update(pool, tokenOf('n', 5), key, { [column]: 1 });
      await expect(attempt).rejects.toThrow(OptionError);
    },
  );
});

describe('a table that is guarded by the trigger', () => {
  it('takes what the guard writes', async () => {
    await guarded.upsert(pool, tokenOf('n', 5), key, { body: 'added' });
    expect(await guarded.update(pool, tokenOf('n', 6), key, { body: 'changed' })).toBe(true);
    await expect(guarded.claim(pool, tokenOf('n', 5), key)).rejects.toThrow(StaleTermError);
    expect(await bodyOf('"Guarded"')).toBe('changed');
  });

  it.each([
    'INSERT INTO "Guarded" VALUES ($1)',
    'UPDATE "Guarded" SET size = 1 WHERE id = $1',
    'DELETE FROM "Guarded" WHERE id = $1',
    'UPDATE "Guarded" SET tenure_term = 9, tenure_holder = NULL WHERE id = $1',
  ])('refuses code that forgets: %s', async (text) => {
    if (!text.startsWith('INSERT')) await guarded.upsert(pool, tokenOf('n', 5), key, {});
    await expect(pool.query(text, [key])).rejects.toMatchObject({ code: 'TN001' });
  });

  it('lets statements through that carry a fresh token, until their transaction ends', async () => {
    await guarded.upsert(pool, tokenOf('n', 5), key, { body: 'five' });
    const client = await pool.connect();
    const update = () => client.query('UPDATE "Guarded" SET body = $2 WHERE id = $1', [key, 'own']);
    await client.query('BEGIN');
    await guarded.carry(client, tokenOf('n', 6));
    await update();
    await client.query('COMMIT');
    expect(await bodyOf('"Guarded"')).toBe('own');
    await expect(guarded.update(pool, tokenOf('n', 5), key, {})).rejects.toThrow(StaleTermError);
    await expect(update()).rejects.toMatchObject({ code: 'TN001' });
    await client.query('BEGIN');
    await guarded.carry(client, tokenOf('n', 5));
    const refusal = await update().catch((error: unknown) => error);
    await client.query('ROLLBACK');
    client.release();
    expect(isRowRefusal(refusal)).toBe(true);
    const without = await pool.query('UPDATE "Guarded" SET size = 1').catch((error) => error);
    expect(isRowRefusal(without)).toBe(true);
    expect(isRowRefusal(new Error('x'))).toBe(false);
  });
});
