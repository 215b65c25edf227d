import { Pool } from 'pg';
import { afterAll, beforeAll, describe, inject, it } from 'vitest';
import { registerOnceConformance } from '../../src/once/conformance/index.js';
import { postgresOnce } from '../../src/once/postgres/index.js';
import { FaultProxy } from '../support/proxy.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { proxiedSubject } from './proxied.js';

let database: FreshDatabase;
let user: Pool;
beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  user = new Pool({ connectionString: database.url, max: 1 });
  const store = postgresOnce(database.url);
  await store.migrate();
  await store.close();
});
afterAll(async () => {
  await user?.end();
  await database?.drop();
});

let namespaceCount = 0;

registerOnceConformance(
  {
    name: 'postgres',
    impossible: {},
    create: async () => {
      namespaceCount += 1;
      const namespace = `case-${namespaceCount}`;
      const there = new URL(database.url);
      const proxy = await FaultProxy.start(Number(there.port));
      const url = new URL(there);
      url.port = String(proxy.port);
      const store = postgresOnce(url, { namespace });
      const other = postgresOnce(there, { namespace });
      return proxiedSubject(store, other, proxy, async (key) => {
        await user.query(
          'UPDATE tenure.once_keys SET expires_ms = 1, deadline_ms = 1 WHERE namespace = $1 AND key = $2',
          [namespace, key],
        );
      });
    },
  },
  { describe: describe.concurrent, it },
);
