import { Pool } from 'pg';
import { afterAll, beforeAll, describe, inject, it } from 'vitest';
import { postgresJobs } from '../../src/postgres.js';
import { registerJobStoreConformance } from '../../src/testing.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';

let database: FreshDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  const store = postgresJobs(database.url);
  await store.migrate();
  await store.close();
  pool = new Pool({ connectionString: database.url, max: 1 });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

let namespaceCount = 0;

registerJobStoreConformance(
  {
    name: 'postgres',
    impossible: {},
    create: async () => {
      namespaceCount += 1;
      const namespace = `case-${namespaceCount}`;
      const store = postgresJobs(database.url, { namespace });
      const other = postgresJobs(database.url, { namespace });
      return {
        ...{ store, other },
        controls: {
          corrupt: async (job) => {
            const text =
              "UPDATE tenure.jobs SET record = 'no record' WHERE namespace = $1 AND job = $2";
            await pool.query(text, [namespace, job]);
          },
        },
        close: async () => {
          await Promise.all([store.close(), other.close()]);
        },
      };
    },
  },
  { describe, it },
);
