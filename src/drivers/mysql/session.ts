import { OutcomeUnknownError, UnreachableError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import { withDeadline } from '../deadline.js';
import type { MysqlConnection, MysqlQueryable } from './client.js';
import {
  classifyMysqlError,
  endedByWork,
  errnoOf,
  leftOpen,
  lostAtWork,
  lostUnseen,
  type MysqlPhase,
  mayHaveRolledBack,
  noSavepoint,
} from './errors.js';
import { type OwnConnection, WorkGate } from './work-gate.js';

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
  /** For the work, and for what of ours comes before its end. */
  readonly connection: Connection;
  #gate: WorkGate | undefined;
  #loss: Error | undefined;
  #isOver = false;
  readonly #onError = (error: Error) => {
    this.#loss ??= error;
  };

  constructor(connection: Connection) {
    this.connection = connection;
    WorkGate.removeFrom(connection);
    connection.on('error', this.#onError);
  }

  /** Why the connection is gone, if it is known to be. Nothing sent from now on reaches the server. */
  get loss(): Error | undefined {
    return this.#loss;
  }

  /** For what of ours comes after the end of the work. */
  get own(): OwnConnection {
    return this.#gate?.own ?? this.connection;
  }

  /** What the work may have done to its transaction; `unseen`: nobody has looked. */
  get commits(): 'none' | 'possible' | 'unseen' {
    if (this.#gate === undefined) return 'unseen';
    return this.#gate.mayHaveCommitted ? 'possible' : 'none';
  }

  /** For the work, which is looked at where that can be. */
  openToWork(): Connection {
    this.#gate = WorkGate.before(this.connection);
    return this.connection;
  }

  /** What the work sends from now on is refused, where that can be. */
  closeToWork(what: string): void {
    this.#gate?.close(what);
  }

  /** Gives the connection back to its pool, or closes it if its state is not known. Safe to call twice. */
  end(isClean: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (isClean && this.#loss === undefined) {
      this.connection.removeListener('error', this.#onError);
      this.own.release();
      return;
    }
    this.#loss ??= new Error('the connection was closed');
    // It may still emit errors, so the listener stays.
    this.own.destroy();
  }
}

export interface TransactionSteps {
  /** Its first statement, before `START TRANSACTION`; the session's settings are remembered in it. */
  readonly set: string;
  /** Gives the session back what it had. */
  readonly restore: string;
  /** Answers, while the work's transaction or whatever came after it is open, whether something was committed by it: `hasCommitted`. */
  readonly hasCommitted: string;
  /** For our own statements; the work's are not timed by us. */
  readonly ask: Omit<Ask, 'phase'>;
}

/** The savepoint of a transaction that was begun here and has not ended. */
interface Mark {
  readonly name: string;
  /** Somebody of ours rolled the transaction back, when it was the one that was begun. */
  isRolledBack: boolean;
}

const marks = new WeakMap<MysqlQueryable, Mark>();

/**
 * Rolls back a transaction that {@link runTransaction} began, while its work goes on. What comes `next` stands right behind it
 * in the connection's queue.
 */
export async function rollBackEarly(
  target: MysqlQueryable,
  own: Pick<Ask, 'runtime' | 'timeoutMs'>,
  next: string,
): Promise<void> {
  const mark = marks.get(target);
  const released = mark === undefined ? undefined : release(target, own, mark);
  const sent = WorkGate.pass(target, () =>
    ['ROLLBACK', next].map((text) => askPlainly(target, own, text)),
  );
  await Promise.all(sent);
  if (mark !== undefined && (await released) === 'ours') mark.isRolledBack = true;
}

/** Lets go of the savepoint, and tells by that whether the transaction is still the one that was begun. */
async function release(
  target: MysqlQueryable,
  own: Pick<Ask, 'runtime' | 'timeoutMs'>,
  { name }: Mark,
): Promise<'ours' | 'ended' | 'unknown'> {
  try {
    await askPlainly(target, own, `RELEASE SAVEPOINT ${name}`);
    return 'ours';
  } catch (error) {
    return errnoOf(error) === noSavepoint ? 'ended' : 'unknown';
  }
}

/**
 * Runs `body` between begin and commit, and rolls back if it throws: its error comes through as it is, whatever becomes of
 * the rollback, unless the transaction turns out to have been ended by it, or it is of the connection's end. Ends the session,
 * with its settings as they were.
 *
 * A savepoint with a name that nobody knows marks the transaction: it is gone once the work, or a deadlock, ended it.
 *
 * @throws {UnreachableError} if the connection was lost at work; what the work threw is the cause.
 * @throws {OutcomeUnknownError} if the work ended the transaction itself, whether or not it threw afterwards.
 * @throws {StoreRefusedError} if the connection was inside a transaction already. That one is rolled back.
 */
export async function runTransaction<Connection extends MysqlConnection, Result>(
  session: MysqlSession<Connection>,
  steps: TransactionSteps,
  body: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const { ask: own } = steps;
  const mark: Mark = { name: `tenure_${own.runtime.randomHex(8)}`, isRolledBack: false };
  let isAtWork = false;
  let isClean = false;
  try {
    await begin(session, steps, mark);
    isAtWork = true;
    const result = await body(session.openToWork()).finally(() => session.closeToWork(own.what));
    isAtWork = false;
    await commit(session, own, mark);
    isClean = await tidy(session, steps, [steps.restore]);
    return result;
  } catch (error) {
    if (meansLoss(error)) throw isAtWork ? afterWork(session, own, mark, error) : error;
    if (isAtWork && (await wasEnded(session, steps, mark, error)))
      throw endedByWork(own.what, error);
    isClean = await tidy(session, steps, ['ROLLBACK', steps.restore]);
    throw (isAtWork && !isClean && lostAtWork(session, error, own.what)) || error;
  } finally {
    marks.delete(session.connection);
    session.end(isClean);
  }
}

async function begin<Connection extends MysqlConnection>(
  session: MysqlSession<Connection>,
  steps: TransactionSteps,
  mark: Mark,
): Promise<void> {
  const own: Ask = { ...steps.ask, phase: 'transaction' };
  const { connection } = session;
  await askOutside(session, own, steps.set);
  for (const text of ['START TRANSACTION READ WRITE', `SAVEPOINT ${mark.name}`])
    await ask(connection, own, text);
  marks.set(connection, mark);
}

/**
 * Asks what leaves a transaction as it is, before what would commit one: `START TRANSACTION` does, as does whatever creates a
 * table.
 *
 * @throws {StoreRefusedError} if the connection is inside a transaction already: whoever had it before us gave it back to
 * the pool without an end. That is rolled back, and the connection closed. Where `autocommit` is off, it is only rolled back.
 */
export async function askOutside<Connection extends MysqlConnection>(
  session: MysqlSession<Connection>,
  own: Ask,
  text: string,
): Promise<void> {
  const { connection } = session;
  const { serverStatus } = await ask(connection, own, text);
  if (serverStatus !== undefined && (serverStatus & inTransaction) === 0) return;
  await ask(connection, own, 'ROLLBACK');
  // A connection that tells nothing does without the error.
  if (serverStatus === undefined || !(await committedByItself(connection, own))) return;
  session.end(false);
  throw leftOpen(own.what);
}

/** Whether a transaction has to be begun in this session; else the first `SELECT` does, so that one stands open as a rule. */
async function committedByItself(target: MysqlQueryable, own: Ask): Promise<boolean> {
  const text = 'SELECT COALESCE(@tenure_autocommit, @@SESSION.autocommit) AS autocommit';
  const { rows } = await ask<{ autocommit: unknown }>(target, own, text);
  return Number(rows[0]?.autocommit) !== 0;
}

/**
 * Whether what the work wrote may have been committed by it. Not if the server rolled it back, as after a deadlock, unless the
 * work had committed before, and what was rolled back came after that. Where the server cannot be asked any more, what the work
 * has sent tells.
 */
async function wasEnded<Connection extends MysqlConnection>(
  session: MysqlSession<Connection>,
  { ask: own, hasCommitted }: TransactionSteps,
  mark: Mark,
  error: unknown,
): Promise<boolean> {
  if (mark.isRolledBack) return false;
  const standing = session.loss === undefined ? await release(session.own, own, mark) : 'unknown';
  if (standing === 'unknown') return session.commits === 'possible';
  if (standing === 'ours') return false;
  if (!mayHaveRolledBack(error)) return true;
  const asked = ask<{ hasCommitted: unknown }>(
    session.own,
    { ...own, phase: 'read' },
    hasCommitted,
  );
  // Without an answer it is not known.
  const rows = await asked.then((answer) => answer.rows).catch(() => [{ hasCommitted: 1 }]);
  return Number(rows[0]?.hasCommitted ?? 0) !== 0;
}

async function commit<Connection extends MysqlConnection>(
  session: MysqlSession<Connection>,
  own: Omit<Ask, 'phase'>,
  mark: Mark,
): Promise<void> {
  try {
    // A commit that cannot be sent any more has a known outcome.
    if (session.loss !== undefined) throw session.loss;
    await askPlainly(session.own, own, `RELEASE SAVEPOINT ${mark.name}`);
  } catch (error) {
    if (errnoOf(error) === noSavepoint) throw endedByWork(own.what, error);
    const told = classifyMysqlError(error, 'transaction', own.what);
    throw meansLoss(told) ? afterWork(session, own, mark, told) : told;
  }
  await ask(session.own, { ...own, phase: 'commit' }, 'COMMIT');
}

/** What a loss before the commit means, by what the work has sent. */
function afterWork<Connection extends MysqlConnection>(
  session: MysqlSession<Connection>,
  { what }: Omit<Ask, 'phase'>,
  mark: Mark,
  error: unknown,
): unknown {
  if (!(error instanceof UnreachableError) || mark.isRolledBack) return error;
  if (session.commits === 'possible') return endedByWork(what, error);
  return session.commits === 'unseen' && session.loss !== undefined
    ? lostUnseen(what, error.cause)
    : error;
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
    for (const text of texts) await askPlainly(session.own, steps.ask, text);
    return true;
  } catch {
    // What went before matters more.
    return false;
  }
}
