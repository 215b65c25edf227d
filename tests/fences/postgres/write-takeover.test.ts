import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { StaleTermError } from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { FencingToken } from '../../../src/fences/index.js';
import { type PostgresFence, postgresFence } from '../../../src/fences/postgres/index.js';
import { store } from '../../support/frozen-writer/postgres-write.js';
import { registerFrozenRounds } from '../../support/frozen-writer/proof.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { openPool, preparedDatabase, readData } from './subject.js';
import { framesOf, kindsOf, onlyStream, overhear } from './wire.js';

const servers = () => ({ postgresUrl: inject('postgresUrl'), redisUrl: inject('redisUrl') });
registerFrozenRounds('postgres by single statements', store, { servers, roundCount: 12 });

let database: FreshDatabase;
let pool: pg.Pool;
let single: pg.Pool;
let writer: PostgresFence<pg.PoolClient>;
let fence: PostgresFence<pg.PoolClient>;
let name: string;
let token: FencingToken;

const insert = 'INSERT INTO public.data VALUES ($1, $2)';

beforeAll(async () => {
  database = await preparedDatabase(inject('postgresUrl'));
});

afterAll(async () => await database.drop());

beforeEach(async () => {
  pool = openPool(database.url);
  single = openPool(database.url, { max: 1 });
  fence = postgresFence<pg.PoolClient>(pool);
  writer = postgresFence<pg.PoolClient>(single);
  name = freshName('takeover');
  token = tokenOf(name, 5);
  await writer.claim(token);
  await writer.write(token, insert, [`${name}/first`, 'there']);
});

afterEach(async () => {
  await single.end();
  await pool.end();
});

async function countOf(condition: string): Promise<number> {
  const text = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`;
  return (await pool.query(text)).rows.length;
}

const untilWaiting = async (count: number) =>
  await expect.poll(() => countOf("wait_event_type = 'Lock'")).toBe(count);

/** The next message of the writer stops on its way behind so many of its frames. */
async function stopped(frameCount: number) {
  const stream = await onlyStream(single);
  let letGo = () => {};
  stream.write = (bytes: Buffer) => {
    Reflect.deleteProperty(stream, 'write');
    expect(kindsOf(bytes)).toBe('PBDBEBEES');
    const frames = framesOf(bytes);
    letGo = () => stream.write(Buffer.concat(frames.slice(frameCount)));
    return stream.write(Buffer.concat(frames.slice(0, frameCount)));
  };
  const write = writer.write(token, insert, [name, 'written']);
  await expect.poll(() => countOf("state = 'active' AND wait_event = 'ClientRead'")).toBe(1);
  return { write, letGo: () => letGo() };
}

describe('a write whose message is still on its way when a successor claims the name', () => {
  // Parse, Bind and Describe of the statement; Bind of the lock, which is not executed yet.
  it.each([1, 2, 3, 4])(
    'holds nothing up before it has the lock, and is refused: %i frames of 9',
    async (frameCount) => {
      const { write, letGo } = await stopped(frameCount);
      const refusal = expect(write).rejects.toBeInstanceOf(StaleTermError);
      await fence.claim(tokenOf(name, 6));
      letGo();
      await refusal;
      expect(await readData(database.url, name)).toBeUndefined();
    },
  );

  // The lock; Bind and Execute of the look; the statement, which is not committed yet.
  it.each([5, 6, 7, 8])(
    'is waited for once it has the lock, until it is committed: %i frames of 9',
    async (frameCount) => {
      const { write, letGo } = await stopped(frameCount);
      const seenByClaimant = fence.claim(tokenOf(name, 6)).then(() => readData(database.url, name));
      await untilWaiting(1);
      letGo();
      expect(await seenByClaimant).toBe('written');
      await write;
    },
  );

  it('ends behind the lock in less than a packet of the network, whatever the size of the statement', async () => {
    const { writes, end } = overhear(await onlyStream(single));
    await writer.write(token, insert, [name, 'x'.repeat(15_000)]);
    end();
    expect(writes.map(kindsOf)).toEqual(['PBDBEBEES']);
    const behind = framesOf(writes[0] ?? Buffer.alloc(0)).slice(3);
    expect(Buffer.concat(behind).length).toBeLessThan(500);
  });
});

describe('a write that is large', () => {
  /** The name of the value’s size, what is sent, and what the socket kept back of each. */
  async function sent(size: number) {
    const stream: { write(bytes: Buffer): unknown; readonly writableLength?: number } =
      await onlyStream(single);
    const kept: (number | undefined)[] = [];
    const { writes, end } = overhear(stream);
    const write = stream.write;
    stream.write = (bytes: Buffer) => {
      const result = write(bytes);
      kept.push(stream.writableLength);
      return result;
    };
    await writer.write(token, insert, [name, 'x'.repeat(size)]);
    end();
    return { kinds: writes.map(kindsOf), kept };
  }

  it('is one message while the system takes all of it at once, so that none can freeze in the middle', async () => {
    expect(await sent(16_000)).toEqual({ kinds: ['PBDBEBEES'], kept: [0] });
  });

  it('and otherwise the work of a transaction', async () => {
    const { kinds } = await sent(17_000);
    expect(kinds).not.toContain('PBDBEBEES');
    expect(kinds.at(-1)).toBe('Q');
    expect(await readData(database.url, name)).toHaveLength(17_000);
  });
});

it('a write behind bytes that the socket still keeps back is the work of a transaction', async () => {
  const stream = await onlyStream(single);
  const { writes, end } = overhear(stream);
  Object.defineProperty(stream, 'writableLength', { value: 1, configurable: true });
  await writer.write(token, insert, [name, 'there']);
  Reflect.deleteProperty(stream, 'writableLength');
  end();
  expect(writes.map(kindsOf)).not.toContain('PBDBEBEES');
  expect(await readData(database.url, name)).toBe('there');
});

describe('a write while another term is being installed', () => {
  it.each(['ROLLBACK', 'COMMIT'])('executes nothing until that has ended: %s', async (end) => {
    const successor = await pool.connect();
    await successor.query('BEGIN');
    await fence.check(successor, tokenOf(name, 6));
    const attempt = writer.write(token, insert, [name, 'written']).catch((error) => error);
    await untilWaiting(1);
    expect(await readData(database.url, name)).toBeUndefined();
    await successor.query(end);
    successor.release();
    const outcome = await attempt;
    if (end === 'COMMIT') expect(outcome).toBeInstanceOf(StaleTermError);
    expect(await readData(database.url, name)).toBe(end === 'COMMIT' ? undefined : 'written');
  });
});

it('a write under a term that it does not know to be installed looks at it before its statement begins', async () => {
  const fresh = openPool(database.url, { max: 1 });
  const stream = await onlyStream(fresh);
  const onFresh = postgresFence<pg.PoolClient>(fresh);
  const kinds = async () => {
    const { writes, end } = overhear(stream);
    await onFresh.write(token, 'SELECT 1');
    end();
    return writes.map(kindsOf);
  };
  expect((await kinds())[0]).toMatch(/^(CP)+BEBEBES$/);
  expect(await kinds()).toEqual(['CPCPPBDBEBEES']);
  await fresh.end();
});
