import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  OptionError,
  SequenceReusedError,
  StaleTermError,
  StoreMisconfiguredError,
} from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import {
  migrationSql,
  type PostgresFence,
  type PostgresFenceOptions,
  postgresFence,
} from '../../../src/fences/postgres/index.js';
import { type FreshDatabase, freshPostgresDatabase } from '../../support/servers/index.js';
import { createsItsPlace, withFence } from '../stored-fences.js';
import { openPool, runSql, wrapped } from './subject.js';

let database: FreshDatabase;

beforeAll(async () => {
  database = await freshPostgresDatabase(inject('postgresUrl'));
});

afterAll(async () => await database.drop());

const using = <Result>(
  options: PostgresFenceOptions,
  use: (fence: PostgresFence) => Promise<Result>,
  url = database.url,
) => withFence(postgresFence(url, options), use);

const wrong = [
  '',
  'a"b',
  'x"; DROP SCHEMA public CASCADE; --',
  "quote'",
  'two words',
  'dot.ted',
  '1st',
  'nul\0',
  'pg_catalog',
  'PG_temp',
  'information_schema',
  'schéma',
  's'.repeat(64),
  7,
];

describe('the schema of the PostgreSQL fence', () => {
  createsItsPlace(
    {
      fence: (schema) => postgresFence(database.url, { schema }),
      migrationSql,
      run: (sql) => runSql(database.url, sql),
      rows: async (schema) => (await runSql(database.url, `SELECT * FROM "${schema}".fences`)).rows,
    },
    { odd: ['select', 'Mixed_Case', '_', 's'.repeat(63)], wrong },
    'such as fence.migrate(), or run "tenure migrate --url',
  );

  it('needs no privilege to be found complete, and names the lack of one to be created', async () => {
    const role = `fence_reader_${randomBytes(4).toString('hex')}`;
    await using({ schema: 'shared' }, (fence) => fence.migrate());
    await runSql(
      database.url,
      `CREATE ROLE ${role} LOGIN PASSWORD 'pw'; GRANT USAGE ON SCHEMA shared TO ${role}`,
    );
    const url = new URL(database.url);
    url.username = role;
    url.password = 'pw';
    try {
      await using({ schema: 'shared' }, (fence) => fence.migrate(), url.href);
      const denied = using({ schema: 'denied' }, (fence) => fence.migrate(), url.href);
      await expect(denied).rejects.toBeInstanceOf(StoreMisconfiguredError);
      const claim = using({ schema: 'shared' }, (fence) => fence.claim(tokenOf('a', 1)), url.href);
      await expect(claim).rejects.toThrow(/privilege/);
    } finally {
      await runSql(database.url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  it('gains the ids of messages if it is older than they are, and keeps its records', async () => {
    const without = migrationSql('aged')
      .replace('  id text,\n', '')
      .replace(/ALTER TABLE.*\n/, '');
    expect(without).not.toContain('id text');
    await runSql(database.url, without);
    const token = tokenOf('aged', 5);
    const record = async (fence: PostgresFence, seq: number, id: string) =>
      await fence.transaction(token, (open) => fence.recordOnce(open, 'aged', 'key', seq, id));
    await using({ schema: 'aged' }, async (fence) => {
      await expect(record(fence, 1, 'm1')).rejects.toThrow(/run migrate\(\)/);
      await runSql(
        database.url,
        "INSERT INTO aged.effects (scope, key, seq) VALUES ('aged', 'key', 1)",
      );
      await fence.migrate();
      expect(await record(fence, 1, 'whoever')).toBe(false);
      expect(await record(fence, 2, 'm2')).toBe(true);
      await expect(record(fence, 2, 'whoever')).rejects.toBeInstanceOf(SequenceReusedError);
    });
  });

  it('gains the procedure if it is older than that, and asks for it where a client needs it', async () => {
    await runSql(database.url, migrationSql('early'));
    await runSql(database.url, 'DROP PROCEDURE early.fence_pass');
    const token = tokenOf('early', 5);
    const pool = openPool(database.url);
    const onWrapped = postgresFence(wrapped(pool), { schema: 'early' });
    await using({ schema: 'early' }, async (fence) => {
      await fence.claim(token);
      await fence.transaction(token, async () => {});
      const attempt = onWrapped.transaction(token, async () => {});
      await expect(attempt).rejects.toThrow(/run migrate\(\)/);
      await fence.migrate();
      await onWrapped.transaction(token, async () => {});
      expect(await fence.installedTerm('early')).toBe(5);
    });
    await pool.end();
  });

  it('does not follow the search path, nor types that the program parses in its own way', async () => {
    await using({}, (fence) => fence.migrate());
    await runSql(database.url, 'CREATE SCHEMA decoy; CREATE TABLE decoy.fences (name text)');
    const types = new pg.TypeOverrides();
    types.setTypeParser(pg.types.builtins.INT8, (text) => BigInt(text));
    const pool = openPool(database.url, { options: '-c search_path=decoy', types });
    const fence = postgresFence(pool);
    const token = tokenOf('path', 5);
    await fence.claim(token);
    await expect(fence.claim(tokenOf('path', 4))).rejects.toBeInstanceOf(StaleTermError);
    await fence.transaction(token, async () => {});
    expect(await fence.installedTerm('path')).toBe(5);
    await pool.end();
  });
});

describe('the options of the PostgreSQL fence', () => {
  const bad: [string, unknown, object?][] = [
    ['a URL of another store', 'redis://localhost'],
    ['no URL', 'localhost:5432'],
    ['no pool', {}],
    ['one client', new pg.Client('postgres://h/d')],
    ['no source', undefined],
    ['an idle limit of zero', 'postgres://h/d', { idleInTransactionTimeoutMs: 0 }],
    ['a fraction', 'postgres://h/d', { timeoutMs: 100.5 }],
    ['a wait shorter than the idle limit', 'postgres://h/d', { waitTimeoutMs: 30_000 }],
  ];
  it.each(bad)('refuse %s', (_title, source, options) => {
    expect(() => postgresFence(source as string, options)).toThrow(OptionError);
  });

  it('show nothing of a URL that is refused', () => {
    const attempt = () => postgresFence('postgre://tenure:hunter2@host/db');
    expect(attempt).toThrow(
      expect.not.objectContaining({ message: expect.stringMatching('hunter2') }),
    );
  });
});
