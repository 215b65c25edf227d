import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type pg from 'pg';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  it,
  vi,
} from 'vitest';
import { OutcomeUnknownError, StoreRefusedError } from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type PostgresFence, postgresFence } from '../../../src/fences/postgres/index.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { openPool, preparedDatabase, put, readData, wrapped } from './subject.js';

let database: FreshDatabase;
let pool: pg.Pool;
let fence: PostgresFence<pg.PoolClient>;

beforeAll(async () => {
  database = await preparedDatabase(inject('postgresUrl'));
});

afterAll(async () => await database.drop());

type Token = ReturnType<typeof tokenOf>;

async function doNothing(): Promise<void> {}

const clients = {
  'of pg, which is watched': (inner: pg.Pool) => inner,
  'that is wrapped, where a mark is left': wrapped,
};

describe.each(Object.entries(clients))('on a client %s', (kind, take) => {
  const isWatched = kind.startsWith('of pg');

  beforeEach(() => {
    pool = openPool(database.url);
    fence = postgresFence<pg.PoolClient>(take(pool), {
      idleInTransactionTimeoutMs: 10_000,
      waitTimeoutMs: 15_000,
    });
  });

  afterEach(async () => {
    await fence.close();
    await pool.end();
  });

  describe('a transaction under the PostgreSQL fence', () => {
    /** A `new` term is not watched on any client: its transaction begins with marks. */
    async function tokenUnder(standing: string, name: string): Promise<Token> {
      const token = tokenOf(name, 5);
      if (standing === 'claimed') await fence.claim(token);
      return token;
    }
    const standings = ['claimed', 'new'];

    it('that committed is no failure though its work released the client itself', async () => {
      const name = freshName('released');
      await fence.transaction(await tokenUnder('claimed', name), async (client) => {
        await put(client, name, 'kept');
        client.release();
      });
      expect(await readData(database.url, name)).toBe('kept');
    });

    it('has the error of its work though that released the client itself', async () => {
      const name = freshName('released');
      const own = new Error('of the work');
      const attempt = fence.transaction(await tokenUnder('claimed', name), async (client) => {
        await put(client, name, 'lost');
        client.release();
        throw own;
      });
      await expect(attempt).rejects.toBe(own);
      expect(await readData(database.url, name)).toBeUndefined();
    });

    it.each(standings)(
      'finds out that a statement had failed and its error was swallowed, under a %s term',
      async (standing) => {
        const name = freshName('swallowed');
        const token = await tokenUnder(standing, name);
        const attempt = fence.transaction(token, async (client) => {
          await put(client, name, 'lost');
          await client.query('SELECT 1 / 0').catch(() => {});
        });
        await expect(attempt).rejects.toMatchObject({
          code: 'TENURE_STORE_REFUSED',
          storeCode: '25P02',
        });
        expect(await readData(database.url, name)).toBeUndefined();
      },
    );

    it.each(standings)(
      'finds out that the work committed on its own, under a %s term',
      async (standing) => {
        const token = await tokenUnder(standing, freshName('own'));
        const attempt = fence.transaction(token, async (client) => {
          await client.query('COMMIT');
        });
        await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
        const cause =
          isWatched && standing === 'claimed'
            ? { message: 'the transaction that was begun is over' }
            : { code: '34000' };
        await expect(attempt).rejects.toMatchObject({ cause });
        await expect(attempt).rejects.toThrow(/ended the transaction itself.* is committed/);
      },
    );

    const goingOn = ['COMMIT; BEGIN', 'COMMIT AND CHAIN', 'ROLLBACK; BEGIN', 'ROLLBACK AND CHAIN'];
    it.each(goingOn.flatMap((text) => standings.map((standing) => [text, standing] as const)))(
      'finds out that the work went on in another transaction, by %s, under a %s term',
      async (text, standing) => {
        const name = freshName('another');
        const token = await tokenUnder(standing, name);
        const attempt = fence.transaction(token, async (client) => {
          await put(client, `${name}/before`, 'there');
          await client.query(text);
          await put(client, name, 'unguarded');
        });
        await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
        await expect(attempt).rejects.toThrow(/ended the transaction itself/);
        expect(await readData(database.url, name)).toBeUndefined();
        const isCommitted = text.startsWith('COMMIT');
        expect(await readData(database.url, `${name}/before`)).toBe(
          isCommitted ? 'there' : undefined,
        );
      },
    );

    const mine = new Error('mine');
    const fail = async (client: pg.PoolClient) => {
      await client.query('SELECT 1 / 0');
    };
    const afterwards: Record<string, (client: pg.PoolClient) => Promise<unknown>> = {
      throws: () => Promise.reject(mine),
      'has a statement that fails': fail,
      'begins another transaction and throws': async (client) => {
        await client.query('BEGIN');
        throw mine;
      },
      'begins another transaction and has a statement that fails': async (client) => {
        await client.query('BEGIN');
        await fail(client);
      },
      'begins another transaction and swallows an error in it': async (client) => {
        await client.query('BEGIN');
        await fail(client).catch(() => {});
      },
    };
    it.each(
      Object.keys(afterwards).flatMap((how) => [
        [how, 'claimed'],
        [how, 'new'],
      ]),
    )(
      'never says that nothing was written after work that commits and then %s, under a %s term',
      async (how, standing) => {
        const name = freshName('commits');
        const token = tokenOf(name, 5);
        if (standing === 'claimed') await fence.claim(token);
        let thrown: unknown;
        const attempt = fence.transaction(token, async (client) => {
          await put(client, name, 'there');
          await client.query('COMMIT');
          await afterwards[how]?.(client).catch((error: unknown) => {
            thrown = error;
            throw error;
          });
        });
        await expect(attempt).rejects.toBeInstanceOf(OutcomeUnknownError);
        await expect(attempt).rejects.toThrow(/ended the transaction itself/);
        if (thrown === mine) await expect(attempt).rejects.toMatchObject({ cause: mine });
        expect(await readData(database.url, name)).toBe('there');
        await fence.transaction(token, async () => {});
      },
    );

    it.each([
      ['throws', 'claimed'],
      ['throws', 'new'],
      ['has a statement that fails', 'claimed'],
      ['has a statement that fails', 'new'],
    ])(
      'passes on what work that %s throws, under a %s term, and keeps the connection',
      async (how, standing) => {
        const name = freshName('fails');
        const token = tokenOf(name, 5);
        if (standing === 'claimed') await fence.claim(token);
        // Something was committed on the same connection before.
        await fence.transaction(tokenOf(freshName('before'), 5), async () => {});
        let thrown: unknown;
        const attempt = fence.transaction(token, async (client) => {
          await put(client, name, 'lost');
          await afterwards[how]?.(client).catch((error: unknown) => {
            thrown = error;
            throw error;
          });
        });
        const error = await attempt.catch((failure: unknown) => failure);
        expect(error).toBeDefined();
        expect(error).toBe(thrown);
        expect(await readData(database.url, name)).toBeUndefined();
        expect(pool.totalCount).toBe(1);
      },
    );

    describe.each(['writes', 'a write and a statement that failed'])(
      'on a client that was released inside a transaction, with %s',
      (what) => {
        it.each([
          [
            'a transaction under a claimed term',
            (token: Token) => fence.transaction(token, doNothing),
          ],
          [
            'a transaction under a new term',
            ({ name }: Token) => fence.transaction(tokenOf(name, 6), doNothing),
          ],
          ['a claim', (token: Token) => fence.claim(token)],
          ['the forgetting of effects', () => fence.forgetEffects(1_000_000_000)],
        ])('%s commits nothing of it, says so, and goes on with the next one', async (_, step) => {
          const name = freshName('left-open');
          const token = tokenOf(name, 5);
          await fence.claim(token);
          const client = await pool.connect();
          await client.query('BEGIN');
          await put(client, name, 'unchecked');
          if (what !== 'writes') await fail(client).catch(() => {});
          client.release();
          const attempt = step(token);
          await expect(attempt).rejects.toBeInstanceOf(StoreRefusedError);
          await expect(attempt).rejects.toMatchObject({ storeCode: 'TN013' });
          await expect(attempt).rejects.toThrow(/inside a transaction already/);
          expect(pool.totalCount).toBe(0);
          expect(await readData(database.url, name)).toBeUndefined();
          await step(token);
          expect(await readData(database.url, name)).toBeUndefined();
        });
      },
    );

    it('may go back to a savepoint, which ends no transaction', async () => {
      const name = freshName('savepoint');
      const token = tokenOf(name, 5);
      await fence.claim(token);
      await fence.transaction(token, async (client) => {
        await put(client, name, 'kept');
        await client.query('SAVEPOINT here');
        await put(client, name, 'taken back');
        await client.query('ROLLBACK TO SAVEPOINT here');
      });
      expect(await readData(database.url, name)).toBe('kept');
      const attempt = fence.transaction(token, async (client) => {
        await client.query('SAVEPOINT here');
        await put(client, name, 'thrown away');
        await client.query('ROLLBACK TO SAVEPOINT here');
        throw mine;
      });
      await expect(attempt).rejects.toBe(mine);
      expect(await readData(database.url, name)).toBe('kept');
      expect(pool.totalCount).toBe(1);
    });

    it.each(['ROLLBACK AND CHAIN', 'ROLLBACK; BEGIN', 'COMMIT AND CHAIN'])(
      'finds out that a transaction with savepoints was left by %s',
      async (text) => {
        const name = freshName('left');
        const token = tokenOf(name, 5);
        await fence.claim(token);
        for (const end of ['returns', 'throws']) {
          const attempt = fence.transaction(token, async (client) => {
            await client.query('SAVEPOINT here');
            await client.query(text);
            await put(client, name, 'unguarded');
            if (end === 'throws') throw mine;
          });
          await expect(attempt, end).rejects.toThrow(/ended the transaction itself/);
        }
        expect(await readData(database.url, name)).toBeUndefined();
      },
    );

    it('takes the end of all cursors for its own end only where that is its mark', async () => {
      const name = freshName('close-all');
      const token = tokenOf(name, 5);
      await fence.claim(token);
      const attempt = fence.transaction(token, async (client) => {
        await put(client, name, 'written');
        await client.query('CLOSE ALL');
      });
      if (isWatched) await attempt;
      else await expect(attempt).rejects.toThrow(/ended the transaction itself/);
      expect(await readData(database.url, name)).toBe(isWatched ? 'written' : undefined);
    });
  });
});

describe('a transaction on a client of pg', () => {
  beforeEach(() => {
    pool = openPool(database.url, { max: 1 });
    fence = postgresFence<pg.PoolClient>(pool);
  });

  afterEach(async () => {
    await fence.close();
    await pool.end();
  });

  /** Of the connection of the only client. */
  async function connectionOf(): Promise<NodeJS.EventEmitter> {
    const client = await pool.connect();
    client.release();
    return Reflect.get(client, 'connection');
  }

  async function settingOf(client: pg.ClientBase | pg.Pool): Promise<string> {
    const text = "SELECT current_setting('tenure.transaction', true) AS mark";
    return (await client.query(text)).rows[0].mark;
  }

  it('takes three messages, and leaves no listener and no setting', async () => {
    const token = tokenOf(freshName('messages'), 5);
    await fence.claim(token);
    const connection = await connectionOf();
    // That of the claim, which is a transaction of another kind.
    const mark = await settingOf(pool);
    const before = connection.listenerCount('commandComplete');
    const tags: string[] = [];
    let messageCount = 0;
    for (let round = 0; round < 2; round++) {
      tags.length = 0;
      messageCount = 0;
      const onTag = ({ text }: { text: string }) => tags.push(text);
      const onReady = () => {
        messageCount += 1;
      };
      connection.on('commandComplete', onTag).on('readyForQuery', onReady);
      await fence.transaction(token, (client) => client.query('SELECT 1'));
      connection.off('commandComplete', onTag).off('readyForQuery', onReady);
    }
    expect(tags).toEqual(['BEGIN', 'SELECT 1', 'SELECT 1', 'SELECT 1', 'COMMIT']);
    expect(messageCount).toBe(3);
    expect(connection.listenerCount('commandComplete')).toBe(before);
    const failing = fence.transaction(token, () => Promise.reject(new Error('mine')));
    await expect(failing).rejects.toThrow('mine');
    expect(connection.listenerCount('commandComplete')).toBe(before);
    await fence.transaction(token, async (client) => {
      expect(await settingOf(client)).toBe(mark);
    });
  });

  it('is limited all the same in a session that has lost the limit with which its pool opened it', async () => {
    const token = tokenOf(freshName('limited'), 5);
    await fence.claim(token);
    const setting = 'idle_in_transaction_session_timeout';
    const limited = openPool(database.url, { max: 1, [setting]: 30_000 });
    const tags: string[] = [];
    const client = await limited.connect();
    const connection: NodeJS.EventEmitter = Reflect.get(client, 'connection');
    connection.on('commandComplete', ({ text }: { text: string }) => tags.push(text));
    client.release();
    const onLimited = postgresFence<pg.PoolClient>(limited);
    const seen = async () => {
      tags.length = 0;
      const show = (open: pg.PoolClient) => open.query(`SHOW ${setting}`);
      const { rows } = await onLimited.transaction(token, show);
      return rows[0][setting];
    };
    const shortest = ['BEGIN', 'SELECT 1', 'SELECT 1', 'SHOW', 'COMMIT'];
    expect([await seen(), tags]).toEqual(['30s', shortest]);
    await limited.query(`SET ${setting} = 0`);
    // That it has found out costs a begin more, once.
    expect(await seen()).toBe('30s');
    expect(tags.length).toBeGreaterThan(shortest.length);
    expect([await seen(), tags]).toEqual(['30s', shortest]);
    await limited.end();
  });

  it('goes on where its prepared statements are gone', async () => {
    const name = freshName('deallocated');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    for (let round = 1; round <= 5; round++) {
      await fence.transaction(token, (client) => put(client, name, `round ${round}`));
      expect(await readData(database.url, name)).toBe(`round ${round}`);
      await pool.query('DEALLOCATE ALL');
    }
    await expect(fence.transaction(tokenOf(name, 4), doNothing)).rejects.toThrow(/term 5/);
  });

  it('prepares them again however often they are lost, if they are of use in between', async () => {
    const token = tokenOf(freshName('lost-at-times'), 5);
    await fence.claim(token);
    for (let round = 1; round <= 4; round++) {
      for (let use = 1; use <= 3; use++) await fence.transaction(token, doNothing);
      await pool.query('DEALLOCATE ALL');
    }
    await fence.transaction(token, doNothing);
    const connection = await connectionOf();
    const tags: string[] = [];
    connection.on('commandComplete', ({ text }: { text: string }) => tags.push(text));
    await fence.transaction(token, doNothing);
    expect(tags).toEqual(['BEGIN', 'SELECT 1', 'SELECT 1', 'COMMIT']);
  });

  it('keeps nothing of a token that it was given before', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const seen: WeakRef<object>[] = [];
    const use = async () => {
      const token = tokenOf(freshName('seen'), 5);
      await fence.claim(token);
      await fence.transaction(token, doNothing);
      seen.push(new WeakRef(token));
    };
    for (let round = 1; round <= 3; round++) await use();
    await vi.waitFor(
      () => {
        collect();
        expect(seen.filter((token) => token.deref() !== undefined).length).toBeLessThan(3);
      },
      { timeout: 10_000 },
    );
  });

  it('commits what the work did even if that deallocated everything', async () => {
    const name = freshName('deallocating');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    await fence.transaction(token, async (client) => {
      await put(client, name, 'written');
      await client.query('DEALLOCATE ALL');
    });
    expect(await readData(database.url, name)).toBe('written');
  });
});
