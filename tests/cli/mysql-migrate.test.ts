import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenOf } from '../../src/fences/conformance/scenario.js';
import { mysqlFence } from '../../src/fences/mysql/index.js';
import { runSql } from '../fences/mysql/subject.js';
import { type MariaDbServer, startMariaDb } from '../support/servers/index.js';
import { startInside } from './command-inside.js';

let server: MariaDbServer;
beforeAll(async () => {
  server = await startMariaDb();
}, 60_000);
afterAll(() => server.stop());

const tenure = (args: string[]) => startInside(args).ended;
/** A message as one line, however it was wrapped. */
const unwrapped = (message: string) => message.replace(/\s+/g, ' ');

describe('tenure migrate in MariaDB', () => {
  it.each([
    [[], 'tenure'],
    [['--schema', 'other', '--only', 'fence'], 'other'],
  ])('creates what a fence needs, and may run again: %j', async (flags, database) => {
    await runSql(server.url, `DROP DATABASE IF EXISTS ${database}`);
    const fence = mysqlFence(server.url, { database });
    await expect(fence.claim(tokenOf('a', 1))).rejects.toThrow('fence.migrate()');
    for (let twice = 0; twice < 2; twice++) {
      const { status, stdout, stderr } = await tenure(['migrate', '--url', server.url, ...flags]);
      expect([status, stderr]).toEqual([0, '']);
      expect(stdout).toBe(
        `fence in schema ${database}: its tables are there, made now or before\n`,
      );
    }
    await fence.claim(tokenOf('a', 1));
    await fence.close();
    const json = await tenure(['migrate', '--url', server.url, ...flags, '-o', 'json']);
    const { host, pathname } = new URL(server.url);
    const store = `mysql://${host}${pathname === '/' ? '' : pathname}`;
    const answer = JSON.parse(json.stdout);
    expect(answer).toMatchObject({ schema: database, fence: {} });
    expect(answer.store.replace(/\/$/, '')).toBe(store);
  });

  it.each([
    [['--only', 'jobs,fence'], '--only has no tables in MariaDB and MySQL (got "jobs")'],
    [['--schema', 'a b'], '--schema is not a database name'],
    [['--url', 'mysql://127.0.0.1?flags=x'], 'leave it out next: tenure migrate --help'],
  ])('refuses what it cannot create there: %j', async (flags, message) => {
    const { status, stderr } = await tenure(['migrate', '--url', server.url, ...flags]);
    expect(status).toBe(64);
    expect(unwrapped(stderr)).toContain(message);
  });

  it('says what is to be made first if there is no database of the name that the URL has', async () => {
    const url = new URL(server.url);
    url.pathname = '/nodb';
    const { status, stderr } = await tenure(['migrate', '--url', url.href]);
    expect(status).toBe(78);
    expect(unwrapped(stderr)).toContain('CREATE DATABASE nodb, or correct the URL');
    expect(stderr).not.toContain('run "tenure migrate');
  });

  it('shows no password of a URL that is none, and says who cannot be reached', async () => {
    const wrong = await tenure(['migrate', '--url', 'mysql://u:hunter2#@h/x']);
    expect(wrong.status).toBe(64);
    expect(wrong.stderr).toContain('--url');
    expect(wrong.stderr).not.toContain('hunter2');
    const gone = await tenure(['migrate', '--url', 'mysql://u:hunter2@127.0.0.1:1/x']);
    expect(gone.status).toBe(69);
    expect(gone.stderr).not.toContain('hunter2');
    expect(gone.stderr).toContain("next:    mariadb -h 127.0.0.1 -P 1 -u u -p -e 'select 1'");
  });
});
