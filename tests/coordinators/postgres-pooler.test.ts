import { afterAll, beforeAll } from 'vitest';
import { migratePostgres } from '../../src/postgres.js';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { concurrentCases } from '../support/concurrent-cases.js';
import { type PostgresServer, startPostgres } from '../support/servers/index.js';
import { type PgBouncer, startPgBouncer } from '../support/servers/pgbouncer.js';
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
    },
  }),
  concurrentCases,
);
