import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  OptionError,
  StoreMisconfiguredError,
  StoreRefusedError,
} from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import {
  type MysqlFence,
  type MysqlFenceOptions,
  migrationSql,
  mysqlFence,
} from '../../../src/fences/mysql/index.js';
import { type MariaDbServer, startMariaDb } from '../../support/servers/index.js';
import { createsItsPlace, withFence } from '../stored-fences.js';
import { createAccount, openPool, runSql } from './subject.js';

let server: MariaDbServer;

beforeAll(async () => {
  server = await startMariaDb();
}, 60_000);

afterAll(async () => await server.stop());

const using = <Result>(
  options: MysqlFenceOptions,
  use: (fence: MysqlFence) => Promise<Result>,
  url = server.url,
) => withFence(mysqlFence(url, options), use);

const wrong = [
  '',
  'a`b',
  'x`; DROP DATABASE app; --',
  "quote'",
  'two words',
  'dot.ted',
  '1st',
  'nul\0',
  'mysql',
  'MySQL',
  'information_schema',
  'performance_schema',
  'sys',
  'schéma',
  's'.repeat(65),
  7,
];

describe('the database of the MySQL fence', { timeout: 20_000 }, () => {
  createsItsPlace(
    {
      fence: (database) => mysqlFence(server.url, { database }),
      migrationSql,
      async run(sql) {
        for (const text of sql.split(';\n')) if (text.trim() !== '') await runSql(server.url, text);
      },
      rows: (database) => runSql(server.url, `SELECT * FROM \`${database}\`.fences`),
    },
    { odd: ['select', 'Mixed_Case', '_', 's'.repeat(64)], wrong },
    'call migrate() of what was asked, such as fence.migrate()',
  );

  it('is not created while somebody else is at it for too long', async () => {
    const pool = openPool(server.url);
    const holder = await pool.getConnection();
    await holder.query("SELECT GET_LOCK('tenure.migrate', 0)");
    const options = {
      database: 'busy',
      idleInTransactionTimeoutMs: 1000,
      waitTimeoutMs: 2000,
      timeoutMs: 1000,
    };
    const attempt = using(options, (fence) => fence.migrate());
    await expect(attempt).rejects.toBeInstanceOf(StoreRefusedError);
    holder.destroy();
    await pool.end();
  });

  it('needs no privilege to be found complete, and names the lack of one to be created or written', async () => {
    await using({ database: 'shared' }, (fence) => fence.migrate());
    const url = await createAccount(server.url, [
      'SELECT ON app.*',
      'SELECT ON shared.fences',
      'SELECT ON shared.effects',
    ]);
    await using({ database: 'shared' }, (fence) => fence.migrate(), url);
    const attempts = [
      () => using({ database: 'denied' }, (fence) => fence.migrate(), url),
      () => using({ database: 'shared' }, (fence) => fence.claim(tokenOf('a', 1)), url),
    ];
    for (const begin of attempts) {
      const attempt = begin();
      await expect(attempt).rejects.toBeInstanceOf(StoreMisconfiguredError);
      await expect(attempt).rejects.toThrow(/privilege/);
    }
  });

  // Keys of MyISAM are too short for the table of effects.
  it.each([
    ['fences', 'MyISAM'],
    ['effects', 'Aria'],
  ])(
    'is refused if its table %s has the engine %s, without transactions',
    async (table, engine) => {
      const database = `without_${table}`;
      await using({ database }, (fence) => fence.migrate());
      const change = `ROW_FORMAT = DEFAULT, ENGINE = ${engine}`;
      await runSql(server.url, `ALTER TABLE ${database}.${table} ${change}`);
      const claim = using({ database }, (fence) => fence.claim(tokenOf('a', 1)));
      await expect(claim).rejects.toBeInstanceOf(StoreMisconfiguredError);
      await expect(claim).rejects.toThrow(`engine ${engine}`);
    },
  );
});

describe('the options of the MySQL fence', () => {
  const bad: [string, unknown, object?][] = [
    ['a URL of another store', 'redis://localhost'],
    ['no URL', 'localhost:3306'],
    ['a password that is not encoded', 'mysql://tenure:p@ss@host/db'],
    ['several statements at a time', 'mysql://h/d?multipleStatements=true'],
    ['flags of the protocol', 'mysql://h/d?flags=MULTI_STATEMENTS'],
    ['no pool', {}],
    ['no source', undefined],
    ['an idle limit of zero', 'mysql://h/d', { idleInTransactionTimeoutMs: 0 }],
    ['an idle limit of no whole seconds', 'mysql://h/d', { idleInTransactionTimeoutMs: 1500 }],
    ['a fraction', 'mysql://h/d', { timeoutMs: 100.5 }],
    ['a wait shorter than the idle limit', 'mysql://h/d', { waitTimeoutMs: 30_000 }],
    ['another word for durability', 'mysql://h/d', { durability: 'none' }],
  ];
  it.each(bad)('refuse %s', (_title, source, options) => {
    expect(() => mysqlFence(source as string, options)).toThrow(OptionError);
  });

  it('show nothing of a URL that is refused', async () => {
    const scheme = () => mysqlFence('mysqll://tenure:hunter2@host/db');
    expect(scheme).toThrow(
      expect.not.objectContaining({ message: expect.stringMatching('hunter2') }),
    );
    const encoding = () => mysqlFence('mysql://tenure:hunter2/@host/db');
    expect(encoding).toThrow(/an @ where none belongs/);
    expect(encoding).toThrow(
      expect.not.objectContaining({ message: expect.stringMatching('hunter2') }),
    );
    const fence = mysqlFence('mysql://tenure:hunter2@127.0.0.1:1/db?ssl=hunter2');
    const error = await fence.claim(tokenOf('a', 1)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OptionError);
    expect(String(error)).not.toContain('hunter2');
  });
});
