import { kindOfCode } from '../../errors/error-kind.js';
import {
  type OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  TenureError,
} from '../../errors/index.js';
import { type ErrorKind, ofKind } from '../../errors/kinds.js';
import { outcomeUnknown, unreachable } from '../../errors/unanswered.js';
import { busyPool, connectFailure, connectFailureKind, type Spoken } from '../connect-failure.js';
import { NoAnswerError } from '../deadline.js';
import { saidDenied, saidNotLetIn, saidWrongPassword } from './denied.js';

/**
 * What was going on, which decides what a lost connection means:
 *
 * - `connect`, `checkout` (from a pool), `read`: nothing was asked that could change anything.
 * - `transaction`: before its commit was sent, so the server rolls it back.
 * - `guest`: inside a transaction of the caller's, who has yet to end it.
 * - `commit`, `statement`: it may have been executed.
 */
export type PostgresPhase =
  | 'connect'
  | 'checkout'
  | 'read'
  | 'transaction'
  | 'guest'
  | 'commit'
  | 'statement';

const spoken: Spoken = {
  protocol: 'PostgreSQL',
  isTls: false,
  sharesPort: true,
  trust: 'name the file of the authority that signed it with ?sslrootcert=FILE',
};

/** Whether the work may have committed by itself before; `unseen`: on a client whose answers nobody but its caller sees. */
export type Commits = 'none' | 'possible' | 'unseen';

interface Circumstances {
  /** Where a connection was to be made, if not where the caller says. */
  readonly address?: string;
  /** What was thrown in place of the error. Default: the error. */
  readonly thrown?: unknown;
  /** What is known of the transaction that it ended. Default: that the work has committed nothing of it. */
  readonly commits?: Commits | undefined;
}

/** What a loss before the commit leaves, where it is seen what the work does, and where it is not. */
const nothingWritten = 'nothing was written';
const nothingKnown = `${nothingWritten} unless the work has said COMMIT, which nobody can see on such a client`;

/**
 * A failure of the `pg` client or of the server as one of tenure's errors.
 *
 * @param what begins the message: `the claim of "ledger"`.
 */
export function classifyPostgresError(
  error: unknown,
  phase: PostgresPhase,
  what: string,
  { address, thrown = error, commits }: Circumstances = {},
): TenureError {
  if (error instanceof TenureError) return error;
  const cause = safeCause(thrown);
  const left = commits === 'unseen' ? nothingKnown : nothingWritten;
  const state = sqlStateOf(error);
  if (state !== undefined) {
    const misconfigured = misconfiguration(state, phase, error, what);
    if (misconfigured !== undefined) {
      const kind = state === readOnlyState ? 'replica' : 'denied';
      return ofKind(
        kind,
        new StoreMisconfiguredError(`${what} was refused: ${misconfigured}.`, cause),
      );
    }
    if (!meansLoss(state, phase)) {
      const hint =
        refusals[state] ?? `the server answered with SQLSTATE ${state}${constraintOf(error)}`;
      return new StoreRefusedError(state, `${what} was refused, ${left}: ${hint}.`, cause);
    }
  } else if (isTrustProblem(error)) {
    return new StoreMisconfiguredError(`${what} was refused: ${trustHint(error)}.`, cause);
  }
  const kind = state === undefined ? undefined : kindOfCode(state);
  const where = address === undefined ? what : `${what} at ${address}`;
  return connectionLoss(phase, where, left, cause, kind);
}

/**
 * The connection was lost while the work went on, which threw what it met there.
 *
 * @param loss what is known to have ended the connection, if anything is.
 */
export function lostAtWork(
  loss: unknown,
  thrown: unknown,
  what: string,
  commits?: Commits,
): TenureError | undefined {
  const met = lossIn(thrown, loss);
  if (met === undefined) return undefined;
  // The server says why it ended a session; the client library, that it is over.
  const evidence = [met, loss].find((one) => sqlStateOf(one) !== undefined) ?? loss ?? met;
  return classifyPostgresError(evidence, 'transaction', what, { thrown, commits });
}

/** As `pg` says it of a connection that is gone, and Node of its socket. */
const lossWords = /is not queryable|^Connection terminated/;
const socketCodes = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/** What tells that the connection is gone: the error, or what caused it, as a layer over `pg` has it. */
function lossIn(thrown: unknown, loss: unknown): Error | undefined {
  for (let one = thrown, depth = 0; one instanceof Error && depth < 8; one = one.cause, depth++) {
    if (one instanceof TenureError) return undefined;
    const state = sqlStateOf(one);
    const isLoss =
      state === undefined
        ? lossWords.test(one.message) || socketCodes.has(codeOf(one) ?? '')
        : Object(one).severity === 'FATAL' || isOver(state);
    if (isLoss || one === loss) return one;
  }
  return undefined;
}

/** @param kind of what the server said when it broke the connection, if it said something. */
function connectionLoss(
  phase: PostgresPhase,
  what: string,
  left: string,
  cause: Error,
  kind: ErrorKind | undefined,
): TenureError {
  switch (phase) {
    case 'connect':
      return unreachable(
        connectFailureKind(cause),
        `${what} failed: ${connectFailure(cause, spoken)}.`,
        cause,
      );
    case 'checkout':
      return unreachable(
        connectFailureKind(cause),
        `${what} failed: ${connectFailure(cause, spoken)}${busyPool(cause)}.`,
        cause,
      );
    case 'read':
      return unreachable(
        kind,
        `${what} failed: ${lossOf(cause, 'PostgreSQL could not be reached')}; try again.`,
        cause,
      );
    case 'transaction':
      return unreachable(
        kind,
        `${what} failed: ${lossOf(cause, connectionLost)} before the commit, so ${left}; try again.`,
        cause,
      );
    case 'guest':
      // Whoever waits no longer leaves the connection to the caller: nothing has closed it.
      if (!(cause instanceof NoAnswerError || cause.message === queryTimeout))
        return unreachable(
          kind,
          `${what} failed: ${connectionLost}, which rolls the transaction back, so ${left}; run the transaction again.`,
          cause,
        );
      return unreachable(
        kind,
        `${what} failed: PostgreSQL gave no answer. Roll the transaction back, and close its connection if that brings no answer either.`,
        cause,
      );
    case 'commit':
    case 'statement':
      return outcomeUnknown(
        kind,
        `${what} has an unknown outcome: ${lossOf(cause, `${connectionLost} before its answer came`)}; look at the data before trying again.`,
        cause,
      );
  }
}

/** What `pg` says when the user's own `query_timeout` is over. */
const queryTimeout = 'Query read timeout';
const connectionLost = 'the connection to PostgreSQL was lost';

/** Whoever is given no answer in time closes the connection: nothing else has lost it. */
function lossOf(cause: Error, otherwise: string): string {
  return cause instanceof NoAnswerError ? `PostgreSQL gave ${cause.message}` : otherwise;
}

/** The SQLSTATE of what needs a transaction block, where there is none. */
export const noTransaction = '25P01';

/**
 * The SQLSTATE of a transaction that began before the message with our `BEGIN` came: whoever had the client before us gave
 * it back to the pool without an end. `BEGIN` only warns of that, and our `COMMIT` would commit what nobody checked.
 */
export const wasOpen = 'TN013';

/** The SQLSTATE of any statement in a transaction in which one has failed. */
export const failedTransaction = '25P02';

/** The SQLSTATE of `CLOSE` where there is no cursor of that name. */
export const noSuchCursor = '34000';

/**
 * A client came from its pool inside a transaction of somebody else's, who never ended it. It is rolled back, and the
 * client's connection closed.
 */
export function leftOpen(what: string, cause: unknown): StoreRefusedError {
  return new StoreRefusedError(
    wasOpen,
    `${what} was refused, nothing was written: the connection that the pool gave was inside a transaction already, which whoever released it had neither committed nor rolled back. That one is rolled back now, and its connection closed. End each transaction before client.release(), and run this again.`,
    safeCause(cause),
  );
}

/** `active_sql_transaction`, of a `BEGIN` that asks for another isolation than the open transaction has. */
const otherTransaction = '25001';

/**
 * Whether what began a transaction failed since there was one: the first statement of a transaction cannot be in one that
 * has failed, either.
 */
export function tellsOfLeftOpen(error: unknown): boolean {
  return [wasOpen, failedTransaction, otherTransaction].includes(sqlStateOf(error) ?? '');
}

/**
 * Our transaction was no longer there, or had failed, when its writes arrived: something else is sent on its client. They
 * failed with that, and the connection is closed.
 */
export function takenAway(what: string, cause: unknown): StoreRefusedError {
  return new StoreRefusedError(
    noSuchCursor,
    `${what} was refused, nothing was written: its transaction was ended, or made to fail, by a statement that is not tenure’s. Whoever had its connection before has released it and still sends on it. Its connection is closed. Send nothing on a client after client.release(), and run this again.`,
    safeCause(cause),
  );
}

/**
 * The commit, or the rollback, found that the transaction it was to end is over. Neither a success nor a clean failure: if the work said
 * `COMMIT`, what it had written until then is there.
 */
export function endedByWork(what: string, cause: unknown): OutcomeUnknownError {
  return outcomeUnknown(
    undefined,
    `${what} has an unknown outcome: the work ended the transaction itself. If it did so by COMMIT, what it had written until then is committed; what it wrote afterwards was not guarded. Leave COMMIT and ROLLBACK to the fence, and CLOSE ALL out.`,
    safeCause(cause),
  );
}

const readOnlyState = '25006';
const readOnly =
  'the server is read-only for us (a standby, default_transaction_read_only, or a read-only transaction); connect to the primary, with a role that may write';
/** Their texts do not stand below: they quote the server. */
const notAuthorized = '28000';
const wrongPassword = '28P01';
const noPrivilege = '42501';

const howToMigrate =
  'call migrate() of what was asked, such as fence.migrate(), or run "tenure migrate --url postgres://...", which makes all tables of tenure';

const misconfigurations: Readonly<Record<string, string>> = {
  [readOnlyState]: readOnly,
  '42703':
    'a table has other columns than tenure expects; run migrate() of this version, in a schema of its own if the table is not tenure’s',
  '42883':
    'a function of the schema is missing; run migrate() of this version, or `tenure migrate` for leases',
};

/** What is missing, and what to do; between them stand the server's own words, which name it. */
const absences: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  '3D000': ['the database does not exist', '; create it or correct its name'],
  '3F000': ['the schema does not exist', `: ${howToMigrate}`],
  '42P01': ['a table is missing', `: ${howToMigrate}`],
};

function misconfiguration(
  state: string,
  phase: PostgresPhase,
  error: unknown,
  what: string,
): string | undefined {
  if (state === notAuthorized) return saidNotLetIn(error);
  if (state === wrongPassword) return saidWrongPassword(error);
  if (state === noPrivilege) return saidDenied(error, what);
  if ((phase === 'connect' || phase === 'checkout') && state === '08P01') {
    return 'the server or its proxy refuses our connection settings; pass a pool of your own without them';
  }
  const absence = absences[state];
  if (absence === undefined) return misconfigurations[state];
  const words = error instanceof Error ? ` (${error.message})` : '';
  return `${absence[0]}${words}${absence[1]}`;
}

const idleTooLong =
  'the transaction stood open without a statement for longer than idleInTransactionTimeoutMs of the fence (idle_in_transaction_session_timeout), so the server ended it';

const refusals: Readonly<Record<string, string>> = {
  [noTransaction]: 'it has to be inside a transaction; send BEGIN first',
  [failedTransaction]: 'a statement in it had failed before, and its error was not passed on',
  '25P03': idleTooLong,
  '25P04': 'it was open for longer than transaction_timeout, so the server ended it',
  '40001': 'it collided with a concurrent transaction; run it again',
  '40P01':
    'it was chosen to end a deadlock; run it again, and check tokens before the first write, in order of their names',
  '53300': 'the server has no connection left; raise max_connections or use smaller pools',
  '55P03':
    'it waited for a lock until lock_timeout: a transaction of an earlier owner is still open',
  '57014': 'it was cancelled, or ran into statement_timeout',
};

/** Classes after which the session is over: connection exceptions, shutdowns, system and internal errors. */
const lossPattern = /^(?:08|57P|58|XX|F0)/;

function meansLoss(state: string, phase: PostgresPhase): boolean {
  // A commit that met a full disk may have reached the log already; a statement that did has not.
  return isOver(state) || (phase === 'commit' && state.startsWith('53'));
}

/** Whether it says that the session is over, in the words of the server or of a pooler in between. */
export function isOver(state: string): boolean {
  return lossPattern.test(state);
}

/**
 * Whether the server itself says that a statement has failed, and goes on with the session: then that is certain, whatever the
 * SQLSTATE. A pooler has no routine to name, and a message in another language is taken for less than it is.
 */
export function isOfStatement(error: unknown): boolean {
  const { severity, routine } = Object(error);
  return severity === 'ERROR' && typeof routine === 'string' && routine !== '';
}

/** The five characters of the standard, which a `pg` error has in `code`; Node's own codes hold no digit. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code) ? code : undefined;
}

/** Whether the server raised this error because of a text of ours. */
export function mentions(error: unknown, text: string): boolean {
  return sqlStateOf(error) !== undefined && error instanceof Error && error.message.includes(text);
}

export function isReadOnlyError(error: unknown): boolean {
  return sqlStateOf(error) === readOnlyState;
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The name alone: the detail beside it holds the row. */
function constraintOf(error: unknown): string {
  if (!(error instanceof Error && 'constraint' in error)) return '';
  return typeof error.constraint === 'string' ? ` for constraint "${error.constraint}"` : '';
}

const tlsCodes = /^(?:SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|CERT_|ERR_TLS|ERR_SSL)/;
const trustMessages = /^SASL|does not support SSL|password must be a string/i;

function isTrustProblem(error: unknown): boolean {
  if (tlsCodes.test(codeOf(error) ?? '')) return true;
  return error instanceof Error && trustMessages.test(error.message);
}

function trustHint(error: unknown): string {
  const words = error instanceof Error ? error.message : '';
  if (/does not support SSL/i.test(words))
    return 'the server does not speak TLS; leave sslmode out of the URL, or turn ssl on at the server';
  if (/password must be a string/i.test(words))
    return 'the server asks for a password, and none is given; put user:password@ before the host of the URL';
  if (/^SASL/.test(words))
    return 'the login failed; check user and password, or whether a proxy in between changes it';
  return connectFailure(error, spoken);
}

/** Classes whose messages speak of the server, its settings and its objects, never of the values in a row. */
const speaksOfServer = /^(?:08|25|28|3D|3F|40|42|53|55|57|58)/;

/** A cause that can be printed: triggers and constraints put rows into the messages of the other classes. */
function safeCause(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('a value that is no error was thrown');
  const state = sqlStateOf(error);
  if (state === undefined || speaksOfServer.test(state)) return error;
  return Object.assign(new Error(`SQLSTATE ${state}${constraintOf(error)}`), { code: state });
}
