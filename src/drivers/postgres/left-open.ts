import type { Runtime } from '../../time/index.js';
import type { PostgresClient } from './client.js';
import { failedTransaction, leftOpen, noTransaction, sqlStateOf } from './errors.js';
import { ask, type PostgresSession } from './session.js';

/**
 * A client comes from its pool as its last user released it: perhaps inside a transaction, in which a statement that was to
 * be on its own commits nothing, or what that one left. Closes the connection then, which rolls both back.
 *
 * Newer clients of `pg` know it from the server's last answer; with others the server is asked.
 *
 * @throws {StoreRefusedError}
 */
export async function refuseLeftOpen(
  session: PostgresSession<PostgresClient>,
  runtime: Runtime,
  timeoutMs: number,
  what: string,
): Promise<void> {
  const { client } = session;
  if (client.getTransactionStatus !== undefined) return refuseIfInside(session, what);
  const own = { runtime, timeoutMs, phase: 'read', what } as const;
  try {
    await ask(client, own, 'SAVEPOINT tenure_check');
  } catch (error) {
    const state = sqlStateOf(error instanceof Error ? error.cause : undefined);
    if (state === noTransaction) return;
    session.end(false);
    throw state === failedTransaction ? leftOpen(what, error) : error;
  }
  session.end(false);
  throw leftOpen(what, new Error('a savepoint was granted'));
}

/**
 * After a statement that was to be on its own: whoever released the client may have sent a BEGIN that was on its way still.
 *
 * @throws {StoreRefusedError}
 */
export function refuseIfInside(session: PostgresSession<PostgresClient>, what: string): void {
  const status = session.client.getTransactionStatus?.() ?? 'I';
  if (status === 'I') return;
  session.end(false);
  throw leftOpen(what, new Error(`the transaction status is ${status}`));
}
