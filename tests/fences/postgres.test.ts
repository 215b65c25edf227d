import pg from 'pg';
import { afterAll, beforeAll, describe, inject, it } from 'vitest';
import { registerFenceConformance } from '../../src/fences/conformance/index.js';
import { postgresFence } from '../../src/fences/postgres/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { dataTableSql, postgresSubject } from './postgres-subject.js';

let database: FreshDatabase;

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  const fence = postgresFence(database.url);
  await fence.migrate();
  await fence.close();
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query(dataTableSql);
  await client.end();
});

afterAll(async () => await database.drop());

registerFenceConformance('the PostgreSQL fence', async () => postgresSubject(database.url), {
  describe,
  it,
});
