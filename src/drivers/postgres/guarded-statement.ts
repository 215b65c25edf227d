import type { OutcomeUnknownError } from '../../errors/index.js';
import { outcomeUnknown } from '../../errors/unanswered.js';
import { NoAnswerError } from '../deadline.js';
import type { PostgresClient, PostgresResult } from './client.js';
import { classifyPostgresError, isOfStatement, isOver, leftOpen, sqlStateOf } from './errors.js';
import {
  type GuardedQuery,
  guardedQueryClass,
  type Statement,
  UnsuitedError,
} from './guarded-query.js';
import type { TransactionAsk } from './open-transaction.js';
import type { PreparedGuard } from './prepared-guard.js';
import type { PostgresSession } from './session.js';
import { answerTo, isInside, type WiredClient, wiredClient } from './wire.js';

/**
 * Executes one statement behind a guard, and commits it, in one message: a transaction that the server begins and ends by
 * itself. The statement must be one that cannot end a transaction, not even by a procedure. Ends the session.
 *
 * @returns `undefined` if certainly nothing was executed, since the guard failed, or one message does not do here.
 * @throws what the statement, or `pg` for its values, fails with, as it is; and what a commit fails with.
 * @throws {StoreRefusedError} if the client was inside a transaction already. Its connection is closed.
 */
export async function writeGuarded<Row extends object>(
  session: PostgresSession<PostgresClient>,
  guard: PreparedGuard,
  statement: Statement,
  own: TransactionAsk,
): Promise<PostgresResult<Row> | undefined> {
  const client = wiredClient(session.client);
  const Query = guardedQueryClass(session.client);
  let isClean = true;
  try {
    if (client === undefined || Query === undefined) {
      guard.statements.abandon();
      return undefined;
    }
    const query = new Query(client, guard, statement);
    try {
      const answer = await answerTo<PostgresResult<object>>(client, own, (settle) => {
        query.callback = settle;
        return query;
      });
      if (query.stage !== 'committed') throw new UnsuitedError();
      return answer as PostgresResult<Row>;
    } catch (error) {
      const failure = failureOf(client, guard, query, statement, own, error);
      isClean = failure.isClean;
      if (!failure.isHarmless) throw failure.error;
      return undefined;
    }
  } finally {
    session.end(isClean);
  }
}

interface Failure {
  readonly error: unknown;
  /** Whether the session is fit for others. */
  readonly isClean: boolean;
  /** Nothing was executed, and a transaction may do more, or say better why not. */
  readonly isHarmless?: boolean;
}

function failureOf(
  client: WiredClient,
  guard: PreparedGuard,
  { stage, valuesError }: GuardedQuery,
  { name }: Statement,
  { what }: TransactionAsk,
  error: unknown,
): Failure {
  const state = sqlStateOf(error);
  if (stage === 'waiting') {
    if (isInside(client)) return { error: leftOpen(what, error), isClean: false };
    if (error === valuesError) return { error, isClean: true };
    if (error instanceof NoAnswerError)
      return { error: classifyPostgresError(error, 'transaction', what), isClean: false };
    return { error, isClean: error instanceof UnsuitedError, isHarmless: true };
  }
  if (stage === 'committed') return { error: unreadable(what, error), isClean: false };
  // Of a pooler in between, such a one may mean that the answer of the server was lost.
  if (state === undefined || (isOver(state) && !isOfStatement(error)))
    return { error: classifyPostgresError(error, 'commit', what), isClean: false };
  if (stage === 'executed')
    return { error: classifyPostgresError(error, 'commit', what), isClean: true };
  if (stage === 'admitted') return { error, isClean: true };
  // The guard waits for nothing: it was the statement, before its turn.
  if (waitEnded.includes(state)) return { error, isClean: true };
  const isOfName = name !== undefined && String(error).includes(`"${name}"`);
  if (!isOfName) guard.statements.isLost(client.connection, error);
  return { error, isClean: true, isHarmless: true };
}

/** Cancelled by somebody, or by `statement_timeout`; and by `lock_timeout`. */
const waitEnded = ['57014', '55P03'];

/** Not a failure after which it may be written again, though its outcome is known. */
function unreadable(what: string, error: unknown): OutcomeUnknownError {
  return outcomeUnknown(
    'other',
    `${what} was committed, but its rows could not be read: a parser of types threw. Do not write it again.`,
    error,
  );
}
