import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, inject, it } from 'vitest';
import { registerFenceConformance } from '../../../src/fences/conformance/index.js';
import type { FreshDatabase } from '../../support/servers/index.js';
import { postgresSubject, preparedDatabase, runSql } from './subject.js';

const role = `fence_writer_${randomBytes(4).toString('hex')}`;
let database: FreshDatabase;
let writerUrl: string;

beforeAll(async () => {
  database = await preparedDatabase(inject('postgresUrl'));
  // Exactly what docs/fencing/postgres.md says a role needs, and the table of the tests themselves.
  await runSql(
    database.url,
    `CREATE ROLE ${role} LOGIN PASSWORD 'pw';
     GRANT USAGE ON SCHEMA tenure TO ${role};
     GRANT SELECT, INSERT, UPDATE ON tenure.fences TO ${role};
     GRANT SELECT, INSERT ON tenure.effects TO ${role};
     GRANT SELECT, INSERT, UPDATE ON public.data TO ${role}`,
  );
  const url = new URL(database.url);
  url.username = role;
  url.password = 'pw';
  writerUrl = url.href;
});

afterAll(async () => {
  await database.drop();
  await runSql(inject('postgresUrl'), `DROP ROLE ${role}`);
});

registerFenceConformance(
  'the PostgreSQL fence, with no more privileges than it needs',
  async () => postgresSubject(writerUrl),
  { describe, it },
);
