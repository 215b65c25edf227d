import { describe, expect, it } from 'vitest';
import { classifyMysqlError, type MysqlPhase } from '../../../src/drivers/mysql/index.js';
import { importMysql2 } from '../../../src/drivers/mysql/mysql2-package.js';
import {
  OptionError,
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../../src/errors/index.js';

/** As the package makes them. */
function serverError(errno: number, code: string, message = 'words of the server'): Error {
  return Object.assign(new Error(message), { errno, code, sql: 'INSERT secret' });
}

describe('an error of the MySQL client or server', () => {
  const lost = Object.assign(new Error('Connection lost'), { code: 'PROTOCOL_CONNECTION_LOST' });
  const reset = Object.assign(new Error('read ECONNRESET'), { errno: -104, code: 'ECONNRESET' });
  const closed = new Error("Can't add new command when connection is in closed state");
  const cases: [string, Error, MysqlPhase, new (...parts: never[]) => Error][] = [
    ['a lost connection before the commit', lost, 'transaction', UnreachableError],
    ['a lost connection at the commit', lost, 'commit', OutcomeUnknownError],
    ['a reset at the commit', reset, 'commit', OutcomeUnknownError],
    ['a commit that the client did not send', closed, 'commit', UnreachableError],
    ['a killed connection at the commit', serverError(1927, 'ER_X'), 'commit', OutcomeUnknownError],
    ['an error during commit', serverError(1180, 'ER_X'), 'commit', OutcomeUnknownError],
    [
      'a deadlock at the commit',
      serverError(1213, 'ER_LOCK_DEADLOCK'),
      'commit',
      StoreRefusedError,
    ],
    ['an interruption at the commit', serverError(1317, 'ER_X'), 'commit', OutcomeUnknownError],
    ['a time limit at the commit', serverError(1969, 'ER_X'), 'commit', OutcomeUnknownError],
    ["MySQL's time limit at the commit", serverError(3024, 'ER_X'), 'commit', OutcomeUnknownError],
    ['a lock wait at the commit', serverError(1205, 'ER_X'), 'commit', OutcomeUnknownError],
    ['a collision in a group', serverError(3101, 'ER_X'), 'commit', StoreRefusedError],
    ['an interruption', serverError(1317, 'ER_X'), 'transaction', StoreRefusedError],
    ['a deadlock', serverError(1213, 'ER_LOCK_DEADLOCK'), 'transaction', StoreRefusedError],
    ['a lock wait', serverError(1205, 'ER_LOCK_WAIT_TIMEOUT'), 'guest', StoreRefusedError],
    ['a changed row', serverError(1020, 'ER_CHECKREAD'), 'guest', StoreRefusedError],
    ['a missing table', serverError(1146, 'ER_NO_SUCH_TABLE'), 'read', StoreMisconfiguredError],
    ['a read-only server', serverError(1290, 'ER_X'), 'commit', StoreMisconfiguredError],
    [
      'no TLS',
      Object.assign(new Error('x'), { code: 'HANDSHAKE_NO_SSL_SUPPORT' }),
      'connect',
      StoreMisconfiguredError,
    ],
  ];
  it.each(cases)('says what %s means', (_title, error, phase, expected) => {
    const classified = classifyMysqlError(error, phase, 'the claim of "ledger"');
    expect(classified).toBeInstanceOf(expected);
    expect(classified.message).toContain('the claim of "ledger"');
  });

  it.each([
    ['where nothing listens', { code: 'ECONNREFUSED', errno: -111 }, /Start the server/],
    ['whose certificate is not trusted', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }, /`ca`/],
    ['that does not speak TLS', { code: 'HANDSHAKE_NO_SSL_SUPPORT' }, /leave ssl out/],
  ])('says what to do about a server %s', (_title, parts, words) => {
    const error = Object.assign(new Error('words'), parts);
    expect(classifyMysqlError(error, 'connect', 'the claim').message).toMatch(words);
  });

  it.each([
    ['the claim of "ledger"', 'fencing/mysql.md lists under "The tables"'],
    [
      'the migration of database "tenure"',
      'an account that may create the database and its tables',
    ],
  ])('names the privilege that %s lacks, and where it is listed', (what, remedy) => {
    const words = "SELECT command denied to user 'writer'@'localhost' for table `tenure`.`fences`";
    const error = serverError(1142, 'ER_TABLEACCESS_DENIED_ERROR', words);
    const classified = classifyMysqlError(error, 'transaction', what);
    expect(classified).toBeInstanceOf(StoreMisconfiguredError);
    expect(classified.message).toContain(`(${words})`);
    expect(classified.message).toContain(remedy);
  });

  it('shows neither the values of a row nor the statement', () => {
    const error = serverError(1062, 'ER_DUP_ENTRY', "Duplicate entry 'hunter2' for key 'PRIMARY'");
    const classified = classifyMysqlError(error, 'transaction', 'the claim');
    expect(classified).toMatchObject({ storeCode: 'ER_DUP_ENTRY' });
    const cause = classified.cause as Error;
    const shown = `${classified.stack}${cause.stack}${JSON.stringify(cause)}`;
    expect(shown).not.toMatch(/hunter2|secret/);
  });
});

it('the package mysql2 is asked for by name if it is missing', async () => {
  const missing = importMysql2(() => Promise.reject(new Error('not found')));
  await expect(missing).rejects.toBeInstanceOf(OptionError);
  await expect(missing).rejects.toThrow(/npm install mysql2/);
});
