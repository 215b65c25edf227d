import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { StoreMisconfiguredError } from '../../../src/errors/index.js';
import {
  migratePostgres,
  postgresCoordinator,
  postgresFence,
  postgresJobs,
  postgresOnce,
} from '../../../src/postgres.js';
import { runSql } from '../../coordinators/postgres-fixture.js';
import { type FreshDatabase, freshPostgresDatabase } from '../../support/servers/index.js';

const call = { timeoutMs: 30_000 };
const roleOf = (who: string) => `${who}_${process.pid}`;
const leases = 'docs/protocol.md lists under "Leases on PostgreSQL: The least rights"';
const effects = 'docs/protocol.md lists under "Keys of effects"';
const fences = 'docs/fencing/postgres.md lists under "The tables"';
let database: FreshDatabase;
/** Let in with no rights; with the schema; with the versions in it, too. */
const urls = { denied: '', seeing: '', reading: '' };

function asRole(name: string): string {
  const url = new URL(database.url);
  url.username = name;
  url.password = 'secret';
  return url.href;
}

interface Owner {
  close(): Promise<void>;
}

async function refusalOf<Store extends Owner>(
  store: Store,
  use: (store: Store) => Promise<unknown>,
): Promise<string> {
  try {
    await use(store);
  } catch (error) {
    expect(error).toBeInstanceOf(StoreMisconfiguredError);
    return (error as Error).message;
  } finally {
    await store.close();
  }
  return expect.fail('nothing was refused');
}

const read = (url: string) =>
  refusalOf(postgresCoordinator(url), (store) => store.read(['name'], call));
const list = (url: string) => refusalOf(postgresJobs(url), (store) => store.look(['job'], call));
const once = (url: string) =>
  refusalOf(postgresOnce(url), (store) => store.read('a-key-of-a-test', call));
const term = (url: string) => refusalOf(postgresFence(url), (fence) => fence.installedTerm('name'));
const create = (url: string) =>
  refusalOf(postgresFence(url, { schema: 'elsewhere' }), (fence) => fence.migrate());

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  await migratePostgres(database.url);
  for (const make of [postgresFence, postgresJobs, postgresOnce]) {
    const store = make(database.url);
    await store.migrate();
    await store.close();
  }
  const rights = {
    seeing: 'GRANT USAGE ON SCHEMA tenure TO',
    reading: 'GRANT SELECT ON tenure.versions TO',
  };
  for (const who of ['denied', 'seeing', 'reading'] as const) {
    const role = roleOf(who);
    await runSql(database.url, `CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
    if (who !== 'denied') await runSql(database.url, `${rights.seeing} ${role}`);
    if (who === 'reading') await runSql(database.url, `${rights.reading} ${role}`);
    urls[who] = asRole(role);
  }
});
afterAll(async () => {
  for (const role of Object.keys(urls).map(roleOf))
    await runSql(database.url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await database.drop();
});

describe('a missing privilege', () => {
  it.each([
    ['leases', read, 'denied', '(permission denied for schema tenure)', leases],
    ['leases', read, 'seeing', '(permission denied for table versions)', leases],
    ['jobs', list, 'seeing', '(permission denied for table runs)', leases],
    ['effects', once, 'seeing', '(permission denied for table versions)', leases],
    ['effects', once, 'reading', '(permission denied for table once_keys)', effects],
    ['a fence', term, 'denied', '(permission denied for schema tenure)', fences],
    ['a fence', term, 'seeing', '(permission denied for table fences)', fences],
  ] as const)(
    'of %s is named, with the page that lists it',
    async (_what, use, who, words, page) => {
      const message = await use(urls[who]);
      expect(message).toContain(`the role lacks a privilege ${words}`);
      expect(message).toContain(page);
      expect(message).not.toContain('look of');
    },
  );

  it('to migrate is that to create a schema', async () => {
    const message = await create(urls.denied);
    expect(message).toMatch(/lacks a privilege \(permission denied for database .*\)/);
    expect(message).toContain('migrate with a role that may create schemas in this database');
  });
});

it('a role that is not let in is named', async () => {
  const message = await read(asRole('nobody_of_that_name'));
  expect(message).toContain('nobody_of_that_name');
});
