import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { postgresFence } from '../../src/fences/postgres/index.js';
import { Once } from '../../src/once/index.js';
import { memoryOnce } from '../../src/once/memory/index.js';
import { postgresOnce } from '../../src/once/postgres/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../support/servers/index.js';
import { startInside } from './command-inside.js';

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

const tenure = (args: string[]) => startInside(args).ended;
const onceIn = (schema: string) => new Once(postgresOnce(database.url, { schema }));

describe('tenure migrate', () => {
  it('is what a command says is missing, and says from and to which version it went', async () => {
    const who = ['who', 'x', '--url', database.url];
    const missing = await tenure(who);
    expect(missing.status).toBe(78);
    expect(missing.stderr).toContain(`next:    tenure migrate --url '${repeated}'\n`);

    const first = await tenure(['migrate', '--url', database.url]);
    expect(first.status).toBe(0);
    expect(first.stdout).toBe(
      [
        'schema tenure: created, version 1\n',
        'jobs in schema tenure: created, version 1\n',
        'fence in schema tenure: its tables are there, made now or before\n',
        'once in schema tenure: created, version 1\n',
      ].join(''),
    );
    const second = await tenure(['migrate', '--url', database.url, '-o', 'json']);
    expect(second.status).toBe(0);
    const there = { from: 1, to: 1 };
    const answer = {
      store: address,
      schema: 'tenure',
      ...there,
      jobs: there,
      fence: {},
      once: there,
    };
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
    expect((await tenure(['migrate', '--url', url, '--only', 'leases, jobs'])).stdout).toBe(
      'schema leases: version 1, nothing to do\njobs in schema leases: version 1, nothing to do\n',
    );
    expect((await tenure(['who', 'x', '--url', url])).status).toBe(1);
  });

  it('makes all that the library needs in the database: fences and keys find their tables', async () => {
    const [fence, once] = [postgresFence(database.url, { schema: 'all' }), onceIn('all')];
    const token = { name: 'a', term: 1, holder: new Holder('me', '0'.repeat(32)) };
    try {
      await expect(fence.claim(token)).rejects.toThrow(
        /fence\.migrate\(\), or run "tenure migrate/,
      );
      await expect(once.do('k', () => 1)).rejects.toThrow(
        /once\.migrate\(\) .* or run "tenure migrate --url postgres:\/\/\.\.\.\?schema=all"/,
      );
      const url = `${database.url}?schema=all`;
      expect((await tenure(['migrate', '--url', url, '--only', 'fence'])).stdout).toBe(
        'fence in schema all: its tables are there, made now or before\n',
      );
      await fence.claim(token);
      await expect(once.do('k', () => 1)).rejects.toThrow('once.migrate()');
      expect((await tenure(['migrate', '--url', url, '--only', 'once'])).status).toBe(0);
      // What was missing a moment ago is not looked for anew at once.
      await expect.poll(() => once.do('k', () => 1).catch(() => 0)).toBe(1);
    } finally {
      await Promise.all([fence.close(), once.close()]);
    }
  });

  it('is what a Once does by itself when it is asked to', async () => {
    const once = onceIn('by_itself');
    try {
      await once.migrate();
      expect(await once.do('k', () => 2)).toBe(2);
      await new Once(memoryOnce()).migrate();
    } finally {
      await once.close();
    }
  });

  it('refuses what has no tables', async () => {
    const { status, stderr } = await tenure(['migrate', '--url', database.url, '--only', 'fences']);
    expect(status).toBe(64);
    expect(unwrapped(stderr)).toContain('--only is no part of tenure with tables (got "fences")');
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
    expect(unwrapped(stderr)).toContain(
      'use postgres://host:port/database, or mysql://host:port for a fence there',
    );
  });
});
