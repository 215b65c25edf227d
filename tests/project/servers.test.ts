import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { freshPostgresDatabase, startPostgres, startRedis } from '../support/servers/index.js';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function redisClient(url: string): Redis {
  const client = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
  client.on('error', () => {});
  cleanups.push(async () => client.disconnect());
  return client;
}

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** A zombie has ended: only the parent it was left to has not asked yet, and may take its time. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('the shared servers', () => {
  it('are given to every test file by address', async () => {
    expect(await redisClient(inject('redisUrl')).ping()).toBe('PONG');
    expect(await query(inject('postgresUrl'), 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('never evict a key', async () => {
    const client = redisClient(inject('redisUrl'));
    expect(await client.config('GET', 'maxmemory-policy')).toContain('noeviction');
  });

  it('sync to disk and ask for a password', async () => {
    const url = new URL(inject('postgresUrl'));
    expect(await query(url.href, 'show fsync')).toEqual([{ fsync: 'on' }]);
    url.password = 'wrong';
    await expect(query(url.href, 'select 1')).rejects.toThrow(/password authentication failed/);
  });

  it('hand out a database of its own to whoever asks, several at once', async () => {
    const ask = (): ReturnType<typeof freshPostgresDatabase> =>
      freshPostgresDatabase(inject('postgresUrl'));
    const databases = await Promise.all([ask(), ask(), ask()]);
    expect(new Set(databases.map(({ url }) => url)).size).toBe(3);
    for (const { url, drop } of databases) {
      await query(url, 'create table only_here (id int)');
      await drop();
      await drop();
      await expect(query(url, 'select 1')).rejects.toThrow(/does not exist/);
    }
  });
});

describe('a Redis of one test', () => {
  it('keeps what reached the disk through a crash, and loses it when told to', async () => {
    const server = await startRedis({ appendonly: 'always' });
    cleanups.push(() => server.stop());
    const firstPid = server.pid;
    await redisClient(server.url).set('name', 'kept');

    await server.kill();
    expect(isAlive(firstPid)).toBe(false);
    await server.restart({ keepData: true });
    expect(server.pid).not.toBe(firstPid);
    expect(await redisClient(server.url).get('name')).toBe('kept');

    await server.restart({ keepData: false });
    expect(await redisClient(server.url).get('name')).toBeNull();
  });

  it('refuses to promise data that it never wrote', async () => {
    const server = await startRedis();
    cleanups.push(() => server.stop());
    await expect(server.restart({ keepData: true })).rejects.toThrow(/appendonly/);
  });

  it('answers nothing while frozen and goes on when thawed', async () => {
    const server = await startRedis();
    cleanups.push(() => server.stop());
    const client = redisClient(server.url);
    await client.ping();
    server.freeze();
    const answer = client.ping().then(() => 'answered');
    const patience = new Promise((resolve) => setTimeout(resolve, 150, 'silent'));
    expect(await Promise.race([answer, patience])).toBe('silent');
    server.thaw();
    expect(await answer).toBe('answered');
  });

  it('stops when frozen, twice if asked, and leaves neither process nor folder', async () => {
    const server = await startRedis({ args: ['--maxmemory', '32mb'] });
    expect(existsSync(server.dir)).toBe(true);
    server.freeze();
    await Promise.all([server.stop(), server.stop()]);
    expect(isAlive(server.pid)).toBe(false);
    expect(existsSync(server.dir)).toBe(false);
  });

  it('says in its error why the server did not start', async () => {
    await expect(startRedis({ args: ['--no-such-option', '1'] })).rejects.toThrow(
      /ended while starting[\s\S]*no-such-option/,
    );
  });

  it('says so when the port that was asked for is taken', async () => {
    const server = await startRedis();
    cleanups.push(() => server.stop());
    await expect(startRedis({ port: server.port })).rejects.toThrow(/ended while starting/);
  });
});

describe('a PostgreSQL of one test', () => {
  it("starts also where our temporary folder is closed to the server's account, as root's may be", async () => {
    const before = process.env.TMPDIR;
    const dir = mkdtempSync('/tmp/tenure-private-');
    process.env.TMPDIR = dir;
    cleanups.push(async () => {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      rmSync(dir, { recursive: true });
    });
    const server = await startPostgres();
    cleanups.push(() => server.stop());
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('recovers committed data after an immediate shutdown', async () => {
    const server = await startPostgres();
    cleanups.push(() => server.stop());
    await query(server.url, 'create table kept as select 7 as value');
    await server.kill();
    expect(isAlive(server.pid)).toBe(false);
    await server.restart();
    expect(await query(server.url, 'select value from kept')).toEqual([{ value: 7 }]);
  });
});

describe('a program that starts servers and is killed outright', () => {
  it('leaves no server and no folder behind', async () => {
    const program = join(import.meta.dirname, 'abandons-servers.mjs');
    const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
    cleanups.push(async () => child.kill('SIGKILL'));
    const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
    const { pids, dirs } = JSON.parse(line) as { pids: number[]; dirs: string[] };
    expect(pids.map(isAlive)).toEqual([true, true]);
    expect(dirs.map((dir) => existsSync(dir))).toEqual([true, true]);

    child.kill('SIGKILL');
    const patience = { timeout: 15_000 };
    await expect.poll(() => pids.map(isAlive), patience).toEqual([false, false]);
    await expect.poll(() => dirs.map((dir) => existsSync(dir)), patience).toEqual([false, false]);
  }, 40_000);
});
