import { Pool } from 'pg';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { Once } from '../../src/once/index.js';
import { postgresOnce } from '../../src/once/postgres/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';

const key = 'charge/order-17';
let database: FreshDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  pool = new Pool({ connectionString: database.url, max: 4 });
  pool.on('error', () => {});
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

it('a schema without keys is refused, with what to do; migrate() makes them, many times at once', async () => {
  const schema = 'shop';
  const store = postgresOnce(database.url, { schema });
  const once = new Once(store);
  const effect = () => expect.fail('it was called');
  await expect(once.do(key, effect)).rejects.toMatchObject({
    ...{ code: 'TENURE_STORE_MISCONFIGURED', message: expect.stringContaining('migrate()') },
  });
  const others = [1, 2, 3].map(() => postgresOnce(pool, { schema }));
  await Promise.all([store, ...others].map((one) => one.migrate()));
  await store.migrate();
  const late = new Once(postgresOnce(database.url, { schema }));
  expect(await late.do(key, () => 1)).toBe(1);
  await pool.query(`UPDATE shop.versions SET version = 99 WHERE part = 'once'`);
  await expect(store.migrate()).rejects.toThrow(/newer tenure/);
  const newer = new Once(postgresOnce(database.url, { schema }));
  await expect(newer.do(key, () => 1)).rejects.toThrow(/newer tenure/);
  for (const one of [once, late, newer]) await one.close();
});

it('keys are kept through a pool of the user’s, which stays open, and are durable', async () => {
  const store = postgresOnce(pool);
  await store.migrate();
  const once = new Once(store);
  expect(await once.do(key, () => 'first')).toBe('first');
  await once.close();
  const again = new Once(postgresOnce(new URL(database.url)));
  expect(await again.do(key, () => 'second')).toBe('first');
  await again.close();
  await pool.query('SELECT 1');
});

it('a commit is durable whatever the role has for synchronous_commit', async () => {
  const url = new URL(database.url);
  url.searchParams.set('options', '-c synchronous_commit=off');
  const seen: string[] = [];
  await pool.query(`CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE NOTICE 'synchronous_commit=%', current_setting('synchronous_commit'); RETURN NULL; END $$;
    CREATE TRIGGER watch AFTER INSERT OR UPDATE ON tenure.once_keys FOR EACH STATEMENT EXECUTE FUNCTION watch()`);
  const own = new Pool({ connectionString: url.href, max: 1 });
  own.on('connect', (client) => void client.on('notice', ({ message }) => seen.push(`${message}`)));
  const once = new Once(postgresOnce(own));
  await once.do('durable', () => 1);
  await once.close();
  await own.end();
  await pool.query('DROP TRIGGER watch ON tenure.once_keys');
  expect(seen).toHaveLength(2);
  expect(new Set(seen)).toEqual(new Set(['synchronous_commit=on']));
});

it('many who want many keys at once have each effect once', async () => {
  const processes = [1, 2, 3].map(() => new Once(postgresOnce(database.url)));
  const effects: string[] = [];
  const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`);
  await Promise.all(
    processes.flatMap((once) =>
      keys.map((one) => once.do(one, () => effects.push(one), { waitMs: 20_000 })),
    ),
  );
  expect(effects.sort()).toEqual([...keys].sort());
  for (const once of processes) await once.close();
});
