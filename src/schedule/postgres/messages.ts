import {
  type Ask,
  ask,
  assertBegunNow,
  failedTransaction,
  leaveMark,
  leftOpen,
  noSuchCursor,
  type PostgresClient,
  type PostgresResult,
  type PostgresSession,
  requireMark,
  sqlStateOf,
  takenAway,
  tellsOfLeftOpen,
} from '../../drivers/postgres/index.js';
import { OutcomeUnknownError, type TenureError, UnreachableError } from '../../errors/index.js';

/**
 * What begins a transaction in the same message as its first statements. Whoever had the client before may have left a
 * transaction open, whose writes would be committed with ours.
 */
export function beginning(mode: string, settings: readonly string[]): string {
  return [
    `BEGIN ISOLATION LEVEL ${mode}`,
    `DO $$ BEGIN ${assertBegunNow} END $$`,
    ...settings,
  ].join('; ');
}

/**
 * Sends several statements as one message, which is a transaction or the beginning of one, and answers with the rows of
 * each. A failure of one ends the message: the rest of it is not executed.
 *
 * @throws what {@link ask} does, and {@link leftOpen}. The transaction is rolled back then, or its connection closed.
 */
export async function askTogether(
  session: PostgresSession<PostgresClient>,
  own: Ask,
  statements: readonly string[],
): Promise<object[][]> {
  return await send(session, own, statements, (cause) =>
    tellsOfLeftOpen(cause) ? leftOpen(own.what, cause) : undefined,
  );
}

/** As {@link askTogether}, for a transaction that {@link commitTogether} is to end. */
export async function beginTogether(
  session: PostgresSession<PostgresClient>,
  own: Ask,
  statements: readonly string[],
): Promise<object[][]> {
  const answers = await askTogether(session, own, [...statements, leaveMark]);
  return answers.slice(0, -1);
}

/**
 * The last message of what {@link beginTogether} began. If that is over, nothing of this one is executed: each statement
 * would be committed on its own, without the locks and settings of the transaction.
 *
 * @throws what {@link ask} does, and {@link takenAway}. The transaction is rolled back then, or its connection closed.
 */
export async function commitTogether(
  session: PostgresSession<PostgresClient>,
  own: Ask,
  statements: readonly string[],
): Promise<void> {
  const states = [noSuchCursor, failedTransaction];
  await send(session, own, [requireMark, ...statements, 'COMMIT'], (cause) =>
    states.includes(sqlStateOf(cause) ?? '') ? takenAway(own.what, cause) : undefined,
  );
}

/** @param foreign what somebody else has done to the connection, if that is why it failed. Nobody gets it again then. */
async function send(
  session: PostgresSession<PostgresClient>,
  own: Ask,
  statements: readonly string[],
  foreign: (cause: unknown) => TenureError | undefined,
): Promise<object[][]> {
  try {
    const answer = (await ask(session.client, own, statements.join('; '))) as
      | PostgresResult<object>
      | PostgresResult<object>[];
    return [answer].flat().map(({ rows }) => rows);
  } catch (error) {
    const failure = error as TenureError;
    const explanation = foreign(failure.cause);
    await leave(session, own, failure);
    if (explanation !== undefined) session.end(false);
    throw explanation ?? failure;
  }
}

/** A rollback would queue behind what is not answered: closing the connection has the same effect. */
async function leave(
  session: PostgresSession<PostgresClient>,
  own: Ask,
  error: TenureError,
): Promise<void> {
  const isLost = error instanceof UnreachableError || error instanceof OutcomeUnknownError;
  if (isLost) return session.end(false);
  const rollback = { ...own, phase: 'transaction' } as const;
  await ask(session.client, rollback, 'ROLLBACK').catch(() => session.end(false));
}
