import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { OutcomeUnknownError, StaleTermError } from '../../../src/errors/index.js';
import { freshName, settlesSoon, tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { FencingToken } from '../../../src/fences/index.js';
import { type PostgresFence, postgresFence } from '../../../src/fences/postgres/index.js';
import { type PostgresServer, startPostgres } from '../../support/servers/index.js';
import { holdCommits, letCommits } from './held-commits.js';
import { openPool, prepare, put, readData } from './subject.js';

let server: PostgresServer;
let pool: pg.Pool;
let fence: PostgresFence<pg.PoolClient>;
let name: string;
let token: FencingToken;
let inDoubt: Promise<unknown>;

beforeAll(async () => {
  server = await startPostgres();
  await prepare(server.url);
});

afterAll(async () => await server.stop());

beforeEach(async () => {
  pool = openPool(server.url);
  fence = postgresFence<pg.PoolClient>(pool, { timeoutMs: 1000 });
  name = freshName('doubt');
  token = tokenOf(name, 5);
  await fence.claim(token);
  await holdCommits(server.url);
  inDoubt = fence.transaction(token, (client) => put(client, name, 'in doubt'));
  await expect(inDoubt).rejects.toBeInstanceOf(OutcomeUnknownError);
});

afterEach(async () => {
  await letCommits(server.url);
  await fence.close();
  await pool.end();
});

it('a look under the same term is not final: it passes beside the commit that is in doubt', async () => {
  const client = await pool.connect();
  await client.query('BEGIN');
  await fence.check(client, token);
  const look = () => client.query('SELECT value FROM public.data WHERE key = $1', [name]);
  expect((await look()).rows).toEqual([]);
  await letCommits(server.url);
  await expect.poll(async () => (await look()).rows.length).toBe(1);
  await client.query('ROLLBACK');
  client.release();
});

it('a claim with a higher term waits for the commit that is in doubt, and what is read then stays', async () => {
  const next = tokenOf(name, 6);
  const claim = postgresFence(server.url, { timeoutMs: 10_000 });
  const claimed = claim.claim(next);
  expect(await settlesSoon(claimed)).toBe(false);
  expect(await readData(server.url, name)).toBeUndefined();
  await letCommits(server.url);
  await claimed;
  expect(await readData(server.url, name)).toBe('in doubt');
  await expect(fence.claim(token)).rejects.toBeInstanceOf(StaleTermError);
  await claim.close();
});
