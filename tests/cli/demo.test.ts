import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  type FreshDatabase,
  freshPostgresDatabase,
  type RedisServer,
  startRedis,
} from '../support/servers/index.js';
import { type Outcome, startTenure, tenure } from './command-line.js';

const timeout = 90_000;

describe.concurrent('the demo', { timeout }, () => {
  let redis: RedisServer;
  let database: FreshDatabase;

  beforeAll(async () => {
    [redis, database] = await Promise.all([
      startRedis(),
      freshPostgresDatabase(inject('postgresUrl')),
    ]);
  });
  afterAll(async () => {
    await Promise.all([redis.stop(), database.drop()]);
  });

  it('tells in memory, within a minute and 80 columns, what it proves', async () => {
    const startedAtMs = performance.now();
    const outcome = await tenure(['demo'], { NO_COLOR: '1' });
    expectStory(outcome);
    expect(outcome.stdout).toContain('no timer and no message of it ever again');
    expect(performance.now() - startedAtMs).toBeLessThan(60_000);
  });

  it('kills and freezes real processes on Redis and PostgreSQL, and removes what it made', async () => {
    const demo = startTenure(['demo', '--url', redis.url, '--sink', database.url]);
    const outcome = await demo.ended;
    expectStory(outcome);
    expect(outcome.stdout).toMatch(/w2 is killed: SIGKILL to process \d+/);
    expect(outcome.stdout).toMatch(/w3 freezes: SIGSTOP to process \d+/);
    expect(demo.descendants()).toEqual([]);
    expect(await schemasOf(database)).toEqual(['public']);
    expect(await keysOf(redis)).toEqual([]);
  });

  it('needs no database: worker processes write to a sink in their parent', async () => {
    const outcome = await tenure(['demo', '--url', inject('redisUrl'), '-o', 'json']);
    expect(outcome.status, outcome.stderr).toBe(0);
    const { passed, verdict } = JSON.parse(outcome.stdout);
    expect(passed).toBe(true);
    expect(verdict).toMatchObject({ lostCount: 0, duplicateCount: 0, inversionCount: 0 });
    expect(verdict.handledCount).toBe(verdict.publishedCount);
    expect(verdict.refusedCount).toBeGreaterThan(0);
    expect(outcome.stderr).toContain('Everything that was claimed held.');
  });
});

/** The whole story was told, and nothing in it was untrue. */
function expectStory({ status, stdout, stderr }: Outcome): void {
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
  for (const claim of [
    "ok 256 of 256 shards are w1's",
    'ok 256 became 128 and 128',
    'ok exactly 128 shards moved',
    'w1 says 128, w2 says 128, shared 0',
    'ok order kept over the move: 0 inversions, 0 overlaps',
    'which it had in its hands, was handled first',
    'was refused: superseded',
    'Another process owns it now; stop',
    'ok handled is published, each once, in order, under rising terms',
    '(w2 was killed)',
    '(w3 froze)',
    'Everything that was claimed held.',
  ])
    expect(stdout).toContain(claim);
  expect(stdout).not.toContain('FAILED');
  expect(stdout).not.toContain('\u001b');
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  const published = figure(stdout, 'messages published');
  expect(published).toBeGreaterThan(100);
  expect(figure(stdout, 'messages handled')).toBe(published);
  for (const fault of ['lost', 'duplicated effects', 'stale writes accepted'])
    expect(figure(stdout, fault)).toBe(0);
  expect(figure(stdout, 'stale writes refused')).toBeGreaterThan(0);
}

function figure(stdout: string, name: string): number {
  return Number(new RegExp(`^ +${name} +(\\d+)$`, 'm').exec(stdout)?.[1]);
}

async function keysOf({ url }: RedisServer): Promise<string[]> {
  const client = new Redis(url);
  try {
    return await client.keys('*');
  } finally {
    client.disconnect();
  }
}

async function schemasOf({ url }: FreshDatabase): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'",
    );
    return rows.map(({ nspname }) => nspname);
  } finally {
    await client.end();
  }
}

describe.concurrent('an interrupted demo', { timeout }, () => {
  it('cleans up after Ctrl-C', async () => {
    const redis = await startRedis();
    try {
      const demo = startTenure(['demo', '--url', redis.url]);
      await demo.printed('w2 joined');
      demo.process.kill('SIGINT');
      const { status, stderr } = await demo.ended;
      expect({ status, stderr }).toEqual({
        status: 130,
        stderr: 'tenure demo: stopped by SIGINT, cleaned up\n',
      });
      expect(demo.descendants()).toEqual([]);
      expect(await keysOf(redis)).toEqual([]);
    } finally {
      await redis.stop();
    }
  });

  it('leaves no worker behind when it is killed itself, not even a frozen one', async ({
    expect,
  }) => {
    const redis = await startRedis();
    try {
      const demo = startTenure(['demo', '--url', redis.url]);
      await demo.printed('w3 freezes: SIGSTOP');
      expect(demo.descendants().length).toBeGreaterThanOrEqual(2);
      demo.process.kill('SIGKILL');
      await demo.ended;
      await expect.poll(() => demo.descendants()).toEqual([]);
    } finally {
      await redis.stop();
    }
  });
});
