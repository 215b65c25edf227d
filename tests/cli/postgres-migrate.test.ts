import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { tenure } from './command-line.js';

/** A message as one line, however it was wrapped. */
const unwrapped = (message: string) => message.replace(/\s+/g, ' ');

let database: FreshDatabase;
/** As it is shown: without user and password. */
let address: string;
/** As it stands in a command to run next, where somebody puts the password in. */
let repeated: string;

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
  const { host, pathname, username } = new URL(database.url);
  address = `postgres://${host}${pathname}`;
  repeated = `postgres://${username}:***@${host}${pathname}`;
});
afterAll(() => database?.drop());

describe('tenure migrate', () => {
  it('is what a command says is missing, and says from and to which version it went', async () => {
    const who = ['who', 'x', '--url', database.url];
    const missing = await tenure(who);
    expect(missing.status).toBe(78);
    expect(missing.stderr).toContain(`next:    tenure migrate --url '${repeated}'\n`);

    const first = await tenure(['migrate', '--url', database.url]);
    expect(first.status).toBe(0);
    expect(first.stdout).toBe(
      'schema tenure: created, version 1\njobs in schema tenure: created, version 1\n',
    );
    const second = await tenure(['migrate', '--url', database.url, '-o', 'json']);
    expect(second.status).toBe(0);
    const answer = { store: address, schema: 'tenure', from: 1, to: 1, jobs: { from: 1, to: 1 } };
    expect(JSON.parse(second.stdout)).toEqual(answer);

    expect(unwrapped((await tenure(who)).stderr)).toContain('nobody holds x: it is free');
  });

  it('takes another schema, which the other commands find by a parameter of the URL', async () => {
    const url = `${database.url}?schema=leases`;
    const who = await tenure(['who', 'x', '--url', url]);
    expect(who.status).toBe(78);
    expect(who.stderr).toContain(`next:    tenure migrate --url '${repeated}?schema=leases'\n`);
    const migrated = await tenure(['migrate', '--url', database.url, '--schema', 'leases']);
    expect(migrated.stdout).toContain('schema leases: created, version 1\njobs in schema leases:');
    expect((await tenure(['migrate', '--url', url])).stdout).toBe(
      'schema leases: version 1, nothing to do\njobs in schema leases: version 1, nothing to do\n',
    );
    expect((await tenure(['who', 'x', '--url', url])).status).toBe(1);
  });

  it.each([
    [['--schema', 'a b'], '', '--schema is not a schema name'],
    [[], '?schema=pg_leases', '--url: schema is not a schema name'],
  ])('refuses what is no name of a schema: %j%s', async (flags, parameter, message) => {
    const url = `${database.url}${parameter}`;
    const { status, stderr } = await tenure(['migrate', '--url', url, ...flags]);
    expect(status).toBe(64);
    expect(unwrapped(stderr)).toContain(message);
    expect(stderr).not.toContain(new URL(database.url).password);
  });

  it.each(['sqlite:x.db', 'redis://h'])('has nothing to do elsewhere: %s', async (url) => {
    const { status, stderr } = await tenure(['migrate', '--url', url]);
    expect(status).toBe(64);
    expect(unwrapped(stderr)).toContain('--url names a store that needs no migration');
  });
});
