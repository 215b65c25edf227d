import { OutcomeUnknownError, UnreachableError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { withDeadline } from '../deadline.js';
import type { MysqlConnection, MysqlQueryable } from './client.js';
import {
  classifyMysqlError,
  endedByWork,
  errnoOf,
  type MysqlPhase,
  noSavepoint,
} from './errors.js';

/** How one of our own statements is asked. */
export interface Ask {
  readonly runtime: Runtime;
  /** The answer is waited for this long, on the monotonic clock. */
  readonly timeoutMs: number;
  readonly phase: MysqlPhase;
  /** Begins an error's message. */
  readonly what: string;
}

export interface MysqlAnswer<Row> {
  readonly rows: readonly Row[];
  readonly affectedRows: number;
  /** The flags of the session, which come with every answer that has no rows, unless something in between drops them. */
  readonly serverStatus: number | undefined;
}

/** Flags of {@link MysqlAnswer.serverStatus}. */
export const inTransaction = 1;
export const autocommits = 2;

/**
 * Runs one statement, and rejects with tenure's errors only.
 *
 * @param values bound by the server, never written into the text.
 */
export async function ask<Row extends object>(
  target: MysqlQueryable,
  own: Ask,
  text: string,
  values?: string[],
): Promise<MysqlAnswer<Row>> {
  try {
    return await askPlainly<Row>(target, own, text, values);
  } catch (error) {
    throw classifyMysqlError(error, own.phase, own.what);
  }
}

/** As {@link ask}, with the errors of the client library. */
export async function askPlainly<Row extends object>(
  target: MysqlQueryable,
  { runtime, timeoutMs }: Pick<Ask, 'runtime' | 'timeoutMs'>,
  sql: string,
  values?: string[],
): Promise<MysqlAnswer<Row>> {
  const plain = { rowsAsArray: false, nestTables: false, typeCast: true } as const;
  const asked =
    values === undefined
      ? target.query({ sql, ...plain })
      : target.execute({ sql, values, ...plain });
  const [answer] = await withDeadline(runtime, timeoutMs, asked);
  if (Array.isArray(answer))
    return { rows: answer as Row[], affectedRows: 0, serverStatus: undefined };
  const { affectedRows, serverStatus } = Object(answer);
  return {
    rows: [],
    affectedRows: Number(affectedRows ?? 0),
    serverStatus: typeof serverStatus === 'number' ? serverStatus : undefined,
  };
}

/**
 * One connection for one transaction, from checkout to release.
 *
 * An `error` event nobody listens for ends the process, and a server that ends an idle session would cause one: so the
 * session listens, and remembers.
 */
export class MysqlSession<Connection extends MysqlConnection> {
  readonly connection: Connection;
  #loss: Error | undefined;
  #isOver = false;
  readonly #onError = (error: Error) => {
    this.#loss ??= error;
  };

  constructor(connection: Connection) {
    this.connection = connection;
    connection.on('error', this.#onError);
  }

  /** Why the connection is gone, if it is known to be. Nothing sent from now on reaches the server. */
  get loss(): Error | undefined {
    return this.#loss;
  }

  /** Gives the connection back to its pool, or closes it if its state is not known. Safe to call twice. */
  end(isClean: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (isClean && this.#loss === undefined) {
      this.connection.removeListener('error', this.#onError);
      this.connection.release();
      return;
    }
    this.#loss ??= new Error('the connection was closed');
    // It may still emit errors, so the listener stays.
    this.connection.destroy();
  }
}

export interface TransactionSteps {
  /** Its first statement, before `START TRANSACTION`; the session's settings are remembered in it. */
  readonly set: string;
  /** Gives the session back what it had. */
  readonly restore: string;
  /** For our own statements; the work's are not timed by us. */
  readonly ask: Omit<Ask, 'phase'>;
}

/**
 * Runs `body` between begin and commit, and rolls back if it throws: its error comes through as it is, whatever
 * becomes of the rollback. Ends the session, with its settings as they were.
 *
 * A savepoint with a name that nobody knows marks the transaction: it is gone once the work, or a deadlock, ended it.
 */
export async function runTransaction<Connection extends MysqlConnection, Result>(
  session: MysqlSession<Connection>,
  steps: TransactionSteps,
  body: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const { connection } = session;
  const mark = `tenure_${steps.ask.runtime.randomHex(8)}`;
  const begin: Ask = { ...steps.ask, phase: 'transaction' };
  let isClean = false;
  try {
    for (const text of [steps.set, 'START TRANSACTION READ WRITE', `SAVEPOINT ${mark}`])
      await ask(connection, begin, text);
    const result = await body(connection);
    await commit(session, steps.ask, mark);
    isClean = await tidy(session, steps, [steps.restore]);
    return result;
  } catch (error) {
    isClean = !meansLoss(error) && (await tidy(session, steps, ['ROLLBACK', steps.restore]));
    throw error;
  } finally {
    session.end(isClean);
  }
}

async function commit<Connection extends MysqlConnection>(
  session: MysqlSession<Connection>,
  own: Omit<Ask, 'phase'>,
  mark: string,
): Promise<void> {
  // A commit that cannot be sent any more has a known outcome.
  if (session.loss !== undefined) throw classifyMysqlError(session.loss, 'transaction', own.what);
  const { connection } = session;
  try {
    await askPlainly(connection, own, `RELEASE SAVEPOINT ${mark}`);
  } catch (error) {
    if (errnoOf(error) === noSavepoint) throw endedByWork(own.what, error);
    throw classifyMysqlError(error, 'transaction', own.what);
  }
  await ask(connection, { ...own, phase: 'commit' }, 'COMMIT');
}

/** A rollback would queue behind a statement that is not answered; closing the connection has the same effect. */
function meansLoss(error: unknown): boolean {
  return error instanceof UnreachableError || error instanceof OutcomeUnknownError;
}

/** Whether the session is fit for others. */
async function tidy<Connection extends MysqlConnection>(
  session: MysqlSession<Connection>,
  steps: TransactionSteps,
  texts: readonly string[],
): Promise<boolean> {
  if (session.loss !== undefined) return false;
  try {
    for (const text of texts) await askPlainly(session.connection, steps.ask, text);
    return true;
  } catch {
    // What went before matters more.
    return false;
  }
}
