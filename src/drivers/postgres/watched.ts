import {
  classifyPostgresError,
  endedByWork,
  failedTransaction,
  leftOpen,
  sqlStateOf,
} from './errors.js';
import type { OpenTransaction, Rollback, TransactionAsk } from './open-transaction.js';
import type { PreparedOpening } from './prepared-opening.js';
import { TransactionWatch } from './watch.js';
import { exchange, isInside, type StatementAnswer, type WiredClient } from './wire.js';
import { queryMessage } from './wire-messages.js';

/** The SQLSTATE by which we learn that what is to be ended is not what was begun. */
const anotherState = 'TN015';

/** Nothing is sent: the last answer says already that there is nothing of ours to be ended. */
class OverError extends Error {
  constructor() {
    super('the transaction that was begun is over');
  }
}

const commitMessage = queryMessage('COMMIT');
const rollbackMessage = queryMessage('ROLLBACK');

/**
 * Begins with prepared statements, in one message, a transaction that is watched from the client: it leaves no mark.
 *
 * @returns `undefined` if the session does not keep what is prepared, so that nothing is begun.
 */
export async function beginWatched(
  client: WiredClient,
  opening: PreparedOpening,
  own: TransactionAsk,
): Promise<OpenTransaction | undefined> {
  const { connection } = client;
  let answers: StatementAnswer[];
  try {
    answers = await exchange(client, own, () =>
      isInside(client) ? new Error('inside a transaction') : opening.messageFor(connection),
    );
  } catch (error) {
    if (sqlStateOf(error) === undefined && isInside(client)) throw leftOpen(own.what, error);
    if (!opening.statements.isLost(connection, error)) {
      throw classifyPostgresError(error, 'transaction', own.what);
    }
    await rollBackLost(client, own);
    return undefined;
  }
  opening.statements.keep(connection);
  const refusal = opening.judge(answers);
  if (refusal !== undefined) throw classifyPostgresError(refusal, 'transaction', own.what);
  return new WatchedTransaction(client, own, answers[1]?.fields.at(-1) ?? '');
}

/** It may have been begun before that came to light. @throws what keeps anything else from being begun there. */
async function rollBackLost(client: WiredClient, own: TransactionAsk): Promise<void> {
  try {
    await exchange(client, own, () => (isInside(client) ? rollbackMessage : new OverError()));
  } catch (error) {
    if (!(error instanceof OverError)) throw classifyPostgresError(error, 'transaction', own.what);
  }
}

class WatchedTransaction implements OpenTransaction {
  readonly #client: WiredClient;
  readonly #own: TransactionAsk;
  /** See {@link transactionStamp}. */
  readonly #stamp: string;
  readonly #watch: TransactionWatch;

  constructor(client: WiredClient, own: TransactionAsk, stamp: string) {
    this.#client = client;
    this.#own = own;
    this.#stamp = stamp;
    this.#watch = new TransactionWatch(client.connection);
  }

  async commit(): Promise<void> {
    try {
      const answers = await exchange(this.#client, this.#own, () => this.#committing());
      // As the answer to COMMIT is in a transaction that has failed.
      if (answers.at(-1)?.tag !== 'COMMIT') throw hasFailed();
    } catch (error) {
      if (tellsOfEnd(error)) throw endedByWork(this.#own.what, error);
      throw classifyPostgresError(error, 'commit', this.#own.what);
    }
  }

  async giveUp(): Promise<Rollback> {
    try {
      await exchange(this.#client, this.#own, () => this.#givingUp());
      return 'rolledBack';
    } catch (error) {
      return tellsOfEnd(error) || this.commits === 'possible' ? 'endedByWork' : 'unknown';
    }
  }

  get commits(): 'none' | 'possible' {
    return this.#watch.commits;
  }

  end(): void {
    this.#watch.end();
  }

  /** Asked when everything before has its answer, so that both the status and the watch are up to date. */
  #committing(): Uint8Array | Error {
    const status = this.#client.getTransactionStatus();
    const { standing } = this.#watch;
    if (standing === 'over' || status === 'I') return new OverError();
    if (status === 'E') return hasFailed();
    return standing === 'same' ? commitMessage : queryMessage(`${this.#assertSame()}; COMMIT`);
  }

  /*
   * What ends it, by the watch and the status of the last answer:
   *
   *            | no transaction | one                 | one that has failed, and answers nothing
   * over       | nothing        | nothing             | nothing
   * same       | nothing        | ROLLBACK            | ROLLBACK
   * doubtful   | nothing        | asked, and ROLLBACK | ROLLBACK; nothing if another one was begun meanwhile
   *
   * Of nothing it is said that the work has ended it.
   */
  #givingUp(): Uint8Array | Error {
    const status = this.#client.getTransactionStatus();
    const { standing, isCommittedInPart } = this.#watch;
    if (standing === 'over' || status === 'I') return new OverError();
    if (standing === 'same') return rollbackMessage;
    if (status === 'E') return isCommittedInPart ? new OverError() : rollbackMessage;
    return queryMessage(`${this.#assertSame()}; ROLLBACK`);
  }

  #assertSame(): string {
    return `DO $$ BEGIN IF ${transactionStamp} <> ${this.#stamp} THEN
    RAISE EXCEPTION 'tenure: this is another transaction' USING ERRCODE = '${anotherState}';
  END IF; END $$`;
  }
}

/** What the transactions of one session differ in: their server's time of the beginning, in microseconds. */
export const transactionStamp = "(date_part('epoch', transaction_timestamp()) * 1000000)::bigint";

function tellsOfEnd(error: unknown): boolean {
  return error instanceof OverError || sqlStateOf(error) === anotherState;
}

function hasFailed(): Error {
  const text = 'a statement of the transaction has failed';
  return Object.assign(new Error(text), { code: failedTransaction });
}
