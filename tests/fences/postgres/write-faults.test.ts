import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { OutcomeUnknownError, UnreachableError } from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { FencingToken } from '../../../src/fences/index.js';
import { type PostgresFence, postgresFence } from '../../../src/fences/postgres/index.js';
import { FaultProxy } from '../../support/proxy.js';
import { type FreshDatabase, startPostgres } from '../../support/servers/index.js';
import { holdCommits } from './held-commits.js';
import { openPool, prepare, preparedDatabase, put, readData, runSql } from './subject.js';
import { kindsOf, onlyStream, overhear } from './wire.js';

let database: FreshDatabase;
let proxy: FaultProxy;
let pool: pg.Pool;
let fence: PostgresFence<pg.PoolClient>;
let name: string;
let token: FencingToken;

const insert = 'INSERT INTO public.data VALUES ($1, $2)';
/** Of a write of one message: 900 ms. */
const hasty = { idleInTransactionTimeoutMs: 100, waitTimeoutMs: 300, timeoutMs: 300 };

beforeAll(async () => {
  database = await preparedDatabase(inject('postgresUrl'));
});

afterAll(async () => await database.drop());

beforeEach(async () => {
  const url = new URL(database.url);
  proxy = await FaultProxy.start(Number(url.port));
  url.port = String(proxy.port);
  pool = openPool(url.href, { max: 1 });
  fence = postgresFence<pg.PoolClient>(pool, hasty);
  name = freshName('fault');
  token = tokenOf(name, 5);
  await fence.claim(token);
  await fence.write(token, insert, [`${name}/first`, 'there']);
});

afterEach(async () => {
  await fence.close();
  await pool.end();
  await proxy.stop();
});

/** Every message of a write of one, from now on. */
async function messagesOf(of: pg.Pool): Promise<() => string[]> {
  const { writes } = overhear(await onlyStream(of));
  return () => writes.map(kindsOf).filter((kinds) => kinds.includes('P'));
}

/** Someone else has the row that a write wants. */
async function holdRow(key: string) {
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query('BEGIN');
  await put(client, key, 'held');
  return {
    async letGo() {
      await client.query('ROLLBACK');
      await client.end();
    },
  };
}

const isWaiting = async () =>
  (await runSql(database.url, "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).rows
    .length;

describe('a write that the server gives no answer to', () => {
  it('is unknown, as it may have been executed, and is not sent again', async () => {
    const messages = await messagesOf(pool);
    proxy.down.swallow();
    const attempt = fence.write(token, insert, [name, 'there']);
    await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
    await expect(attempt).rejects.toThrow(/unknown outcome: PostgreSQL gave no answer within 900/);
    expect(messages()).toHaveLength(1);
    expect(pool.totalCount).toBe(0);
    expect(await readData(database.url, name)).toBe('there');
  });

  it('is unknown, as the message may have been lost', async () => {
    proxy.up.swallow();
    const attempt = fence.write(token, insert, [name, 'never']);
    await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(await readData(database.url, name)).toBeUndefined();
  });

  it('is unknown when the connection breaks meanwhile', async () => {
    proxy.down.swallow();
    const attempt = fence.write(token, insert, [name, 'there']);
    const outcome = expect(attempt).rejects.toThrow(/unknown outcome: the connection.*was lost/);
    await proxy.down.caught();
    proxy.reset();
    await outcome;
    await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(await readData(database.url, name)).toBe('there');
  });

  it('is unknown when a limit of the user’s pool is over, and may be executed after it', async () => {
    const limited = openPool(database.url, { max: 1, query_timeout: 2000 });
    const onLimited = postgresFence<pg.PoolClient>(limited);
    await onLimited.claim(token);
    const row = await holdRow(name);
    const attempt = onLimited.write(token, insert, [name, 'late']);
    await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(limited.totalCount).toBe(0);
    await row.letGo();
    await limited.end();
  });

  it('was certainly not written if it took several messages, of which the commit was not sent', async () => {
    const row = await holdRow(name);
    // Nobody has installed it, so it goes the long way.
    const attempt = fence.write(tokenOf(name, 6), insert, [name, 'late']);
    await expect(attempt).rejects.toBeInstanceOf(UnreachableError);
    await expect(attempt).rejects.toThrow(/nothing was written/);
    expect(pool.totalCount).toBe(0);
    await row.letGo();
    await expect.poll(isWaiting).toBe(0);
    expect(await readData(database.url, name)).toBeUndefined();
  });

  it('was certainly not written if it was not sent, and never is', async () => {
    const client = await pool.connect();
    const row = await holdRow(`${name}/row`);
    client.on('error', () => {});
    const busy = put(client, `${name}/row`, 'of somebody who sends on').catch(() => 'lost');
    await expect.poll(isWaiting).toBe(1);
    client.release();
    const attempt = fence.write(token, insert, [name, 'never']);
    await expect(attempt).rejects.toBeInstanceOf(UnreachableError);
    await expect(attempt).rejects.toThrow(/nothing was written/);
    await row.letGo();
    expect(await busy).toBe('lost');
    expect(await readData(database.url, name)).toBeUndefined();
  });

  it('is unknown when its session is ended by somebody, whoever says so', async () => {
    const row = await holdRow(name);
    const attempt = fence.write(token, insert, [name, 'never']);
    const outcome = expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
    await expect.poll(isWaiting).toBe(1);
    await runSql(
      database.url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    );
    await outcome;
    await row.letGo();
    expect(pool.totalCount).toBe(0);
  });
});

it('a write whose rows a parser cannot read was committed, and says so', async () => {
  const fail = () => {
    throw new Error('not mine');
  };
  const getTypeParser = (type: number) =>
    type === pg.types.builtins.TIMESTAMPTZ ? fail : (text: string) => text;
  const odd = openPool(database.url, { max: 1, types: { getTypeParser } } as pg.PoolConfig);
  const onOdd = postgresFence<pg.PoolClient>(odd);
  await onOdd.claim(token);
  const text = 'INSERT INTO public.data VALUES ($1, $2) RETURNING now()';
  const attempt = onOdd.write(token, text, [name, 'there']);
  await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
  await expect(attempt).rejects.toThrow(/was committed, but its rows could not be read/);
  expect(await readData(database.url, name)).toBe('there');
  await odd.end();
});

it('a write whose commit waits for a standby that is not there is unknown', async () => {
  const server = await startPostgres();
  await prepare(server.url);
  const own = openPool(server.url, { max: 1 });
  const onOwn = postgresFence<pg.PoolClient>(own, hasty);
  await onOwn.claim(token);
  await holdCommits(server.url);
  const attempt = onOwn.write(token, insert, [name, 'in doubt']);
  await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
  await own.end();
  await server.stop();
});
