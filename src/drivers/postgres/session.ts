import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { NoAnswerError, withDeadline } from '../deadline.js';
import type { PostgresClient, PostgresQueryable, PostgresResult } from './client.js';
import {
  classifyPostgresError,
  endedByWork,
  failedTransaction,
  isReadOnlyError,
  leftOpen,
  mentions,
  noSuchCursor,
  type PostgresPhase,
  sqlStateOf,
  wasOpen,
} from './errors.js';

/** How one of our own statements is asked. */
export interface Ask {
  readonly runtime: Runtime;
  /** The answer is waited for this long, on the monotonic clock. */
  readonly timeoutMs: number;
  readonly phase: PostgresPhase;
  /** Begins an error's message. */
  readonly what: string;
  /** The time of all the statements that this one is the rest of, for the error. Default `timeoutMs`. */
  readonly wholeMs?: number;
}

/** Runs one statement, and rejects with tenure's errors only. */
export async function ask<Row extends object>(
  target: PostgresQueryable,
  { runtime, timeoutMs, phase, what, wholeMs = timeoutMs }: Ask,
  text: string,
  values?: unknown[],
): Promise<PostgresResult<Row>> {
  try {
    return await withDeadline(runtime, timeoutMs, target.query<Row>(text, values));
  } catch (error) {
    const failure = error instanceof NoAnswerError ? new NoAnswerError(wholeMs) : error;
    throw classifyPostgresError(failure, phase, what);
  }
}

/**
 * One client for one transaction, from checkout to release.
 *
 * While a client is checked out, its pool does not listen for its errors, and an `error` event nobody listens for ends
 * the process: a server restart would do that. So the session listens, and remembers.
 */
export class PostgresSession<Client extends PostgresClient> {
  readonly client: Client;
  #loss: Error | undefined;
  #isOver = false;
  readonly #onError = (error: Error) => {
    this.#loss ??= error;
  };

  constructor(client: Client) {
    this.client = client;
    client.on('error', this.#onError);
  }

  /** Why the connection is gone, if it is known to be. Nothing sent from now on reaches the server. */
  get loss(): Error | undefined {
    return this.#loss;
  }

  /** Gives the client back to its pool, or closes its connection if its state is not known. Safe to call twice. */
  end(isClean: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const reusable = isClean && this.#loss === undefined;
    if (!reusable) this.#loss ??= new Error('the connection was closed');
    // A client that is being destroyed may still emit errors, so its listener stays.
    if (reusable) this.client.removeListener('error', this.#onError);
    this.client.release(!reusable);
  }
}

export interface TransactionSteps {
  /** Its first statement, e.g. `BEGIN`. May be several, divided by semicolons. */
  readonly begin: string;
  /**
   * Travels with `begin`, and does all of what {@link markText} does, as a procedure can at less cost. Default: that text.
   *
   * @param nonce a value for {@link markSetting}: hexadecimal digits.
   */
  readonly mark?: (nonce: string) => string;
  /** For our own statements; the work's are not timed by us. */
  readonly ask: Omit<Ask, 'phase'>;
}

/**
 * A cursor that nobody reads. It lives exactly as long as the transaction that opened it, so that its end tells whether the
 * work has ended that one, and perhaps begun another (`COMMIT AND CHAIN` does both). Of all that a transaction forgets at
 * its end this is the cheapest to ask for: no planner takes part.
 */
export const markCursor = 'tenure_transaction';

/**
 * A setting of the session with a value that no other transaction gives it. A rollback takes it back, and whatever commits
 * leaves it there: so it tells whether anything was committed where the cursor cannot be asked for any more, in a
 * transaction that has failed.
 */
export const markSetting = 'tenure.transaction';

/** Fails unless the transaction began with the message in which this comes. For PL/pgSQL. */
export const assertBegunNow = `IF transaction_timestamp() <> statement_timestamp() THEN
    RAISE EXCEPTION 'tenure: this connection was inside a transaction already' USING ERRCODE = '${wasOpen}';
  END IF;`;

const markText = (nonce: string) =>
  `DO $$ BEGIN ${assertBegunNow} END $$; SET ${markSetting} = '${nonce}'; DECLARE ${markCursor} CURSOR FOR VALUES (1)`;

/**
 * The last message of a transaction. `CLOSE` fails where the cursor is gone, and in a transaction that has failed, where
 * `COMMIT` would answer as if all were well, and roll back; what fails takes the rest of its message with it.
 */
const commitText = `CLOSE ${markCursor}; COMMIT`;
const giveUpText = `CLOSE ${markCursor}; ROLLBACK`;

/** The SQLSTATE by which we learn that what is rolled back is not what was begun. */
const hasCommitted = 'TN014';

/**
 * Runs `body` between begin and commit, and rolls back if it throws: its error comes through as it is, whatever becomes of
 * the rollback, unless the transaction turns out to have been ended by it. Ends the session.
 *
 * @throws {OutcomeUnknownError} if the work ended the transaction itself, whether or not it threw afterwards.
 * @throws {StoreRefusedError} if the client was inside a transaction already. That one is rolled back.
 */
export async function runTransaction<Client extends PostgresClient, Result>(
  session: PostgresSession<Client>,
  steps: TransactionSteps,
  body: (client: Client) => Promise<Result>,
): Promise<Result> {
  const nonce = steps.ask.runtime.randomHex(8);
  let isAtWork = false;
  let isClean = false;
  try {
    await begin(session, steps, nonce);
    isAtWork = true;
    const result = await body(session.client);
    isAtWork = false;
    await commit(session, steps.ask);
    isClean = true;
    return result;
  } catch (error) {
    if (meansLoss(error)) throw error;
    // A commit that the server refuses for another reason has ended the transaction that was begun.
    const mayBeAnother = isAtWork || isRefusedWith(failedTransaction, error);
    const end = mayBeAnother
      ? await giveUp(session, steps.ask, nonce)
      : await rollback(session, steps.ask);
    if (end === 'endedByWork') throw endedByWork(steps.ask.what, error);
    isClean = end === 'rolledBack' && !isRefusedWith(wasOpen, error);
    throw isClean ? await explained(session, steps.ask, error) : error;
  } finally {
    session.end(isClean);
  }
}

async function begin<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  { begin: text, mark = markText, ask: own }: TransactionSteps,
  nonce: string,
): Promise<void> {
  try {
    const asked = session.client.query(`${text}; ${mark(nonce)}`);
    await withDeadline(own.runtime, own.timeoutMs, asked);
  } catch (error) {
    const state = sqlStateOf(error);
    // The first statement of a transaction cannot be in one that has failed.
    if (state === wasOpen || state === failedTransaction) throw leftOpen(own.what, error);
    throw classifyPostgresError(error, 'transaction', own.what);
  }
}

async function commit<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  own: Omit<Ask, 'phase'>,
): Promise<void> {
  // A commit that cannot be sent any more has a known outcome.
  if (session.loss !== undefined)
    throw classifyPostgresError(session.loss, 'transaction', own.what);
  try {
    await withDeadline(own.runtime, own.timeoutMs, session.client.query(commitText));
  } catch (error) {
    if (sqlStateOf(error) === noSuchCursor && mentions(error, markCursor))
      throw endedByWork(own.what, error);
    throw classifyPostgresError(error, 'commit', own.what);
  }
}

/** A rollback would queue behind a statement that is not answered; closing the connection has the same effect. */
function meansLoss(error: unknown): boolean {
  return error instanceof UnreachableError || error instanceof OutcomeUnknownError;
}

function isRefusedWith(state: string, error: unknown): boolean {
  return error instanceof StoreRefusedError && error.storeCode === state;
}

/** How a transaction ended that is not to be committed; `unknown`: the session is not fit for another one. */
type End = 'rolledBack' | 'endedByWork' | 'unknown';

/** Rolls back, and finds out whether it is the transaction which was begun that is rolled back. */
async function giveUp<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  own: Omit<Ask, 'phase'>,
  nonce: string,
): Promise<End> {
  if (session.loss !== undefined) return 'unknown';
  const { client } = session;
  try {
    await withDeadline(own.runtime, own.timeoutMs, client.query(giveUpText));
    return 'rolledBack';
  } catch (error) {
    const state = sqlStateOf(error);
    if (state === noSuchCursor) return 'endedByWork';
    if (state !== failedTransaction) return 'unknown';
  }
  return await rollback(session, own, nonce);
}

/**
 * @param nonce asks whether something of the transaction was committed before. In one message: behind a pooler the next one
 * may reach another session.
 */
async function rollback<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  own: Omit<Ask, 'phase'>,
  nonce?: string,
): Promise<End> {
  if (session.loss !== undefined) return 'unknown';
  const look = `DO $$ BEGIN IF current_setting('${markSetting}', true) = '${nonce}' THEN
    RAISE EXCEPTION 'tenure: the work has committed' USING ERRCODE = '${hasCommitted}';
  END IF; END $$`;
  const text = nonce === undefined ? 'ROLLBACK' : `ROLLBACK; ${look}`;
  try {
    await withDeadline(own.runtime, own.timeoutMs, session.client.query(text));
    return 'rolledBack';
  } catch (error) {
    // Else the caller's error matters more.
    return sqlStateOf(error) === hasCommitted ? 'endedByWork' : 'unknown';
  }
}

interface ReadOnlyReasons {
  readonly standby: boolean;
  readonly setting: string;
}

/** Says which of the reasons it was if the server turned out to be read-only; every other error stays as it is. */
async function explained<Client extends PostgresClient>(
  session: PostgresSession<Client>,
  own: Omit<Ask, 'phase'>,
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
  return new StoreMisconfiguredError(`${own.what} was refused: ${reason}.`, error.cause);
}
