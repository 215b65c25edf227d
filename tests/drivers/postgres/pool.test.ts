import { describe, expect, inject, it } from 'vitest';
import { withDeadline } from '../../../src/drivers/deadline.js';
import type { PostgresClient } from '../../../src/drivers/postgres/index.js';
import { importPg } from '../../../src/drivers/postgres/pg-package.js';
import { PostgresPoolHandle } from '../../../src/drivers/postgres/pool.js';
import { OptionError, UnreachableError } from '../../../src/errors/index.js';
import { realRuntime } from '../../../src/time/index.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';

const settings = {
  maxConnections: 3,
  runtime: realRuntime,
  timeoutMs: 2000,
  statementTimeoutMs: 7000,
  lockTimeoutMs: 6000,
  idleInTransactionTimeoutMs: 5000,
};

async function ask(handle: PostgresPoolHandle<PostgresClient>, text: string): Promise<unknown> {
  return await handle.withSession('a test', async (session) => {
    const { rows } = await session.client.query(text);
    session.end(true);
    return rows[0];
  });
}

describe('a PostgreSQL pool of our own', () => {
  it('limits statements, locks and idle transactions, and gives its name', async () => {
    const handle = new PostgresPoolHandle(inject('postgresUrl'), settings);
    const names = [
      'statement_timeout',
      'lock_timeout',
      'idle_in_transaction_session_timeout',
      'application_name',
    ];
    const columns = names.map((name) => `current_setting('${name}') AS ${name}`);
    expect(await ask(handle, `SELECT ${columns}`)).toEqual({
      statement_timeout: '7s',
      lock_timeout: '6s',
      idle_in_transaction_session_timeout: '5s',
      application_name: 'tenure',
    });
    await handle.close();
  });

  it('survives that the server ends its idle connections', async () => {
    const handle = new PostgresPoolHandle(inject('postgresUrl'), settings);
    const first = (await ask(handle, 'SELECT pg_backend_pid() AS pid')) as { pid: number };
    const other = new PostgresPoolHandle(inject('postgresUrl'), settings);
    expect(await ask(other, `SELECT pg_terminate_backend(${first.pid}, 5000) AS done`)).toEqual({
      done: true,
    });
    await other.close();
    await expect
      .poll(async () => {
        const now = (await ask(handle, 'SELECT pg_backend_pid() AS pid')) as { pid: number };
        return now.pid !== first.pid;
      })
      .toBe(true);
    await handle.close();
  });

  it('opens nothing before it is asked, and closes without having opened', async () => {
    const handle = new PostgresPoolHandle('postgres://nobody@127.0.0.1:1/nowhere', settings);
    await handle.close();
  });

  it('names the command that installs its client if that is missing', async () => {
    const missing = importPg(async () => {
      throw Object.assign(new Error('no'), { code: 'ERR_MODULE_NOT_FOUND' });
    });
    await expect(missing).rejects.toBeInstanceOf(OptionError);
    await expect(missing).rejects.toThrow(/npm install pg/);
  });
});

describe("a user's PostgreSQL pool", () => {
  it('that hands out a client too late gets it back, and the caller an answer in time', async () => {
    const runtime = new VirtualRuntime();
    const released: unknown[] = [];
    let hand: (client: PostgresClient) => void = () => {};
    const pool = {
      connect: () =>
        new Promise<PostgresClient>((resolve) => {
          hand = resolve;
        }),
    };
    const handle = new PostgresPoolHandle(pool, { ...settings, runtime });
    const opening = handle.open('a test').catch((error: unknown) => error);
    await runtime.advance(2000);
    expect(await opening).toBeInstanceOf(UnreachableError);
    hand({ release: (destroy?: boolean) => released.push(destroy) } as unknown as PostgresClient);
    await runtime.settle();
    expect(released).toEqual([undefined]);
    expect(runtime.pendingTimerCount).toBe(0);
  });
});

describe('a deadline', () => {
  it('leaves no timer behind an answer, and no unhandled rejection behind a late one', async () => {
    const runtime = new VirtualRuntime();
    expect(await withDeadline(runtime, 100, Promise.resolve('in time'))).toBe('in time');
    const failing = withDeadline(runtime, 100, Promise.reject(new Error('refused')));
    await expect(failing).rejects.toThrow('refused');
    expect(runtime.pendingTimerCount).toBe(0);
    let fail: (error: Error) => void = () => {};
    const late = withDeadline(
      runtime,
      100,
      new Promise((_, reject) => {
        fail = reject;
      }),
    ).catch((error: unknown) => error);
    await runtime.advance(100);
    expect(await late).toMatchObject({ message: 'no answer within 100 ms' });
    fail(new Error('too late'));
    await runtime.settle();
  });
});
