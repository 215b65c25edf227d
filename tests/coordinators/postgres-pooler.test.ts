import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migratePostgres, postgresCoordinator } from '../../src/postgres.js';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { concurrentCases } from '../support/concurrent-cases.js';
import {
  type PgBouncer,
  type PostgresServer,
  startPgBouncer,
  startPostgres,
} from '../support/servers/index.js';
import { eventually, runSql, Speaker } from './postgres-fixture.js';
import { postgresTarget } from './postgres-target.js';

let server: PostgresServer;
let pooler: PgBouncer;

beforeAll(async () => {
  server = await startPostgres({ fsync: false });
  pooler = await startPgBouncer(server, { poolMode: 'transaction' });
  await migratePostgres(pooler.url);
});
afterAll(async () => {
  await pooler.stop();
  await server.stop();
});

const elsewhere = 'what happens to the server is shown without a pooler in between';

registerCoordinatorConformance(
  postgresTarget('postgres behind PgBouncer in transaction mode', () => server, {
    through: () => pooler,
    impossible: {
      restartKeepingData: elsewhere,
      restartLosingData: elsewhere,
      loseTail: elsewhere,
      stepClock: elsewhere,
      // It does not read from a client that waits for a session, so it learns late that this one is gone.
      pendingCount: 'the pooler closes its end of a connection in its own time',
    },
  }),
  concurrentCases(),
);

describe('notifications behind a pooler', () => {
  it('do not come through in transaction mode, which is said once; who waits is told by asking', async () => {
    const { waiter, owner, woken, warnings } = await watching(pooler.url, 'transaction');
    await eventually(() => warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/pooler in transaction mode.*every 500 ms/);
    await eventually(() => woken.length).toBeGreaterThan(0);
    expect(new Set(woken)).toEqual(new Set([undefined]));
    await owner.release('group/name', await owner.take('group/name'));
    const term = await owner.take('group/name', { keepHistory: true });
    await eventually(() => woken.at(-1)).toBe('group/name');
    await owner.release('group/name', term);
    const stop = waiter.watch('another', () => {});
    stop();
    expect(warnings).toHaveLength(1);
    await Promise.all([waiter.close(), owner.coordinator.close()]);
    // What is left of a trial is on a channel of its own, and hears nothing.
    const listening =
      'SELECT query FROM pg_stat_activity WHERE query LIKE $1 AND query NOT LIKE $2';
    const words = ['LISTEN tenure\\_%', 'LISTEN tenure\\_trial\\_%'];
    expect(await runSql(server.url, listening, words)).toEqual([]);
  });

  it('come through in session mode', async () => {
    const session = await startPgBouncer(server, { poolMode: 'session' });
    const { waiter, owner, woken, warnings } = await watching(session.url, 'session');
    await eventually(() => woken.length).toBeGreaterThan(1);
    const startedMs = performance.now();
    await owner.release('group/name', await owner.take('group/name'));
    await eventually(() => woken.at(-1), { interval: 5 }).toBe('group/name');
    expect(performance.now() - startedMs).toBeLessThan(3_000);
    expect(warnings).toEqual([]);
    await Promise.all([waiter.close(), owner.coordinator.close()]);
    await session.stop();
  });
});

async function watching(url: string, namespace: string) {
  const waiter = postgresCoordinator(url, { namespace });
  const owner = new Speaker(postgresCoordinator(url, { namespace }));
  const warnings: string[] = [];
  const woken: (string | undefined)[] = [];
  waiter.on('warning', ({ message }) => {
    if (!message.includes('fsync')) warnings.push(message);
  });
  waiter.watch('group', (name) => woken.push(name));
  return { waiter, owner, woken, warnings };
}
