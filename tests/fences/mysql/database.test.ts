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
import { createAccount, openPool, runSql } from './subject.js';

let server: MariaDbServer;

beforeAll(async () => {
  server = await startMariaDb();
}, 60_000);

afterAll(async () => await server.stop());

async function withFence<Result>(
  options: MysqlFenceOptions,
  use: (fence: MysqlFence) => Promise<Result>,
  url = server.url,
): Promise<Result> {
  const fence = mysqlFence(url, options);
  try {
    return await use(fence);
  } finally {
    await fence.close();
  }
}

const hostile = [
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
  7 as never,
];

describe('the database of the MySQL fence', { timeout: 20_000 }, () => {
  it.each(hostile)('refuses the name %j', (database) => {
    expect(() => mysqlFence(server.url, { database })).toThrow(OptionError);
    expect(() => migrationSql(database)).toThrow(OptionError);
  });

  it.each(['select', 'Mixed_Case', '_', 's'.repeat(64)])(
    'takes the name %j as it is',
    async (database) => {
      await withFence({ database }, async (fence) => {
        await fence.migrate();
        await fence.claim(tokenOf('ledger', 5));
      });
      expect(await runSql(server.url, `SELECT term FROM \`${database}\`.fences`)).toEqual([
        { term: 5 },
      ]);
    },
  );

  it('is created once by many that migrate at the same moment, and again without change', async () => {
    const options = { database: 'crowded' };
    await Promise.all(
      Array.from({ length: 8 }, () => withFence(options, (fence) => fence.migrate())),
    );
    await withFence(options, async (fence) => {
      await fence.claim(tokenOf('ledger', 5));
      await fence.migrate();
      expect(await fence.installedTerm('ledger')).toBe(5);
    });
  });

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
    const attempt = withFence(options, (fence) => fence.migrate());
    await expect(attempt).rejects.toBeInstanceOf(StoreRefusedError);
    holder.destroy();
    await pool.end();
  });

  it('can be created by the printed SQL, twice', async () => {
    const sql = migrationSql('printed');
    for (const text of [...sql.split(';\n'), ...sql.split(';\n')])
      if (text.trim() !== '') await runSql(server.url, text);
    await withFence({ database: 'printed' }, async (fence) => {
      expect(fence.migrationSql).toBe(sql);
      await fence.claim(tokenOf('ledger', 5));
    });
  });

  it('is asked for by name when it is missing', async () => {
    await withFence({ database: 'absent' }, async (fence) => {
      const attempts = [
        () => fence.claim(tokenOf('ledger', 1)),
        () => fence.transaction(tokenOf('ledger', 1), async () => {}),
        () => fence.installedTerm('ledger'),
        () => fence.forgetEffects(0),
      ];
      for (const attempt of attempts) {
        const error = await attempt().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(StoreMisconfiguredError);
        expect(String(error)).toContain(
          'call migrate() of what was asked, such as fence.migrate()',
        );
      }
    });
  });

  it('needs no privilege to be found complete, and names the lack of one to be created or written', async () => {
    await withFence({ database: 'shared' }, (fence) => fence.migrate());
    const url = await createAccount(server.url, [
      'SELECT ON app.*',
      'SELECT ON shared.fences',
      'SELECT ON shared.effects',
    ]);
    await withFence({ database: 'shared' }, (fence) => fence.migrate(), url);
    const attempts = [
      () => withFence({ database: 'denied' }, (fence) => fence.migrate(), url),
      () => withFence({ database: 'shared' }, (fence) => fence.claim(tokenOf('a', 1)), url),
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
      await withFence({ database }, (fence) => fence.migrate());
      const change = `ROW_FORMAT = DEFAULT, ENGINE = ${engine}`;
      await runSql(server.url, `ALTER TABLE ${database}.${table} ${change}`);
      const claim = withFence({ database }, (fence) => fence.claim(tokenOf('a', 1)));
      await expect(claim).rejects.toBeInstanceOf(StoreMisconfiguredError);
      await expect(claim).rejects.toThrow(`engine ${engine}`);
    },
  );

  it('holds only the digest of a holder, never its nonce', async () => {
    const token = tokenOf('secret', 5);
    await withFence({}, async (fence) => {
      await fence.migrate();
      await fence.claim(token);
    });
    const rows = await runSql(server.url, "SELECT * FROM tenure.fences WHERE name = 'secret'");
    expect(rows[0]?.holder_digest).toBe(token.holder.digest);
    const [, nonce = ''] = token.holder.wire.split(':');
    expect(JSON.stringify(rows)).not.toContain(nonce);
  });
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
