import { describe, expect, it } from 'vitest';
import { lostAtWork } from '../../../src/drivers/postgres/errors.js';
import { classifyPostgresError, type PostgresPhase } from '../../../src/drivers/postgres/index.js';
import { ClosedError } from '../../../src/errors/index.js';

/** An error as `pg` makes it of a server's answer. */
function serverError(code: string, message = 'as the server puts it', more: object = {}): Error {
  return Object.assign(new Error(message), { code, severity: 'ERROR', ...more });
}

const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
const pipe = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
const ended = new Error('Connection terminated unexpectedly');
const tls = Object.assign(new Error('self-signed certificate'), {
  code: 'SELF_SIGNED_CERT_IN_CHAIN',
});
const noTls = new Error('The server does not support SSL connections');
const sasl = new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string');

const cases: [string, Error, PostgresPhase, string][] = [
  ['a reset connection before anything was asked', reset, 'connect', 'TENURE_UNREACHABLE'],
  ['a reset connection while reading', reset, 'read', 'TENURE_UNREACHABLE'],
  ['a reset connection before the commit', reset, 'transaction', 'TENURE_UNREACHABLE'],
  ['a reset connection in the commit', reset, 'commit', 'TENURE_OUTCOME_UNKNOWN'],
  ['a reset connection in a single statement', reset, 'statement', 'TENURE_OUTCOME_UNKNOWN'],
  ['a code of Node that looks like a state', pipe, 'commit', 'TENURE_OUTCOME_UNKNOWN'],
  ['an ended connection', ended, 'transaction', 'TENURE_UNREACHABLE'],
  ['a shutdown before the commit', serverError('57P01'), 'transaction', 'TENURE_UNREACHABLE'],
  ['a shutdown in the commit', serverError('57P01'), 'commit', 'TENURE_OUTCOME_UNKNOWN'],
  ['a server that is starting', serverError('57P03'), 'connect', 'TENURE_UNREACHABLE'],
  ['a full disk in the commit', serverError('53100'), 'commit', 'TENURE_OUTCOME_UNKNOWN'],
  ['a full disk before it', serverError('53100'), 'transaction', 'TENURE_STORE_REFUSED'],
  ['an internal error in the commit', serverError('XX000'), 'commit', 'TENURE_OUTCOME_UNKNOWN'],
  ['the idle limit, noticed in the commit', serverError('25P03'), 'commit', 'TENURE_STORE_REFUSED'],
  ['a lock that did not come', serverError('55P03'), 'transaction', 'TENURE_STORE_REFUSED'],
  ['a cancelled statement', serverError('57014'), 'transaction', 'TENURE_STORE_REFUSED'],
  ['a serialisation failure', serverError('40001'), 'commit', 'TENURE_STORE_REFUSED'],
  ['no connection left', serverError('53300'), 'connect', 'TENURE_STORE_REFUSED'],
  ['a state nobody thought of', serverError('22003'), 'transaction', 'TENURE_STORE_REFUSED'],
  ['a read-only server', serverError('25006'), 'transaction', 'TENURE_STORE_MISCONFIGURED'],
  ['a missing table', serverError('42P01'), 'transaction', 'TENURE_STORE_MISCONFIGURED'],
  ['a missing schema', serverError('3F000'), 'transaction', 'TENURE_STORE_MISCONFIGURED'],
  ['a missing database', serverError('3D000'), 'connect', 'TENURE_STORE_MISCONFIGURED'],
  ['a missing privilege', serverError('42501'), 'transaction', 'TENURE_STORE_MISCONFIGURED'],
  ['a wrong password', serverError('28P01'), 'connect', 'TENURE_STORE_MISCONFIGURED'],
  ['a proxy that refuses settings', serverError('08P01'), 'connect', 'TENURE_STORE_MISCONFIGURED'],
  ['a certificate nobody vouches for', tls, 'connect', 'TENURE_STORE_MISCONFIGURED'],
  ['a server without TLS', noTls, 'connect', 'TENURE_STORE_MISCONFIGURED'],
  ['a password that is not there', sasl, 'connect', 'TENURE_STORE_MISCONFIGURED'],
];

describe('errors of PostgreSQL', () => {
  it.each(cases)('tell %s', (_title, error, phase, code) => {
    const classified = classifyPostgresError(error, phase, 'the claim of "ledger"');
    expect(classified.code).toBe(code);
    expect(classified.message).toMatch(/^the claim of "ledger" /);
    expect(classified.message).toMatch(/\.$/);
  });

  it("leave tenure's own errors as they are", () => {
    const closed = new ClosedError('the fence');
    expect(classifyPostgresError(closed, 'commit', 'it')).toBe(closed);
  });

  it.each(['22P02', '23505', '23514', '44000', 'P0001'])(
    'of class %s show no row, in no field of the cause',
    (code) => {
      const raw = serverError(code, 'value "hunter2" is bad', {
        detail: 'Key (secret)=(hunter2) exists.',
        where: 'hunter2',
        constraint: 'only_once',
      });
      const error = classifyPostgresError(raw, 'commit', 'the transaction');
      const cause = error.cause as Error;
      const shown = [error, cause].map((one) => `${one.message}${one.stack}${JSON.stringify(one)}`);
      expect(shown.join()).not.toContain('hunter2');
      expect(error.message).toContain('only_once');
      expect(cause).toMatchObject({ code });
    },
  );

  it('keep what the server says about itself, and drop everything else that hangs on it', () => {
    const raw = serverError('28P01', 'password authentication failed for user "bob"', {
      parameters: ['hunter2'],
      query: 'SELECT hunter2',
    });
    const { cause } = classifyPostgresError(raw, 'connect', 'connecting');
    expect((cause as Error).message).toContain('"bob"');
    expect(JSON.stringify(cause)).not.toContain('hunter2');
  });

  it('take anything that is thrown', () => {
    const error = classifyPostgresError('hunter2', 'read', 'reading');
    expect(error.code).toBe('TENURE_UNREACHABLE');
    expect(`${error}${error.cause}`).not.toContain('hunter2');
  });
});

describe('what work threw as its connection was gone', () => {
  const idle = serverError('25P03', 'terminating connection', { severity: 'FATAL' });
  const silent = new Error('Client has encountered a connection error and is not queryable');

  it.each([
    ['the server’s last word', undefined, idle, /idleInTransactionTimeoutMs/],
    [
      'the word of the client, which knows the server’s',
      idle,
      silent,
      /idleInTransactionTimeoutMs/,
    ],
    ['the word of the client alone', undefined, silent, /connection to PostgreSQL was lost before/],
    ['what the client was told', pipe, pipe, /connection to PostgreSQL was lost before/],
  ])('is told as its end: %s', (_title, loss, thrown, words) => {
    const error = lostAtWork(loss, thrown, 'the transaction');
    expect(error?.message).toMatch(words);
    expect(error?.cause).toMatchObject({ message: thrown.message });
  });

  it.each([
    ['no error of a connection', ended, new Error('mine')],
    ['a refusal of a statement', ended, serverError('23505')],
    ['an error of ours', ended, new ClosedError('the fence')],
    ['no error at all', ended, 'mine'],
  ])('is left alone: %s', (_title, loss, thrown) => {
    expect(lostAtWork(loss, thrown, 'the transaction')).toBeUndefined();
  });
});
