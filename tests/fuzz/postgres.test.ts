import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { migratePostgres, postgresCoordinator } from '../../src/postgres.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { type Columns, changesOf, longText, ofEachColumn, texts, wholes } from './columns.js';
import { fewOrAll } from './rounds.js';
import { abuse, standings } from './scene.js';

const never = ["'infinity'", "'294276-01-01'"];
const integers = ['-1', '2147483647'];

const columns: Columns = {
  leases: {
    kind: texts,
    term: [...wholes, 'NULL'],
    holder: [...texts, longText, 'NULL'],
    attempt: [...texts, 'NULL'],
    ttl_ms: integers,
    grace_ms: ['2147483647'],
    reserve_ms: ['2147483647'],

    deadline: never,
    granted_at: [...never, "'-infinity'", 'NULL'],
    renewed_at: [...never, "'-infinity'", 'NULL'],
    metadata: [...texts, longText, 'NULL'],
    revoked_at: never,
    revoked_by: texts,
  },
  suspensions: { suspended_by: [...texts, longText], reason: texts, suspended_at: never },
  candidates: {
    digest: texts,
    id: texts,
    standing: texts,
    preference: integers,
    since: wholes,
    since_at: [...never, "'-infinity'"],
    refresh: wholes,
    deadline: never,
    metadata: texts,
    call_count: integers,
    call_place: integers,
  },
  history: {
    kind: texts,
    noted_at: [...never, "'-infinity'"],
    term: [...wholes, 'NULL'],
    holder_id: [...texts, 'NULL'],
  },
  documents: { version: wholes, body: ["''", "'\\xff00fe'"] },
};

let database: FreshDatabase;
let stranger: pg.Pool;

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  await migratePostgres(database.url);
  stranger = new pg.Pool({ connectionString: database.url, max: 2 });
});
afterAll(async () => {
  await stranger?.end();
  await database?.drop();
});

describe('what stands in PostgreSQL under a name and was meddled with', () => {
  it.each(standings)('is told by type, and the name is granted to nobody: %s', async (standing) => {
    const namespace = `fuzz/${standing}`;
    const coordinator = postgresCoordinator(database.url, { namespace });
    const all = changesOf(columns);
    const at = standings.indexOf(standing);
    // A row that is over is looked at by the sweep of whoever acquires another name: there, each column.
    const changes = standing === 'reserved' ? ofEachColumn(columns, at) : fewOrAll(all, 24, at);
    const places = async (name: string) =>
      changes.map(({ table, column, value }) => ({
        what: `${table}.${column} = ${value.slice(0, 60)}`,
        spoil: () =>
          stranger.query(
            `UPDATE tenure.${table} SET ${column} = ${value} WHERE namespace = $1 AND name = $2`,
            [namespace, name],
          ),
      }));
    const { wrong, count } = await abuse(coordinator, standing, places);
    await coordinator.close();
    expect(wrong).toEqual([]);
    expect(count).toBe(changes.length);
  });
});
