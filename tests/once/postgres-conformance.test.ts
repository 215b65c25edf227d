import { readFileSync } from 'node:fs';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, inject, it } from 'vitest';
import { registerOnceConformance } from '../../src/once/conformance/index.js';
import { postgresOnce } from '../../src/once/postgres/index.js';
import { FaultProxy } from '../support/proxy.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { proxiedSubject } from './proxied.js';

const protocol = new URL('../../docs/protocol.md', import.meta.url);
const role = `once_${process.pid}`;
const rights = readFileSync(protocol, 'utf8')
  .split('\n')
  .filter((line) => /^GRANT .* TO once;$/.test(line))
  .map((line) => line.replace('TO once;', `TO ${role};`));

let database: FreshDatabase;
let user: Pool;
beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  user = new Pool({ connectionString: database.url, max: 1 });
  const store = postgresOnce(database.url);
  await store.migrate();
  await store.close();
  await user.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'; ${rights.join(' ')}`);
});
afterAll(async () => {
  await user?.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await user?.end();
  await database?.drop();
});

let namespaceCount = 0;

registerOnceConformance(
  {
    name: 'postgres, with the rights that docs/protocol.md lists',
    impossible: {},
    create: async () => {
      namespaceCount += 1;
      const namespace = `case-${namespaceCount}`;
      const there = new URL(database.url);
      there.username = role;
      there.password = 'secret';
      const proxy = await FaultProxy.start(Number(there.port));
      const url = new URL(there);
      url.port = String(proxy.port);
      const store = postgresOnce(url, { namespace });
      const other = postgresOnce(there, { namespace });
      return proxiedSubject(store, other, proxy, {
        expire: async (key) => {
          await user.query(
            'UPDATE tenure.once_keys SET expires_ms = 1, deadline_ms = 1 WHERE namespace = $1 AND key = $2',
            [namespace, key],
          );
        },
        setBack: async (key, durationMs) => {
          await user.query(
            `UPDATE tenure.once_keys SET started_ms = started_ms + $3, deadline_ms = deadline_ms + $3,
              expires_ms = expires_ms + $3 WHERE namespace = $1 AND key = $2`,
            [namespace, key, durationMs],
          );
        },
      });
    },
  },
  { describe: describe.concurrent, it },
);
