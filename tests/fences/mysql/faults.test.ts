import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { PoolConnection } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  OutcomeUnknownError,
  StaleTermError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type MysqlFence, mysqlFence } from '../../../src/fences/mysql/index.js';
import { FaultProxy, type Lane } from '../../support/proxy.js';
import { type MariaDbServer, startMariaDb } from '../../support/servers/index.js';
import { openPool, prepare, put, readData, runSql } from './subject.js';

let server: MariaDbServer;
let proxy: FaultProxy;
let proxyUrl: string;
let fence: MysqlFence<PoolConnection>;

beforeAll(async () => {
  server = await startMariaDb();
  await prepare(server.url);
}, 60_000);

afterAll(async () => await server.stop());

beforeEach(async () => {
  proxy = await FaultProxy.start(server.port);
  const url = new URL(server.url);
  url.port = String(proxy.port);
  proxyUrl = url.href;
  fence = mysqlFence<PoolConnection>(proxyUrl, { timeoutMs: 1500 });
});

afterEach(async () => {
  await fence.close();
  await proxy.stop();
});

/** What was thrown, without the password of the server anywhere in it. */
async function failureOf(attempt: Promise<unknown>): Promise<unknown> {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  const { password } = new URL(server.url);
  for (let one = error; one instanceof Error; one = one.cause) {
    expect(`${one.message}${one.stack}${JSON.stringify(one)}`).not.toContain(password);
  }
  return error;
}

/** Lets all pass but the request that ends the transaction, or its answer; then the connection breaks. */
function breakAtCommit(lane: Lane): void {
  let isCommit = false;
  proxy.up.set({
    kind: 'judge',
    fateOf: (bytes) => {
      isCommit ||= bytes.includes('COMMIT') && !bytes.includes('SAVEPOINT');
      return isCommit && lane === proxy.up ? 'swallow' : 'none';
    },
  });
  proxy.down.set({ kind: 'judge', fateOf: () => (isCommit ? 'swallow' : 'none') });
  lane.caught().then(
    () => proxy.reset(),
    () => {},
  );
}

describe('a connection that is lost under the MySQL fence', { timeout: 20_000 }, () => {
  it('before the commit means that nothing was written', async () => {
    const name = freshName('early');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'lost');
      const gone = new Promise((resolve) => connection.once('error', resolve));
      proxy.reset();
      await gone;
    });
    expect(await failureOf(attempt)).toBeInstanceOf(UnreachableError);
    expect(await readData(server.url, name)).toBeUndefined();
    await fence.claim(tokenOf(name, 4));
  });

  it('after the commit was sent is an unknown outcome, which may be that it was executed', async () => {
    const name = freshName('executed');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'there');
      breakAtCommit(proxy.down);
    });
    expect(await failureOf(attempt)).toBeInstanceOf(OutcomeUnknownError);
    expect(await readData(server.url, name)).toBe('there');
  });

  it('as the commit is on its way is an unknown outcome, which may be that it was not', async () => {
    const name = freshName('not-executed');
    const attempt = fence.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'never');
      breakAtCommit(proxy.up);
    });
    expect(await failureOf(attempt)).toBeInstanceOf(OutcomeUnknownError);
    expect(await readData(server.url, name)).toBeUndefined();
  });

  it('leaves a commit unknown after the timeout, and the connection is not used again', async () => {
    const name = freshName('silent');
    const pool = openPool(proxyUrl);
    const onPool = mysqlFence<PoolConnection>(pool, { timeoutMs: 1000 });
    const attempt = onPool.transaction(tokenOf(name, 5), async (connection) => {
      await put(connection, name, 'there');
      let isCommit = false;
      proxy.down.set({ kind: 'judge', fateOf: () => (isCommit ? 'swallow' : 'none') });
      proxy.up.set({
        kind: 'overhear',
        heard: (bytes) => {
          isCommit ||= bytes.includes('COMMIT');
        },
      });
    });
    expect(await failureOf(attempt)).toBeInstanceOf(OutcomeUnknownError);
    expect(await readData(server.url, name)).toBe('there');
    proxy.heal();
    expect(await onPool.installedTerm(name)).toBe(5);
    proxy.reset();
    await pool.end();
  });

  it('without an answer is unreachable after the timeout, also for a close', async () => {
    await fence.installedTerm(freshName('open'));
    proxy.down.swallow();
    const startedAtMs = performance.now();
    expect(await failureOf(fence.claim(tokenOf('a', 1)))).toBeInstanceOf(UnreachableError);
    await fence.close();
    expect(performance.now() - startedAtMs).toBeLessThan(8000);
  });
});

// The child compiles its sources, which takes its time on a busy machine.
describe('an owner that is frozen between check and commit', { timeout: 60_000 }, () => {
  it.each(['transaction', 'check'])(
    '(%s) makes its successor wait for the idle limit and no longer, and commits nothing when it wakes',
    async (way) => {
      const name = freshName('frozen');
      const program = join(import.meta.dirname, 'frozen-owner.mjs');
      const child = spawn(process.execPath, [program, server.url, name, '5', way], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const successor = mysqlFence(server.url, { idleInTransactionTimeoutMs: 1000 });
      try {
        expect((await lines.next()).value).toBe('checked');
        child.kill('SIGSTOP');
        const startedAtMs = performance.now();
        await successor.claim(tokenOf(name, 6));
        // A second by the server's clock, and some for a busy machine.
        expect(performance.now() - startedAtMs).toBeLessThan(6000);
        expect(await readData(server.url, name)).toBeUndefined();

        child.kill('SIGCONT');
        expect((await lines.next()).value).toMatch(/^refused/);
        await once(child, 'exit');
        expect(await readData(server.url, name)).toBeUndefined();
        expect(await successor.installedTerm(name)).toBe(6);
      } finally {
        child.kill('SIGKILL');
        await successor.close();
      }
    },
  );
});

describe('a server that is not fit for the MySQL fence', { timeout: 20_000 }, () => {
  const unfit: [string, string, string, RegExp][] = [
    ['innodb_flush_log_at_trx_commit', '2', '1', /innodb_flush_log_at_trx_commit is 2/],
    ['innodb_flush_log_at_trx_commit', '0', '1', /innodb_flush_log_at_trx_commit is 0/],
    ['read_only', '1', '0', /read_only is on/],
  ];
  it.each(unfit)(
    'is named, with %s at %s, and nobody passes',
    async (variable, bad, good, text) => {
      const name = freshName('unfit');
      const token = tokenOf(name, 5);
      await fence.claim(token);
      const pool = openPool(server.url);
      const onPool = mysqlFence<PoolConnection>(pool);
      await runSql(server.url, `SET GLOBAL ${variable} = ${bad}`);
      try {
        const connection = await pool.getConnection();
        const attempts = [
          () => fence.claim(token),
          () => fence.claim(tokenOf(name, 6)),
          () => fence.transaction(token, async () => {}),
          async () => {
            await connection.beginTransaction();
            await onPool.check(connection, token);
          },
          async () => {
            await connection.beginTransaction();
            await onPool.recordOnce(connection, name, 'key', 1, 'm1');
          },
        ];
        for (const attempt of attempts) {
          const error = await failureOf(attempt());
          expect(error).toBeInstanceOf(StoreMisconfiguredError);
          expect(String(error)).toMatch(text);
        }
        connection.destroy();
        if (variable !== 'read_only') {
          const lax = mysqlFence(server.url, { durability: 'process' });
          expect(lax.promises.durability).toBe('process');
          await lax.claim(token);
          await lax.close();
        }
      } finally {
        await runSql(server.url, `SET GLOBAL ${variable} = ${good}`);
        await pool.end();
      }
    },
  );

  it('is named as having another password, without showing ours, or as not being there', async () => {
    const url = new URL(server.url);
    url.password = 'hunter2';
    const other = mysqlFence(url.href, { timeoutMs: 3000 });
    const refused = await failureOf(other.claim(tokenOf('a', 1)));
    expect(refused).toBeInstanceOf(StoreMisconfiguredError);
    expect(`${refused} ${(refused as Error).cause}`).not.toContain('hunter2');
    await other.close();
    url.port = '1';
    const nowhere = mysqlFence(url.href);
    const away = await failureOf(nowhere.claim(tokenOf('a', 1)));
    expect(away).toBeInstanceOf(UnreachableError);
    expect(String(away)).toContain(`at ${url.hostname}:1 failed: nothing listens there`);
    await nowhere.close();
  });

  it('is named as lacking the database, by its name, and how it is migrated', async () => {
    const url = new URL(server.url);
    url.pathname = '/nowhere_at_all';
    const other = mysqlFence(url.href);
    const failure = await failureOf(other.claim(tokenOf('a', 1)));
    expect(failure).toBeInstanceOf(StoreMisconfiguredError);
    expect(String(failure)).toContain("Unknown database 'nowhere_at_all'");
    expect(String(failure)).toContain('tenure migrate --url mysql://');
    await other.close();
  });

  it('that crashes has written nothing of an open transaction, and keeps every claim and effect', async () => {
    const name = freshName('crash');
    const direct = mysqlFence<PoolConnection>(server.url);
    const token = tokenOf(name, 6);
    await direct.claim(tokenOf(name, 5));
    await direct.transaction(token, (open) => direct.recordOnce(open, name, 'key', 1, 'm1'));
    const attempt = direct.transaction(tokenOf(name, 7), async (connection) => {
      await put(connection, name, 'lost');
      await server.kill();
    });
    expect(await failureOf(attempt)).toBeInstanceOf(UnreachableError);
    expect(await failureOf(direct.claim(tokenOf(name, 7)))).toBeInstanceOf(UnreachableError);
    await server.restart();
    expect(await direct.installedTerm(name)).toBe(6);
    expect(await failureOf(direct.claim(tokenOf(name, 5)))).toBeInstanceOf(StaleTermError);
    expect(await readData(server.url, name)).toBeUndefined();
    const again = direct.transaction(token, (open) =>
      direct.recordOnce(open, name, 'key', 1, 'm1'),
    );
    expect(await again).toBe(false);
    await direct.close();
  });
});
