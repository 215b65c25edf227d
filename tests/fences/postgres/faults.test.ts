import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  OutcomeUnknownError,
  StaleTermError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type PostgresFence, postgresFence } from '../../../src/fences/postgres/index.js';
import { type Runtime, realRuntime } from '../../../src/time/index.js';
import { FaultProxy, type Lane } from '../../support/proxy.js';
import { type PostgresServer, startPostgres } from '../../support/servers/index.js';
import { holdCommits, letCommits } from './held-commits.js';
import { openPool, prepare, put, readData } from './subject.js';

let server: PostgresServer;
let proxy: FaultProxy;
let proxyUrl: string;
let fence: PostgresFence<pg.PoolClient>;

beforeAll(async () => {
  // With commits that return before they are on disk, and a writer that is in no hurry to put them there.
  server = await startPostgres({
    settings: { synchronous_commit: 'off', wal_writer_delay: '10s' },
  });
  await prepare(server.url);
});

afterAll(async () => await server.stop());

beforeEach(async () => {
  proxy = await FaultProxy.start(server.port);
  const url = new URL(server.url);
  url.port = String(proxy.port);
  proxyUrl = url.href;
  fence = postgresFence<pg.PoolClient>(proxyUrl, { timeoutMs: 1000 });
});

afterEach(async () => {
  await fence.close();
  await proxy.stop();
});

/** The password of the server must be in nothing that is thrown, however deep. */
function assertNoSecret(error: unknown): void {
  const { password } = new URL(server.url);
  const texts: unknown[] = [];
  for (let one = error; one instanceof Error; one = one.cause) {
    texts.push(one.message, one.stack, JSON.stringify(one));
  }
  expect(texts.join('\n')).not.toContain(password);
}

/** The request or the answer is surely on its way, and then the connection breaks. */
function resetWhenCaught(lane: Lane): void {
  lane.caught().then(
    () => proxy.reset(),
    () => {},
  );
}

async function failureOf(attempt: Promise<unknown>): Promise<unknown> {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  assertNoSecret(error);
  return error;
}

describe('a connection that is lost under the PostgreSQL fence', () => {
  it('before the commit means that nothing was written', async () => {
    const name = freshName('early');
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      await put(client, name, 'lost');
      const gone = new Promise((resolve) => client.once('error', resolve));
      proxy.reset();
      await gone;
    });
    expect(await failureOf(attempt)).toBeInstanceOf(UnreachableError);
    expect(await readData(server.url, name)).toBeUndefined();
    await fence.claim(tokenOf(name, 4));
  });

  it('where a begin is rolled back, as its other statements were lost, means one wait and not several', async () => {
    const pool = openPool(proxyUrl, { max: 1 });
    let waitCount = 0;
    const runtime: Runtime = {
      now: () => realRuntime.now(),
      setTimer: (delayMs, callback, options) =>
        realRuntime.setTimer(
          delayMs,
          () => {
            waitCount += 1;
            callback();
          },
          options,
        ),
      random: () => realRuntime.random(),
      randomHex: (bytes) => realRuntime.randomHex(bytes),
    };
    const one = postgresFence<pg.PoolClient>(pool, { timeoutMs: 1000, runtime });
    const token = tokenOf(freshName('lost'), 5);
    await one.claim(token);
    await one.transaction(token, async () => {});
    const { rows } = await pool.query<{ name: string }>(
      "SELECT name FROM pg_prepared_statements WHERE statement LIKE '%try_advisory%'",
    );
    expect(rows).toHaveLength(1);
    await pool.query(`DEALLOCATE "${rows[0]?.name}"`);
    const sent: string[] = [];
    proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => {
        sent.push(bytes.toString('latin1'));
        return bytes.includes('ROLLBACK') ? 'swallow' : 'none';
      },
    });
    const attempt = one.transaction(token, async () => {});
    expect(await failureOf(attempt)).toBeInstanceOf(UnreachableError);
    expect(sent.filter((text) => text.includes('ROLLBACK'))).toHaveLength(1);
    expect(waitCount).toBe(1);
    await one.close();
    await pool.end();
  });

  it('after the commit was sent is an unknown outcome, which may be that it was executed', async () => {
    const name = freshName('executed');
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      await put(client, name, 'there');
      proxy.down.swallow();
      resetWhenCaught(proxy.down);
    });
    expect(await failureOf(attempt)).toBeInstanceOf(OutcomeUnknownError);
    expect(await readData(server.url, name)).toBe('there');
  });

  it('as the commit is on its way is an unknown outcome, which may be that it was not', async () => {
    const name = freshName('not-executed');
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      await put(client, name, 'never');
      proxy.up.swallow();
      resetWhenCaught(proxy.up);
    });
    expect(await failureOf(attempt)).toBeInstanceOf(OutcomeUnknownError);
    expect(await readData(server.url, name)).toBeUndefined();
  });

  it('in a claim leaves the claim repeatable', async () => {
    const name = freshName('claim');
    const token = tokenOf(name, 5);
    await fence.installedTerm(name);
    proxy.up.swallow();
    resetWhenCaught(proxy.up);
    expect(await failureOf(fence.claim(token))).toBeInstanceOf(UnreachableError);
    proxy.heal();
    await fence.claim(token);
    expect(await fence.installedTerm(name)).toBe(5);
  });
});

describe('a server that does not answer the PostgreSQL fence', () => {
  it('is unreachable after the timeout, also for a close', async () => {
    proxy.down.swallow();
    const startedAtMs = performance.now();
    expect(await failureOf(fence.claim(tokenOf('a', 1)))).toBeInstanceOf(UnreachableError);
    await fence.close();
    expect(performance.now() - startedAtMs).toBeLessThan(3000);
  });

  it('leaves a commit unknown after the timeout, and the connection is not used again', async () => {
    const name = freshName('silent');
    const pool = openPool(proxyUrl);
    const onPool = postgresFence<pg.PoolClient>(pool, { timeoutMs: 500 });
    const attempt = onPool.transaction(tokenOf(name, 5), async (client) => {
      await put(client, name, 'there');
      proxy.down.swallow();
    });
    expect(await failureOf(attempt)).toBeInstanceOf(OutcomeUnknownError);
    expect(pool.totalCount).toBe(0);
    expect(await readData(server.url, name)).toBe('there');
    await pool.end();
  });

  it('is closed by force once transactions had their time', async () => {
    const name = freshName('close');
    const attempt = fence.transaction(tokenOf(name, 5), async (client) => {
      await put(client, name, 'never');
      await fence.close();
    });
    expect(await failureOf(attempt)).toBeInstanceOf(UnreachableError);
    expect(await readData(server.url, name)).toBeUndefined();
  });
});

describe('a server that crashes', () => {
  it('in the middle of a transaction has written nothing, and keeps every claim', async () => {
    const name = freshName('crash');
    await fence.claim(tokenOf(name, 5));
    await fence.transaction(tokenOf(name, 6), async () => {});
    const attempt = fence.transaction(tokenOf(name, 7), async (client) => {
      await put(client, name, 'lost');
      await server.kill();
      // Whoever asks once more knows that the connection is gone, and commits nothing.
      await client.query('SELECT').catch(() => {});
    });
    expect(await failureOf(attempt)).toBeInstanceOf(UnreachableError);
    expect(await failureOf(fence.claim(tokenOf(name, 7)))).toBeInstanceOf(UnreachableError);
    await server.restart();
    expect(await fence.installedTerm(name)).toBe(6);
    expect(await failureOf(fence.claim(tokenOf(name, 5)))).toBeInstanceOf(StaleTermError);
    expect(await readData(server.url, name)).toBeUndefined();
  });

  it('just after a transaction has kept what it wrote, and that it did', async () => {
    const name = freshName('kept');
    const token = tokenOf(name, 5);
    await fence.claim(token);
    await fence.transaction(token, async (client) => {
      await fence.recordOnce(client, name, 'key', 1, 'm1');
      await put(client, name, 'kept');
    });
    const pool = openPool(server.url);
    const client = await pool.connect();
    client.on('error', () => {});
    await client.query('BEGIN');
    await fence.recordOnce(client, name, 'unchecked', 1, 'm1');
    await client.query('COMMIT');
    await server.kill();
    client.release(true);
    await pool.end();
    await server.restart();
    expect(await readData(server.url, name)).toBe('kept');
    for (const key of ['key', 'unchecked']) {
      const record = fence.transaction(token, (open) => fence.recordOnce(open, name, key, 1, 'm1'));
      expect(await record).toBe(false);
    }
  });
});

describe('a server that is not fit for the PostgreSQL fence', () => {
  const withUrl = async (change: (url: URL) => void, use: (other: PostgresFence) => unknown) => {
    const url = new URL(server.url);
    change(url);
    const other = postgresFence(url.href, { timeoutMs: 1000 });
    try {
      await use(other);
    } finally {
      await other.close();
    }
  };
  const assertClaimFails = async (
    other: PostgresFence,
    expected: typeof StoreMisconfiguredError | typeof UnreachableError,
    text: RegExp,
  ) => {
    const error = await failureOf(other.claim(tokenOf(freshName('unfit'), 5)));
    expect(error).toBeInstanceOf(expected);
    expect(String(error)).toMatch(text);
  };

  it('is named as read-only by default', () =>
    withUrl(
      (url) => url.searchParams.set('options', '-c default_transaction_read_only=on'),
      (other) =>
        assertClaimFails(other, StoreMisconfiguredError, /default_transaction_read_only is on/),
    ));

  it('is named as having another password, without showing ours', () =>
    withUrl(
      (url) => {
        url.password = 'hunter2';
      },
      async (other) => {
        await assertClaimFails(other, StoreMisconfiguredError, /password was not accepted/);
        const error = await failureOf(other.claim(tokenOf('a', 1)));
        expect(`${error} ${(error as Error).cause}`).not.toContain('hunter2');
      },
    ));

  it('is named as lacking the database', () =>
    withUrl(
      (url) => {
        url.pathname = '/nowhere';
      },
      (other) =>
        assertClaimFails(
          other,
          StoreMisconfiguredError,
          /database does not exist \(database "nowhere" does not exist\); create it/,
        ),
    ));

  it('is unreachable where nobody listens', () =>
    withUrl(
      (url) => {
        url.port = '1';
      },
      (other) =>
        assertClaimFails(
          other,
          UnreachableError,
          /at (?:127\.0\.0\.1|localhost):1 failed: nothing listens there/,
        ),
    ));

  it('does not take "nobody replicates" for a commit when the synchronous standby is missing', async () => {
    const name = freshName('standby');
    const pool = openPool(server.url, {
      statement_timeout: 300,
      options: '-c synchronous_commit=remote_apply',
    });
    const onPool = postgresFence(pool, { timeoutMs: 1500 });
    await holdCommits(server.url);
    try {
      const error = await failureOf(onPool.transaction(tokenOf(name, 5), async () => {}));
      expect(error).toBeInstanceOf(OutcomeUnknownError);
    } finally {
      await letCommits(server.url);
      await pool.end();
    }
  });
});
