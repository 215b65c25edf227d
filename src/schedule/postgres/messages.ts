import {
  type Ask,
  ask,
  assertBegunNow,
  leftOpen,
  type PostgresClient,
  type PostgresResult,
  type PostgresSession,
  sqlStateOf,
} from '../../drivers/postgres/index.js';
import { OutcomeUnknownError, type TenureError, UnreachableError } from '../../errors/index.js';

/** `active_sql_transaction`, of a BEGIN that asks for another isolation than the open one has; and our own. */
const openStates = ['25001', 'TN013'];

function wasOpen(cause: unknown): boolean {
  return openStates.includes(sqlStateOf(cause) ?? '');
}

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
 * Sends several statements as one message, which is a transaction or a part of one, and answers with the rows of each. A
 * failure of one ends the message: the rest of it is not executed.
 *
 * @throws what {@link ask} does, and {@link leftOpen}. The transaction is rolled back then, or its connection closed.
 */
export async function askTogether(
  session: PostgresSession<PostgresClient>,
  own: Ask,
  statements: readonly string[],
): Promise<object[][]> {
  try {
    const { client } = session;
    const answer = (await askRaw(client, own, statements.join('; '))) as
      | PostgresResult<object>
      | PostgresResult<object>[];
    return [answer].flat().map(({ rows }) => rows);
  } catch (error) {
    await leave(session, own, error as TenureError);
    throw error;
  }
}

async function askRaw(client: PostgresClient, own: Ask, text: string): Promise<unknown> {
  try {
    return await ask(client, own, text);
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    throw wasOpen(cause) ? leftOpen(own.what, cause) : error;
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
  if (wasOpen(error.cause)) session.end(false);
}
