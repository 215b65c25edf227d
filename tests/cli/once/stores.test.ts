import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openOnceStore } from '../../../src/cli/once/stores.js';
import {
  type FreshDatabase,
  freshPostgresDatabase,
  startRedisCluster,
  startRedisSentinels,
} from '../../support/servers/index.js';
import { startInside } from '../command-inside.js';
import { Effects } from './effects.js';

const unwrapped = (message: string) => message.replace(/\s+/g, ' ');
const why = ['--reason', 'audit', '--by', 'ana', '--yes'];

/** A program leaves two effects of unknown outcome, and an operator settles them. */
async function operate(url: string): Promise<void> {
  const namespace = `once-${randomBytes(6).toString('hex')}`;
  const once = (...args: string[]) =>
    startInside(['once', ...args, '--url', url, '--namespace', namespace]).ended;
  const { store } = await openOnceStore(url, namespace);
  const effects = new Effects(store);
  try {
    await effects.unknown('charge/order-17');
    await effects.unknown('charge/order-18');
    const { stdout } = await once('list');
    expect(stdout).toMatch(/^charge\/order-17 .* 1 .* replica-1 +Error: the line broke$/m);
    expect(stdout).toMatch(/^charge\/order-18 /m);
    const first = await once('list', '--limit', '1', '-o', 'json');
    expect(JSON.parse(first.stdout)).toMatchObject({
      ...{ more: true, effects: [{ key: 'charge/order-17' }] },
    });
    const paid = ['charge/order-17', '--done', '{"cents":200}'];
    expect((await once('settle', ...paid, ...why)).status).toBe(0);
    expect((await once('settle', ...paid, ...why)).stdout).toMatch(
      /ana: audit, with this result$/m,
    );
    expect((await once('settle', 'charge/order-18', '--not-applied', ...why)).status).toBe(0);
    expect((await once('list')).stderr).toContain('no effect of unknown outcome');
    const attempt = async (context: { attempt: number }) => context.attempt;
    expect(await effects.once.do<unknown>('charge/order-17', attempt)).toEqual({ cents: 200 });
    expect(await effects.once.do('charge/order-18', attempt)).toBe(2);
  } finally {
    await effects.close();
  }
}

describe('the commands of effects', () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshPostgresDatabase(inject('postgresUrl'));
  });
  afterAll(() => database?.drop());

  it('say what is missing in a database, and work once it is there', async () => {
    const { status, stderr } = await startInside(['once', 'list', '--url', database.url]).ended;
    expect(status).toBe(78);
    expect(unwrapped(stderr)).toMatch(/next: tenure migrate --url '?postgres:/);
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
