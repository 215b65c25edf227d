import { afterAll, beforeAll } from 'vitest';
import { migratePostgres } from '../../src/postgres.js';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { concurrentCases } from '../support/concurrent-cases.js';
import { type PostgresServer, startPostgres } from '../support/servers/index.js';
import { postgresTarget } from './postgres-target.js';

let server: PostgresServer;
let emptyCopy: string;

beforeAll(async () => {
  // What a server process leaves behind is as durable without it, and only that dies here.
  server = await startPostgres({ clock: true, fsync: false });
  await migratePostgres(server.url);
  emptyCopy = await server.copyData();
});
afterAll(() => server.stop());

registerCoordinatorConformance(
  postgresTarget('postgres', () => server, { emptyCopy: () => emptyCopy }),
  concurrentCases(),
);
