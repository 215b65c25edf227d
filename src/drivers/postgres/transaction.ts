import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../errors/index.js';
import { ofKind } from '../../errors/kinds.js';
import { withDeadline } from '../deadline.js';
import type { PostgresClient } from './client.js';
import {
  classifyPostgresError,
  endedByWork,
  failedTransaction,
  isReadOnlyError,
  lostAtWork,
  wasOpen,
} from './errors.js';
import { beginMarked } from './marked.js';
import type { OpenTransaction, Rollback, TransactionAsk } from './open-transaction.js';
import type { PreparedOpening } from './prepared-opening.js';
import { ask, type PostgresSession } from './session.js';
import { beginWatched } from './watched.js';
import { wiredClient } from './wire.js';

export interface TransactionSteps {
  /** Its first statement, e.g. `BEGIN`. May be several, divided by semicolons. */
  readonly begin: string;
  /**
   * Travels with `begin`, and does all of what `markText` does, as a procedure can at less cost. Default: that text.
   *
   * @param nonce a value for `markSetting`: hexadecimal digits.
   */
  readonly mark?: ((nonce: string) => string) | undefined;
  /**
   * Begins instead of `begin` and `mark` where the client and the session let it, at less cost: what it prepares does the
   * same, and no mark is left. What `begin` says of isolation is not said then: the transaction has the session's, and what
   * is prepared has to look at it.
   */
  readonly prepared?: PreparedOpening | undefined;
  /** For our own statements; the work's are not timed by us. */
  readonly ask: TransactionAsk;
}

/**
 * Runs `body` between begin and commit, and rolls back if it throws: its error comes through as it is, whatever becomes of
 * the rollback, unless the transaction turns out to have been ended by it, or it is of the connection's end. Ends the session.
 *
 * @throws {UnreachableError}, or {@link StoreRefusedError} if the server said why, if the connection was lost at work; what the
 * work threw is the cause.
 * @throws {OutcomeUnknownError} if the work ended the transaction itself, whether or not it threw afterwards.
 * @throws {StoreRefusedError} if the client was inside a transaction already. That one is rolled back.
 */
export async function runTransaction<Client extends PostgresClient, Result>(
  session: PostgresSession<Client>,
  steps: TransactionSteps,
  body: (client: Client) => Promise<Result>,
): Promise<Result> {
  let open: OpenTransaction | undefined;
  let isAtWork = false;
  let isClean = false;
  try {
    open = (await beginPrepared(session, steps)) ?? (await beginWithText(session, steps));
    isAtWork = true;
    const result = await body(session.client);
    isAtWork = false;
    await commit(session, steps.ask, open);
    isClean = true;
    return result;
  } catch (error) {
    if (meansLoss(error)) throw isAtWork ? lostAfter(open, steps.ask, error) : error;
    // A commit that the server refuses for another reason has ended the transaction that was begun.
    const mayBeAnother = isAtWork || isRefusedWith(failedTransaction, error);
    const end = mayBeAnother ? await giveUp(session, open) : await rollback(session, steps.ask);
    if (end === 'endedByWork') throw endedByWork(steps.ask.what, error);
    if (isAtWork && end === 'unknown')
      throw lostAtWork(session.loss, error, steps.ask.what, open?.commits) ?? error;
    isClean = end === 'rolledBack' && !isRefusedWith(wasOpen, error);
    throw isClean ? await explained(session, steps.ask, error) : error;
  } finally {
    open?.end();
    session.end(isClean);
  }
}

/** `undefined`, at the latest when that is awaited: it cannot, and nothing is begun. */
function beginPrepared<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  { prepared, ask: own }: TransactionSteps,
): Promise<OpenTransaction | undefined> | undefined {
  if (!prepared?.statements.areKept) return undefined;
  const client = wiredClient(session.client);
  return client && beginWatched(client, prepared, own);
}

function beginWithText<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  { begin, mark, ask: own }: TransactionSteps,
): Promise<OpenTransaction> {
  return beginMarked(session.client, begin, mark, own);
}

async function commit<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  own: TransactionAsk,
  open: OpenTransaction,
): Promise<void> {
  // A commit that cannot be sent any more has a known outcome.
  if (session.loss !== undefined) {
    const { commits } = open;
    const told = classifyPostgresError(session.loss, 'transaction', own.what, { commits });
    throw lostAfter(open, own, told);
  }
  await open.commit();
}

/** What a loss before the commit means, by what the work has done. */
function lostAfter(
  open: OpenTransaction | undefined,
  { what }: TransactionAsk,
  error: unknown,
): unknown {
  const isUnknown = error instanceof OutcomeUnknownError || open?.commits !== 'possible';
  return isUnknown ? error : endedByWork(what, error);
}

async function giveUp<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  open: OpenTransaction | undefined,
): Promise<Rollback> {
  if (open === undefined) return 'unknown';
  if (session.loss === undefined) return await open.giveUp();
  return open.commits === 'possible' ? 'endedByWork' : 'unknown';
}

async function rollback<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  { runtime, timeoutMs }: TransactionAsk,
): Promise<Rollback> {
  if (session.loss !== undefined) return 'unknown';
  try {
    await withDeadline(runtime, timeoutMs, session.client.query('ROLLBACK'));
    return 'rolledBack';
  } catch {
    // The caller's error matters more.
    return 'unknown';
  }
}

/** A rollback would queue behind a statement that is not answered; closing the connection has the same effect. */
function meansLoss(error: unknown): boolean {
  return error instanceof UnreachableError || error instanceof OutcomeUnknownError;
}

function isRefusedWith(state: string, error: unknown): boolean {
  return error instanceof StoreRefusedError && error.storeCode === state;
}

interface ReadOnlyReasons {
  readonly standby: boolean;
  readonly setting: string;
}

/** Says which of the reasons it was if the server turned out to be read-only; every other error stays as it is. */
async function explained<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  own: TransactionAsk,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof StoreMisconfiguredError) || !isReadOnlyError(error.cause)) return error;
  const question =
    "SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only') AS setting";
  const answer = await ask<ReadOnlyReasons>(
    session.client,
    { ...own, phase: 'read' },
    question,
  ).catch(() => undefined);
  const reasons = answer?.rows[0];
  if (reasons === undefined) return error;
  const reason = reasons.standby
    ? 'the server is a standby (pg_is_in_recovery() is true); connect to the primary'
    : `default_transaction_read_only is ${reasons.setting}; connect with a role that may write`;
  return ofKind(
    'replica',
    new StoreMisconfiguredError(`${own.what} was refused: ${reason}.`, error.cause),
  );
}
