import { afterAll, beforeAll, describe, it } from 'vitest';
import { migratePostgres } from '../../src/postgres.js';
import { registerCoordinatorConformance } from '../../src/testing.js';
import { type PostgresServer, startPostgres } from '../support/servers/index.js';
import { postgresTarget } from './postgres-target.js';

let server: PostgresServer;
let emptyCopy: string;

beforeAll(async () => {
  server = await startPostgres({ clock: true });
  await migratePostgres(server.url);
  emptyCopy = await server.copyData();
});
afterAll(() => server.stop());

registerCoordinatorConformance(
  postgresTarget('postgres', () => server, { emptyCopy: () => emptyCopy }),
  { describe, it },
);
