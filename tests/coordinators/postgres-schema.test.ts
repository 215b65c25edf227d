import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { OptionError, StoreMisconfiguredError, type TenureError } from '../../src/errors/index.js';
import {
  migratePostgres,
  postgresCoordinator,
  postgresFence,
  postgresSchemaSql,
} from '../../src/postgres.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { ann, bob, call, eventually, runSql, Speaker } from './postgres-fixture.js';

let database: FreshDatabase;
const sql = <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
  runSql<Row>(database.url, text, values);

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
});
afterAll(() => database.drop());

/** The error with which a read is refused in this schema. */
async function refusalIn(schema: string, url = database.url): Promise<TenureError> {
  const coordinator = postgresCoordinator(url, { schema });
  try {
    await coordinator.read(['name'], call);
  } catch (error) {
    return error as TenureError;
  } finally {
    await coordinator.close();
  }
  return expect.fail('nothing was refused');
}

async function takesIn(schema: string, url = database.url): Promise<number> {
  const coordinator = postgresCoordinator(url, { schema });
  try {
    return await new Speaker(coordinator).take('name');
  } finally {
    await coordinator.close();
  }
}

describe('the schema of leases', () => {
  it('is missed at the first call, which says how to create it, and at once', async () => {
    const error = await refusalIn('nowhere');
    expect(error).toBeInstanceOf(StoreMisconfiguredError);
    expect(error.message).toContain('tenure migrate --url postgres://... --schema nowhere');
  });

  it('is found by a coordinator that was refused before it was there', async () => {
    const coordinator = postgresCoordinator(database.url, { schema: 'later' });
    await expect(coordinator.read(['name'], call)).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await migratePostgres(database.url, { schema: 'later' });
    await eventually(() => coordinator.read(['name'], call).catch(() => 'refused')).toEqual([
      undefined,
    ]);
    await coordinator.close();
  });

  it('is created once, however many migrate it at the same time, and is as it was afterwards', async () => {
    const migrations = await Promise.all(
      Array.from({ length: 6 }, () => migratePostgres(database.url, { schema: 'crowd' })),
    );
    expect(migrations.filter(({ from }) => from === 0)).toEqual([{ from: 0, to: 1 }]);
    expect(migrations.filter(({ from }) => from === 1)).toHaveLength(5);
    const term = await takesIn('crowd');
    expect(await migratePostgres(database.url, { schema: 'crowd' })).toEqual({ from: 1, to: 1 });
    const [row] = await sql<{ last_term: string }>('SELECT last_term FROM crowd.namespaces');
    expect(Number(row?.last_term)).toBe(term);
  });

  it('is created as a whole or not at all', async () => {
    await sql('CREATE SCHEMA taken; CREATE TABLE taken.documents (mine text)');
    await expect(migratePostgres(database.url, { schema: 'taken' })).rejects.toThrow(
      /nothing was written/,
    );
    const tables = await sql("SELECT tablename FROM pg_tables WHERE schemaname = 'taken'");
    expect(tables).toEqual([{ tablename: 'documents' }]);
  });

  it('may hold the tables of a fence as well, whichever comes first', async () => {
    const fence = postgresFence(database.url, { schema: 'shared' });
    await Promise.all([fence.migrate(), migratePostgres(database.url, { schema: 'shared' })]);
    const term = await takesIn('shared');
    await fence.claim({ name: 'name', term, holder: ann });
    await fence.close();
  });

  it('is refused if a newer tenure has migrated it, by a migration too', async () => {
    await migratePostgres(database.url, { schema: 'future' });
    await sql('UPDATE future.versions SET version = 2');
    const error = await refusalIn('future');
    expect(error).toBeInstanceOf(StoreMisconfiguredError);
    expect(error.message).toMatch(/version 2.*knows 1.*Upgrade tenure/);
    const migration = migratePostgres(database.url, { schema: 'future' });
    await expect(migration).rejects.toThrow(/version 2.*knows 1/);
  });

  it('is refused if it is of an older tenure, until it is migrated', async () => {
    await migratePostgres(database.url, { schema: 'past' });
    await sql('UPDATE past.versions SET version = 0');
    expect((await refusalIn('past')).message).toMatch(/holds no tables.*tenure migrate/);
  });

  it('is the same whether it is migrated or its SQL is run by another tool', async () => {
    await sql(`BEGIN; ${postgresSchemaSql('by_hand')} COMMIT`);
    expect(await migratePostgres(database.url, { schema: 'by_hand' })).toEqual({ from: 1, to: 1 });
    expect(await takesIn('by_hand')).toBeGreaterThan(0);
  });

  it('takes the name that is configured and no SQL', async () => {
    for (const schema of [
      'a"; DROP TABLE x; --',
      'a.b',
      'pg_mine',
      '',
      'information_schema',
      'x'.repeat(64),
    ]) {
      expect(() => postgresCoordinator(database.url, { schema })).toThrow(OptionError);
      await expect(migratePostgres(database.url, { schema })).rejects.toBeInstanceOf(OptionError);
      expect(() => postgresSchemaSql(schema)).toThrow(OptionError);
    }
  });

  it('may have a name with capitals, or one that is a keyword', async () => {
    for (const schema of ['Tenure', 'select']) {
      await migratePostgres(database.url, { schema });
      expect(await takesIn(schema)).toBeGreaterThan(0);
    }
  });

  it('keeps apart what stands in another schema or another namespace', async () => {
    for (const schema of ['one', 'other']) await migratePostgres(database.url, { schema });
    const places = [
      { schema: 'one', namespace: 'a' },
      { schema: 'one', namespace: 'b' },
      { schema: 'other', namespace: 'a' },
    ];
    const coordinators = places.map((place) => postgresCoordinator(database.url, place));
    const woken: (string | undefined)[] = [];
    coordinators[2]?.watch('group', (name) => woken.push(name));
    await eventually(() => woken.length).toBeGreaterThan(0);
    for (const coordinator of coordinators.slice(0, 2)) {
      const speaker = new Speaker(coordinator);
      const term = await speaker.take('group/name');
      await coordinator.suspend('group/name', { by: 'ops', reason: 'a test' }, call);
      expect(await speaker.release('group/name', term)).toBe('ended');
    }
    expect((await coordinators[2]?.list('group', call))?.length).toBe(0);
    expect(woken.filter((name) => name !== undefined)).toEqual([]);
    for (const coordinator of coordinators) await coordinator.close();
  });
});

describe('the role of a coordinator', () => {
  const rights = (role: string) => `
    GRANT USAGE ON SCHEMA tenure TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tenure TO ${role};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA tenure TO ${role}`;
  const urlOf = (role: string) => {
    const url = new URL(database.url);
    url.username = role;
    url.password = 'secret';
    return url.href;
  };
  const role = `leaser_${process.pid}`;

  beforeAll(async () => {
    await migratePostgres(database.url);
    await sql(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
  });
  afterAll(() => sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`));

  it('is told what it lacks', async () => {
    const error = await refusalIn('tenure', urlOf(role));
    expect(error).toBeInstanceOf(StoreMisconfiguredError);
    expect(error.message).toMatch(/lacks a privilege/);
  });

  it('needs to read and write the tables of the schema, and no more', async () => {
    await sql(rights(role));
    const coordinator = postgresCoordinator(urlOf(role));
    const speaker = new Speaker(coordinator);
    const term = await speaker.take('name', { keepHistory: true });
    expect(await speaker.renew('name', term)).toBe('renewed');
    const entry = {
      name: 'name',
      holder: ann,
      standing: 'waiting',
      preference: 0,
      ttlMs: 5_000,
    } as const;
    expect((await coordinator.enroll([entry], call))[0]?.position).toBe(0);
    await coordinator.suspend('name', { by: 'ops', reason: 'a test' }, call);
    expect(await speaker.release('name', term)).toBe('ended');
    expect(await coordinator.resume('name', { by: 'ops', reason: 'a test' }, call)).toBe(true);
    expect(await coordinator.history('name', call)).toHaveLength(3);
    await coordinator.writeDocument('name', 'text', 0, call);
    await coordinator.close();
  });

  it('may find all done when it migrates, but not create anything', async () => {
    expect(await migratePostgres(urlOf(role))).toEqual({ from: 1, to: 1 });
    const migration = migratePostgres(urlOf(role), { schema: 'denied' });
    await expect(migration).rejects.toBeInstanceOf(StoreMisconfiguredError);
  });
});

describe('a schema that stands in the URL', () => {
  const urlWith = (query: string) => `${database.url}${query}`;

  it('is the one that is migrated and used, by whoever has that URL', async () => {
    const url = urlWith('?schema=in_the_url');
    expect(await migratePostgres(url)).toMatchObject({ from: 0 });
    const one = postgresCoordinator(url);
    const other = postgresCoordinator(database.url, { schema: 'in_the_url' });
    try {
      await new Speaker(one).take('name');
      expect(await new Speaker(other).acquire('name', { holder: bob })).toMatchObject({
        outcome: 'held',
      });
    } finally {
      await one.close();
      await other.close();
    }
  });

  it('is not passed over in silence if it is misspelt, nor is anything else that nobody reads', () => {
    const misspelt = () => postgresCoordinator(urlWith('?sslmode=disable&shema=one'));
    expect(misspelt).toThrow(OptionError);
    expect(misspelt).toThrow(/\?shema=/);
    expect(() => postgresCoordinator('postgres://ann:1?secret@h/db')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });

  it('is refused if another is named as well', () => {
    for (const [query, options] of [
      ['?schema=one&schema=two', {}],
      ['?schema=one', { schema: 'two' }],
    ] as const) {
      const url = urlWith(query);
      expect(() => postgresCoordinator(url, options)).toThrow(OptionError);
      expect(() => postgresCoordinator(url, options)).toThrow(/one, two/);
    }
    expect(() => postgresCoordinator(urlWith('?schema=a%20b'))).toThrow(OptionError);
  });
});
