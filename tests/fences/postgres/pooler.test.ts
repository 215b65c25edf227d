import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StaleTermError } from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import { postgresFence } from '../../../src/fences/postgres/index.js';
import {
  type PgBouncer,
  type PostgresServer,
  startPgBouncer,
  startPostgres,
} from '../../support/servers/index.js';
import { openPool, prepare, put, readData } from './subject.js';

let server: PostgresServer;
let pooler: PgBouncer;

beforeAll(async () => {
  server = await startPostgres({ fsync: false });
  pooler = await startPgBouncer(server, { poolMode: 'transaction', poolSize: 2 });
  await prepare(server.url);
});

afterAll(async () => {
  await pooler.stop();
  await server.stop();
});

describe('the PostgreSQL fence behind a pooler in transaction mode', () => {
  it('guards each transaction, though its session has not prepared what the client prepared in another', async () => {
    const direct = postgresFence(server.url);
    const token = tokenOf('moved', 5);
    await direct.claim(token);
    const pool = openPool(pooler.url, { max: 1 });
    const fence = postgresFence<pg.PoolClient>(pool);
    const write = (key: string) =>
      fence.transaction(token, async (client) => {
        await put(client, key, 'there');
        return await sessionOf(client);
      });
    // Of the two sessions one is held by somebody else at any time: each transaction is in the other one than the last.
    let holder = await hold();
    for (let round = 1; round <= 6; round++) {
      const used = await write(`moved/${round}`);
      expect(used).not.toBe(holder.session);
      const next = await hold();
      expect(next.session).toBe(used);
      await holder.release();
      holder = next;
      expect(await readData(server.url, `moved/${round}`)).toBe('there');
    }
    await direct.claim(tokenOf('moved', 6));
    await expect(write('late')).rejects.toBeInstanceOf(StaleTermError);
    expect(await readData(server.url, 'late')).toBeUndefined();
    await holder.release();
    await pool.end();
    await direct.close();
  });

  it('guards each write of one statement, whose session may have prepared nothing of it', async () => {
    const direct = postgresFence(server.url);
    const token = tokenOf('single', 5);
    await direct.claim(token);
    const pool = openPool(pooler.url, { max: 1 });
    const fence = postgresFence<pg.PoolClient>(pool);
    const insert = 'INSERT INTO public.data VALUES ($1, $2) RETURNING pg_backend_pid() AS pid';
    const write = async (key: string) =>
      (await fence.write<{ pid: number }>(token, insert, [key, 'there'])).rows[0]?.pid;
    // As above: each of them is in the other session than the last.
    let holder = await hold();
    for (let round = 1; round <= 8; round++) {
      const used = await write(`single/${round}`);
      expect(used).not.toBe(holder.session);
      const next = await hold();
      expect(next.session).toBe(used);
      await holder.release();
      holder = next;
      expect(await readData(server.url, `single/${round}`)).toBe('there');
    }
    await direct.claim(tokenOf('single', 6));
    await expect(write('too late')).rejects.toBeInstanceOf(StaleTermError);
    expect(await readData(server.url, 'too late')).toBeUndefined();
    await holder.release();
    await pool.end();
    await direct.close();
  });
});

async function sessionOf(client: pg.ClientBase): Promise<number> {
  return (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
}

/** Holds a session of the pooler with a transaction. */
async function hold() {
  const client = new pg.Client(pooler.url);
  await client.connect();
  await client.query('BEGIN');
  const release = async () => {
    await client.query('ROLLBACK');
    await client.end();
  };
  return { session: await sessionOf(client), release };
}
