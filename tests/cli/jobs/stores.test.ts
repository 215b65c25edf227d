import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openJobStore } from '../../../src/cli/job-stores.js';
import { Schedule } from '../../../src/schedule/index.js';
import {
  type FreshDatabase,
  freshPostgresDatabase,
  startRedisCluster,
  startRedisSentinels,
} from '../../support/servers/index.js';
import { startInside } from '../command-inside.js';

const unwrapped = (message: string) => message.replace(/\n\w[\w ]+: +/g, ' ').replace(/\s+/g, ' ');
const why = ['--reason', 'audit', '--by', 'ana'];

/** A process leads a job, and an operator does everything to it that can be done. */
async function operate(url: string): Promise<void> {
  const namespace = `jobs-${randomBytes(6).toString('hex')}`;
  const jobs = (...args: string[]) =>
    startInside(['jobs', ...args, '--url', url, '--namespace', namespace]).ended;
  const { store } = await openJobStore(url, namespace);
  const schedule = new Schedule(store, { id: 'replica-1', pollMs: 50 });
  schedule.job('settle', { cron: '0 3 1 1 *' }, async ({ run, signal, attempt }) => {
    if (run.kind === 'manual' && attempt === 1)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    signal.throwIfAborted();
  });
  try {
    const leading = new Promise((resolve) => schedule.events.on('leading', resolve));
    schedule.start();
    await leading;
    expect((await jobs('list')).stdout).toMatch(/^settle +0 3 1 1 \* +UTC .* replica-1 +\d+$/m);
    expect((await jobs('pause', 'settle', ...why)).status).toBe(0);
    expect((await jobs('run', 'settle', ...why)).stdout).toMatch(/has begun on replica-1/);
    expect((await jobs('cancel', 'settle', ...why, '--yes')).stdout).toMatch(/ended: cancelled/);
    expect((await jobs('resume', 'settle')).stdout).toMatch(/is resumed \(paused by ana: audit\)/);
    expect((await jobs('history', 'settle')).stdout).toMatch(/cancelled .* by ana: audit$/m);
  } finally {
    await schedule.close();
    await store.close();
  }
}

describe('the commands of jobs', () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshPostgresDatabase(inject('postgresUrl'));
  });
  afterAll(() => database?.drop());

  it('say what is missing in a database, and work once it is there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-stores-'));
    try {
      const file = join(folder, 'jobs.yaml');
      writeFileSync(file, 'jobs: { settle: { cron: "@daily", command: [cat] } }');
      for (const command of [
        ['jobs', 'list'],
        ['schedule', '-f', file],
      ]) {
        const { status, stderr } = await startInside([...command, '--url', database.url]).ended;
        expect(status).toBe(78);
        expect(unwrapped(stderr)).toContain('the tables of jobs are not in schema "tenure"');
        expect(stderr).toMatch(/next: {4}tenure migrate --url '?postgres:/);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect((await startInside(['migrate', '--url', database.url]).ended).status).toBe(0);
    await operate(database.url);
  });

  it('work in a schema of another name', async () => {
    const url = `${database.url}?schema=leases`;
    expect((await startInside(['migrate', '--url', url]).ended).status).toBe(0);
    await operate(url);
  });

  it('work on Redis', () => operate(inject('redisUrl')));

  it.each([
    ['sentinels', () => startRedisSentinels()],
    ['a cluster', () => startRedisCluster()],
  ])('work on Redis with %s', async (_, start) => {
    const servers = await start();
    try {
      await operate(servers.url);
    } finally {
      await servers.stop();
    }
  });
});
