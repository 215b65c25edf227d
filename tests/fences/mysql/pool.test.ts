import type { PoolConnection } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import {
  SequenceReusedError,
  StaleTermError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { freshName, tokenOf } from '../../../src/fences/conformance/scenario.js';
import { type MysqlFenceOptions, mysqlFence } from '../../../src/fences/mysql/index.js';
import { limitsItsPool } from '../stored-fences.js';
import { failureOf, fence, pool, server, useMariaDb, withConnection } from './stage.js';
import { openPool } from './subject.js';

useMariaDb();

describe("the user's pool", () => {
  const odd: [string, object][] = [
    ['rows as arrays, and no casts', { rowsAsArray: true, typeCast: false }],
    ['nested rows', { nestTables: '_' }],
    ['named placeholders', { namedPlaceholders: true }],
    ['numbers as texts', { supportBigNumbers: true, bigNumberStrings: true, dateStrings: true }],
    ['another character set', { charset: 'latin1' }],
    ['several statements', { multipleStatements: true }],
    ['no count of found rows', { flags: ['-FOUND_ROWS'] }],
  ];
  it.each(odd)('may be set to %s', async (_title, options) => {
    const strange = openPool(server.url, options);
    const onStrange = mysqlFence<PoolConnection>(strange);
    const name = `${freshName('odd')}/é'\\ " ; -- 漢`;
    await onStrange.claim(tokenOf(name, 5));
    const token = tokenOf(name, 8_640_000_000_000_000);
    await onStrange.claim(token);
    expect(await fence.installedTerm(name)).toBe(8_640_000_000_000_000);
    expect(await failureOf(onStrange.claim(tokenOf(name, 7)))).toBeInstanceOf(StaleTermError);
    const record = (id: string) =>
      onStrange.transaction(token, (open) => onStrange.recordOnce(open, name, "k'\\é", 1, id));
    expect([await record("m'\\é"), await record("m'\\é")]).toEqual([true, false]);
    expect(await failureOf(record('m'))).toBeInstanceOf(SequenceReusedError);
    await withConnection(async (connection) => {
      await connection.query('START TRANSACTION');
      await onStrange.check(connection, token);
      await connection.query('COMMIT');
    }, strange);
    await strange.end();
  });

  it.each(['NO_BACKSLASH_ESCAPES,ANSI_QUOTES', 'ORACLE', 'TRADITIONAL', ''])(
    'may have sql_mode %j, if that shows the engine of a table',
    async (mode) => {
      const strange = openPool(server.url, { connectionLimit: 1 });
      await strange.query(`SET sql_mode = '${mode}'`);
      const onStrange = mysqlFence<PoolConnection>(strange);
      const name = `${freshName('mode')}/"'\\`;
      const failure = await failureOf(onStrange.claim(tokenOf(name, 5)));
      if (mode === 'ORACLE') expect(String(failure)).toMatch(/NO_TABLE_OPTIONS/);
      else expect(await fence.installedTerm(name)).toBe(5);
      await strange.end();
    },
  );

  it('has to be one of promises', () => {
    expect(() => mysqlFence(Object(pool).pool)).toThrow(/pool\.promise\(\)/);
  });

  it('that was ended is told as that, and not as a server that is away', async () => {
    const ended = openPool(server.url);
    await ended.end();
    const failure = await failureOf(mysqlFence(ended).claim(tokenOf('ended', 1)));
    expect(failure).toBeInstanceOf(UnreachableError);
    expect(String(failure)).toMatch(/the pool that was passed has been ended, so nothing was sent/);
  });

  it('is not confused with one that the fence opens', () => {
    expect(() => mysqlFence(pool, { maxConnections: 5 })).toThrow(/set `connectionLimit`/);
  });
});

describe('a pool that the MySQL fence opens', () => {
  limitsItsPool((options: MysqlFenceOptions) => mysqlFence(server.url, options));
});
