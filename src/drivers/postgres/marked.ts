import { withDeadline } from '../deadline.js';
import type { PostgresClient } from './client.js';
import {
  type Commits,
  classifyPostgresError,
  endedByWork,
  failedTransaction,
  leftOpen,
  mentions,
  noSuchCursor,
  sqlStateOf,
  tellsOfLeftOpen,
  wasOpen,
} from './errors.js';
import type { OpenTransaction, Rollback, TransactionAsk } from './open-transaction.js';
import { TransactionWatch } from './watch.js';
import { wireOf } from './wire.js';

/**
 * A cursor that nobody reads. It lives exactly as long as the transaction that opened it, so that its end tells whether the
 * work has ended that one, and perhaps begun another (`COMMIT AND CHAIN` does both). Of all that a transaction forgets at
 * its end this is the cheapest to ask for: no planner takes part.
 */
export const markCursor = 'tenure_transaction';

export const leaveMark = `DECLARE ${markCursor} CURSOR FOR VALUES (1)`;

/**
 * Fails where the cursor is gone, and in a transaction that has failed, where `COMMIT` would answer as if all were well, and
 * roll back; what fails takes the rest of its message with it.
 */
export const requireMark = `CLOSE ${markCursor}`;

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
  `DO $$ BEGIN ${assertBegunNow} END $$; SET ${markSetting} = '${nonce}'; ${leaveMark}`;

/** The last message of a transaction. */
const commitText = `${requireMark}; COMMIT`;
const giveUpText = `${requireMark}; ROLLBACK`;

/** The SQLSTATE by which we learn that what is rolled back is not what was begun. */
const committedState = 'TN014';

/**
 * Begins with text, as every client takes it, a transaction that leaves marks in its session. What comes at its end asks for
 * them in the message that ends it.
 *
 * @param mark see `TransactionSteps.mark`.
 */
export async function beginMarked(
  client: PostgresClient,
  text: string,
  mark: (nonce: string) => string = markText,
  own: TransactionAsk,
): Promise<OpenTransaction> {
  const nonce = own.runtime.randomHex(8);
  try {
    await send(client, own, `${text}; ${mark(nonce)}`);
  } catch (error) {
    if (tellsOfLeftOpen(error)) throw leftOpen(own.what, error);
    throw classifyPostgresError(error, 'transaction', own.what);
  }
  return new MarkedTransaction(client, own, nonce);
}

class MarkedTransaction implements OpenTransaction {
  readonly #client: PostgresClient;
  readonly #own: TransactionAsk;
  readonly #nonce: string;
  /** Says what the marks cannot, where it can be had. */
  readonly #watch: TransactionWatch | undefined;

  constructor(client: PostgresClient, own: TransactionAsk, nonce: string) {
    const wire = wireOf(client);
    this.#watch = wire && new TransactionWatch(wire);
    this.#client = client;
    this.#own = own;
    this.#nonce = nonce;
  }

  async commit(): Promise<void> {
    try {
      await send(this.#client, this.#own, commitText);
    } catch (error) {
      if (sqlStateOf(error) === noSuchCursor && mentions(error, markCursor))
        throw endedByWork(this.#own.what, error);
      throw classifyPostgresError(error, 'commit', this.#own.what);
    }
  }

  async giveUp(): Promise<Rollback> {
    const { commits } = this;
    try {
      await send(this.#client, this.#own, giveUpText);
      return 'rolledBack';
    } catch (error) {
      const state = sqlStateOf(error);
      if (state === noSuchCursor) return 'endedByWork';
      if (state !== failedTransaction) return commits === 'possible' ? 'endedByWork' : 'unknown';
    }
    return await this.#giveUpFailed();
  }

  get commits(): Commits {
    return this.#watch?.commits ?? 'unseen';
  }

  end(): void {
    this.#watch?.end();
  }

  /**
   * Asks whether something of the transaction was committed before. In one message: behind a pooler the next one may reach
   * another session. The setting tells of a commit of the transaction that was begun, and not of what was committed after its rollback.
   */
  async #giveUpFailed(): Promise<Rollback> {
    if (this.#watch?.standing === 'over' || this.#watch?.isCommittedInPart) return 'endedByWork';
    const look = `DO $$ BEGIN IF current_setting('${markSetting}', true) = '${this.#nonce}' THEN
    RAISE EXCEPTION 'tenure: the work has committed' USING ERRCODE = '${committedState}';
  END IF; END $$`;
    try {
      await send(this.#client, this.#own, `ROLLBACK; ${look}`);
      return 'rolledBack';
    } catch (error) {
      return sqlStateOf(error) === committedState ? 'endedByWork' : 'unknown';
    }
  }
}

async function send(
  client: PostgresClient,
  { runtime, timeoutMs }: TransactionAsk,
  text: string,
): Promise<void> {
  await withDeadline(runtime, timeoutMs, client.query(text));
}
