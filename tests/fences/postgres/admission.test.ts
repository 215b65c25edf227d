import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { OptionError, StaleTermError } from '../../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { migrationSql, postgresFence } from '../../../src/fences/postgres/index.js';
import { database, fence, pool, useDatabase } from './stage.js';
import { openPool, put, readData, wrapped } from './subject.js';
import { framesOf, kindsOf, onlyStream } from './wire.js';

useDatabase({});

/** What sessions of this database wait for a lock with. */
async function waitingQueries(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ query: string }>(
    "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows.map(({ query }) => query);
}

const untilWaiting = async (count: number) => await expect.poll(waitingQueries).toHaveLength(count);

/** Where the server can be stopped in the procedure that a transaction begins with. */
const steps = {
  'before it has the lock': '  IF NOT pg_try_advisory',
  'after it has the lock, before it reads': '  PERFORM FROM',
  'after it has read': "  IF setting = '0'",
};

let pauseKey = 4_710;

/** A fence whose procedure waits for the lock `key` at this step, and the session that has that lock until it lets go. */
async function pausedFence(step: keyof typeof steps) {
  pauseKey += 1;
  const schema = `paused_${pauseKey}`;
  const anchor = steps[step];
  const sql = migrationSql(schema);
  expect(sql.split(anchor)).toHaveLength(2);
  const pause = `  PERFORM pg_advisory_xact_lock_shared(${pauseKey});\n`;
  await pool.query(sql.replace(anchor, pause + anchor));
  const client = await pool.connect();
  await client.query('SELECT pg_advisory_lock($1)', [pauseKey]);
  const letGo = async () => {
    await client.query('SELECT pg_advisory_unlock($1)', [pauseKey]);
    client.release();
  };
  // A client that is not wrapped has prepared statements for it.
  return { paused: postgresFence<pg.PoolClient>(wrapped(pool), { schema }), letGo };
}

describe('a transaction under an installed term that the server is about to begin', () => {
  it('is refused if a successor claims the name before it has the lock, and its work never runs', async () => {
    const name = freshName('in-between');
    const token = tokenOf(name, 5);
    const { paused, letGo } = await pausedFence('before it has the lock');
    await paused.claim(token);
    const write = paused.transaction(token, (client) => put(client, name, 'stale'));
    const refusal = expect(write).rejects.toBeInstanceOf(StaleTermError);
    await untilWaiting(1);
    await paused.claim(tokenOf(name, 6));
    await letGo();
    await refusal;
    expect(await readData(database.url, name)).toBeUndefined();
  });

  it.each(['after it has the lock, before it reads', 'after it has read'] as const)(
    'is waited for by a successor %s',
    async (step) => {
      const name = freshName('side-by-side');
      const token = tokenOf(name, 5);
      const { paused, letGo } = await pausedFence(step);
      await paused.claim(token);
      const order: string[] = [];
      const write = paused.transaction(token, async (client) => {
        await put(client, name, 'written');
        order.push('written');
      });
      await untilWaiting(1);
      const claim = paused.claim(tokenOf(name, 6)).then(() => order.push('claimed'));
      await untilWaiting(2);
      await letGo();
      await Promise.all([write, claim]);
      expect(order).toEqual(['written', 'claimed']);
      expect(await readData(database.url, name)).toBe('written');
    },
  );
});

/** A pool of one client, which holds back the next message of prepared statements, but for its first frames. */
async function stoppedWire(sentCount: number) {
  const own = openPool(database.url, { max: 1 });
  const onOwn = postgresFence<pg.PoolClient>(own);
  const begin = async (token: Parameters<typeof onOwn.transaction>[0], name: string) => {
    // What is prepared need not be prepared again.
    await onOwn.transaction(token, async () => {});
    const stream = await onlyStream(own);
    let letGo = () => {};
    stream.write = (bytes: Buffer) => {
      Reflect.deleteProperty(stream, 'write');
      const frames = framesOf(bytes);
      expect(kindsOf(bytes)).toBe('BEBEBES');
      letGo = () => stream.write(Buffer.concat(frames.slice(sentCount)));
      stream.write(Buffer.concat(frames.slice(0, sentCount)));
    };
    const write = onOwn.transaction(token, (open) => put(open, name, 'written'));
    const isStopped = async () => {
      const text =
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND wait_event = 'ClientRead'";
      return (await pool.query(text)).rows.map(({ query }) => query);
    };
    await expect.poll(isStopped).toEqual([expect.stringMatching(/try_advisory/)]);
    return { write, letGo: () => letGo() };
  };
  return { begin, end: () => own.end() };
}

describe('a transaction under an installed term that begins with prepared statements', () => {
  it('is refused if a successor claims the name before it has the lock, and its work never runs', async () => {
    const name = freshName('in-between');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    const wire = await stoppedWire(3);
    const { write, letGo } = await wire.begin(token, name);
    const refusal = expect(write).rejects.toBeInstanceOf(StaleTermError);
    await fence.claim(tokenOf(name, 6));
    letGo();
    await refusal;
    expect(await readData(database.url, name)).toBeUndefined();
    await wire.end();
  });

  it('is waited for by a successor after it has the lock, before it reads', async () => {
    const name = freshName('side-by-side');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    const wire = await stoppedWire(4);
    const { write, letGo } = await wire.begin(token, name);
    const order: string[] = [];
    const written = write.then(() => order.push('written'));
    const claim = fence.claim(tokenOf(name, 6)).then(() => order.push('claimed'));
    await untilWaiting(1);
    letGo();
    await Promise.all([written, claim]);
    expect(order).toEqual(['written', 'claimed']);
    expect(await readData(database.url, name)).toBe('written');
    await wire.end();
  });
});

it('a transaction that begins while a successor waits does so behind it, not with its BEGIN', async () => {
  const name = freshName('behind');
  const token = tokenOf(name, 5);
  await fence.claim(token);
  const gate = new Gate();
  const open = fence.transaction(token, () => gate.pass());
  await gate.reached;
  const claim = fence.claim(tokenOf(name, 6));
  await untilWaiting(1);
  const late = fence.transaction(token, (client) => put(client, name, 'late'));
  const refusal = expect(late).rejects.toBeInstanceOf(StaleTermError);
  await untilWaiting(2);
  for (const query of await waitingQueries()) expect(query).not.toMatch(/^BEGIN/);
  gate.open();
  await Promise.all([open, claim, refusal]);
  expect(await readData(database.url, name)).toBeUndefined();
});

describe('a check of a token that is not installed, in a transaction with one snapshot', () => {
  it.each(['REPEATABLE READ', 'SERIALIZABLE'])('is refused at %s', async (isolation) => {
    const name = freshName('snapshot');
    const token = tokenOf(name, 6);
    await fence.claim(tokenOf(name, 5));
    const client = await pool.connect();
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    const check = fence.check(client, token);
    await expect(check).rejects.toBeInstanceOf(OptionError);
    await expect(check).rejects.toThrow(/fence\.claim/);
    await expect(client.query('SELECT 1')).rejects.toMatchObject({ code: '25P02' });
    await client.query('ROLLBACK');
    expect(await fence.installedTerm(name)).toBe(5);

    await fence.claim(token);
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    await fence.check(client, token);
    await put(client, name, 'guarded');
    await client.query('COMMIT');
    client.release();
    expect(await readData(database.url, name)).toBe('guarded');
  });
});
