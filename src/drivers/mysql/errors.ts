import {
  type OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  TenureError,
  type UnreachableError,
} from '../../errors/index.js';
import { outcomeUnknown, unreachable } from '../../errors/unanswered.js';
import { busyPool, connectFailure, connectFailureKind, type Spoken } from '../connect-failure.js';
import { NoAnswerError } from '../deadline.js';

/**
 * What was going on, which decides what a lost connection means:
 *
 * - `connect`, `read`: nothing was asked that could change anything.
 * - `transaction`: before its commit was sent, so the server rolls it back.
 * - `guest`: inside a transaction of the caller's, who has yet to end it.
 * - `commit`, `statement`: it may have been executed.
 */
export type MysqlPhase = 'connect' | 'read' | 'transaction' | 'guest' | 'commit' | 'statement';

const spoken: Spoken = {
  protocol: 'MySQL',
  isTls: false,
  sharesPort: true,
  trust: 'give the authority that signed it as `ca` in the ssl part of the URL or the pool',
};

/**
 * A failure of the `mysql2` client or of the server as one of tenure's errors.
 *
 * @param what begins the message: `the claim of "ledger"`.
 * @param address where a connection was to be made, if not where the caller says.
 */
export function classifyMysqlError(
  error: unknown,
  phase: MysqlPhase,
  what: string,
  address?: string,
): TenureError {
  if (error instanceof TenureError) return error;
  const cause = safeCause(error);
  if (isTrustProblem(error)) {
    return new StoreMisconfiguredError(`${what} was refused: ${trustHint(error)}.`, cause);
  }
  const errno = errnoOf(error);
  if (errno === undefined || losses.has(errno))
    return connectionLoss(
      error,
      phase,
      address === undefined ? what : `${what} at ${address}`,
      cause,
    );
  const misconfigured = misconfiguration(errno, error, what);
  if (misconfigured !== undefined) {
    return new StoreMisconfiguredError(`${what} was refused: ${misconfigured}.`, cause);
  }
  if (phase === 'commit' && !rolledBack.has(errno)) {
    return connectionLoss(error, phase, what, cause);
  }
  const code = codeOf(error) ?? String(errno);
  const hint = refusals[errno] ?? `the server answered with ${code} (${errno})`;
  return new StoreRefusedError(code, `${what} was refused, nothing was written: ${hint}.`, cause);
}

function connectionLoss(
  error: unknown,
  phase: MysqlPhase,
  what: string,
  cause: Error,
): TenureError {
  switch (phase) {
    case 'connect':
      return unreachable(
        connectFailureKind(cause),
        `${what} failed: ${connectFailure(cause, spoken)}${busyPool(cause)}.`,
        cause,
      );
    case 'read':
      return unreachable(
        undefined,
        `${what} failed: the server could not be reached; try again.`,
        cause,
      );
    case 'transaction':
      return lostBeforeCommit(what, cause);
    case 'guest':
      // Whoever waits no longer leaves the connection to the caller: nothing has closed it.
      if (!(error instanceof NoAnswerError))
        return unreachable(
          undefined,
          `${what} failed: its connection was closed${endedIdle}, which rolls the transaction back, so nothing was written; run the transaction again.`,
          cause,
        );
      return unreachable(
        undefined,
        `${what} failed: the server gave no answer. Roll the transaction back, and close its connection if that brings no answer either.`,
        cause,
      );
    case 'commit':
      // The client library did not send it.
      if (error instanceof Error && wasClosedBefore.test(error.message))
        return lostBeforeCommit(what, cause);
      return unknownOutcome(what, cause);
    case 'statement':
      return unknownOutcome(what, cause);
  }
}

const endedIdle =
  ' (a transaction that stands open without a statement for longer than idleInTransactionTimeoutMs of the fence is ended so)';
const wasClosedBefore = /add new command when connection is in closed state/;

function lostBeforeCommit(what: string, cause: Error, unless = ''): UnreachableError {
  return unreachable(
    undefined,
    `${what} failed: the connection was lost before the commit${endedIdle}, so nothing was written${unless}; try again.`,
    cause,
  );
}

/** As it is told where nobody has looked at what the work sends. */
export function lostUnseen(what: string, cause: unknown): UnreachableError {
  return lostBeforeCommit(what, safeCause(cause), unlessCommitted);
}

const unlessCommitted =
  ' unless the work has said COMMIT, or run a statement that commits, which nobody can see on such a connection';

/** The connection was lost while the work went on, which threw what it met there; `undefined`: that is something else. */
export function lostAtWork(
  { loss, commits }: { readonly loss: Error | undefined; readonly commits: string },
  thrown: unknown,
  what: string,
): TenureError | undefined {
  for (let one = thrown, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth++) {
    if (one instanceof TenureError) return undefined;
    const errno = errnoOf(one);
    const isLoss =
      errno === undefined
        ? wasClosedBefore.test(one.message) || lossCodes.has(codeOf(one) ?? '')
        : losses.has(errno);
    if (isLoss || one === loss)
      return commits === 'unseen'
        ? lostUnseen(what, thrown)
        : lostBeforeCommit(what, safeCause(thrown));
  }
  return undefined;
}

const lossCodes = new Set([
  ...['PROTOCOL_CONNECTION_LOST', 'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR'],
  ...['ECONNRESET', 'EPIPE', 'ETIMEDOUT'],
]);

function unknownOutcome(what: string, cause: Error): OutcomeUnknownError {
  return outcomeUnknown(
    undefined,
    `${what} has an unknown outcome: no answer came that says whether it was executed; look at the data before trying again.`,
    cause,
  );
}

/** A connection came from its pool inside a transaction of somebody else's, who never ended it. */
export function leftOpen(what: string): StoreRefusedError {
  return new StoreRefusedError(
    'LEFT_OPEN',
    `${what} was refused, nothing was written: the connection that the pool gave was inside a transaction already, which whoever released it had neither committed nor rolled back. That one is rolled back now, and its connection closed. End each transaction before connection.release(), and run this again.`,
  );
}

/** The commit, or the rollback, found that the transaction it was to end is over. Neither a success nor a clean failure. */
export function endedByWork(what: string, cause: unknown): OutcomeUnknownError {
  return outcomeUnknown(
    undefined,
    `${what} has an unknown outcome: the work ended the transaction itself, or a deadlock ended it and the work did not pass that error on. If it was by COMMIT, or by a statement that commits (such as CREATE TABLE), what it had written until then is committed; what it wrote afterwards is rolled back. Leave COMMIT and ROLLBACK to the fence.`,
    safeCause(cause),
  );
}

/** `SAVEPOINT ... does not exist`. */
export const noSavepoint = 1305;
/** A unique key holds the value already. */
export const duplicateEntry = 1062;
/** Two transactions waited for each other, and this one was rolled back. */
const deadlock = 1213;
/**
 * After these the server may have rolled the whole transaction back: a lock was not had in time (as `innodb_rollback_on_timeout`
 * says), there is no room for more locks, a row has changed since the snapshot.
 */
const rollingBack: readonly unknown[] = [
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_LOCK_TABLE_FULL',
  'ER_CHECKREAD',
];

/** Whether this, or what caused it, is an error after which the transaction may be over by the server's doing. */
export function mayHaveRolledBack(error: unknown): boolean {
  for (let one = error, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth++) {
    const { code, storeCode } = one as { code?: unknown; storeCode?: unknown };
    if (rollingBack.includes(code) || rollingBack.includes(storeCode)) return true;
  }
  return false;
}

/** The deadlock, as `StoreRefusedError.storeCode` has it. */
export const deadlockCode = 'ER_LOCK_DEADLOCK';
/** A transaction that only reads was asked to write. */
export const readOnlyTransaction = 'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION';

const readOnly =
  'the server or the session is read-only (read_only, a replica, or a read-only transaction); connect to the primary';
/** Which privilege is missing, in the server's own words, which name the account and the object, and what to do. */
function denied(error: unknown, what: string): string {
  const words = error instanceof Error ? ` (${error.message})` : '';
  const remedy = what.startsWith('the migration of')
    ? 'migrate with an account that may create the database and its tables'
    : 'grant what node_modules/tenure/docs/fencing/mysql.md lists under "The tables"';
  return `the account lacks a privilege${words}; ${remedy}`;
}

const denials = new Set([1044, 1142, 1143, 1227]);
const notLetIn = 'the server does not let this account in; check user, password and host';
/** What is missing, in the server's own words, which name it. */
function missing(error: unknown): string {
  const words = error instanceof Error ? ` (${error.message})` : '';
  return `a table or its database is missing${words}: correct the name; or call migrate() of what was asked, such as fence.migrate(), or run "tenure migrate --url mysql://..."`;
}

/** A migration makes its own database, so it is another one that is missing. */
function missingForMigration(error: unknown): string {
  const said = error instanceof Error ? error.message : '';
  const [words, name] = /Unknown database '(\w+)'/.exec(said) ?? [];
  const remedy = 'or correct the URL, which needs none';
  return words === undefined
    ? `the database of the URL is missing: create it, ${remedy}`
    : `the database of the URL is missing (${words}): CREATE DATABASE ${name}, ${remedy}`;
}

const unknownDatabase = 1049;
const absences = new Set([unknownDatabase, 1146]);

function misconfiguration(errno: number, error: unknown, what: string): string | undefined {
  if (denials.has(errno)) return denied(error, what);
  if (errno === unknownDatabase && what.startsWith('the migration of'))
    return missingForMigration(error);
  return absences.has(errno) ? missing(error) : misconfigurations[errno];
}

const misconfigurations: Readonly<Record<number, string>> = {
  1045: notLetIn,
  1054: 'a table has other columns than tenure expects; use a database of its own',
  1130: notLetIn,
  1290: readOnly,
  1665: 'binlog_format STATEMENT does not take transactions at READ COMMITTED; use MIXED or ROW',
  1698: notLetIn,
  1792: readOnly,
  1820: 'the password of this account has expired',
  1836: readOnly,
  1862: 'the password of this account has expired',
  3159: 'the server wants TLS; add an ssl part to the URL or the pool',
};

const refusals: Readonly<Record<number, string>> = {
  1020: 'the row has changed since the transaction first read; run it again, and check before the first read',
  1040: 'the server has no connection left; raise max_connections or use smaller pools',
  1203: 'the account has no connection left; raise max_user_connections or use smaller pools',
  1205: 'it waited for a lock until innodb_lock_wait_timeout: a transaction of an earlier owner is still open',
  [deadlock]:
    'it was chosen to end a deadlock; run it again. Claim before the transaction, and check tokens before the first write, in order of their names',
  1317: 'it was interrupted',
  1969: 'it ran into max_statement_time',
  3024: 'it ran into max_execution_time',
  3101: 'it collided with a transaction of another member of the group; run it again',
};

/**
 * With which a commit ends that has rolled back. Of others that is not known: `KILL QUERY`, or a limit, may interrupt what
 * is left to do after it has become durable.
 */
const rolledBack = new Set([deadlock, 3101]);

/** The session is over, or as good as. */
const losses = new Set([
  1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 4031,
]);

/** The server's number of an error; the client library's own errors have none. */
export function errnoOf(error: unknown): number | undefined {
  if (!(error instanceof Error && 'errno' in error)) return undefined;
  // Node numbers its own errors below zero.
  return typeof error.errno === 'number' && error.errno >= 1000 ? error.errno : undefined;
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

const tlsCodes = /^(?:SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|CERT_|ERR_TLS|ERR_SSL|HANDSHAKE_)/;

function isTrustProblem(error: unknown): boolean {
  return tlsCodes.test(codeOf(error) ?? '');
}

function trustHint(error: unknown): string {
  if (codeOf(error) === 'HANDSHAKE_NO_SSL_SUPPORT')
    return 'the server does not speak TLS; leave ssl out of the URL or the pool, or turn TLS on at the server';
  return connectFailure(error, spoken);
}

/** A cause that can be printed: messages of the server's other errors hold values of rows, or the statement. */
function safeCause(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('a value that is no error was thrown');
  const errno = errnoOf(error);
  const isTame =
    errno === undefined ||
    losses.has(errno) ||
    errno in refusals ||
    errno in misconfigurations ||
    absences.has(errno) ||
    denials.has(errno) ||
    errno === noSavepoint;
  const code = codeOf(error);
  const cause = isTame ? error : new Error(`${code ?? ''} (${errno})`.trim());
  return isTame ? cause : Object.assign(cause, { code });
}
