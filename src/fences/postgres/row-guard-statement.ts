import {
  isPool,
  type PostgresClient,
  type PostgresPool,
  type PostgresQueryable,
  type PostgresResult,
  PostgresSession,
  refuseIfInside,
  refuseLeftOpen,
} from '../../drivers/postgres/index.js';
import { realRuntime } from '../../time/index.js';

/** How long a client that cannot tell by itself is waited for: whether it is inside a transaction. */
const lookLimitMs = 5_000;

/**
 * One statement; through a pool it is on its own. It would not be on a client that its last user left inside a transaction:
 * then it is refused, and that transaction is rolled back.
 *
 * @throws {StoreRefusedError} and what the pool and the server answer otherwise, as it is.
 */
export async function askAlone<Row extends object>(
  target: PostgresQueryable,
  what: string,
  text: string,
  values: unknown[],
): Promise<PostgresResult<Row>> {
  const source: PostgresPool | PostgresQueryable = target;
  if (!isPool(source)) return await target.query<Row>(text, values);
  const session = new PostgresSession<PostgresClient>(await source.connect());
  try {
    await refuseLeftOpen(session, realRuntime, lookLimitMs, what);
    const result = await session.client.query<Row>(text, values);
    refuseIfInside(session, what);
    session.end(true);
    return result;
  } finally {
    // As a pool does after any failure.
    session.end(false);
  }
}
