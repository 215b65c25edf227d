import { type Ask, ask, type MysqlQueryable } from '../../drivers/mysql/index.js';
import { StoreRefusedError } from '../../errors/index.js';
import { columnCount, type FenceStatements, migrationStatements } from './statements.js';

/** Whoever creates tables of ours holds this lock of the server's; it is gone at the latest with the connection. */
const lockName = 'tenure.migrate';

/**
 * Creates what is missing. Not a transaction: each statement commits by itself, and each can be repeated.
 *
 * @throws {StoreRefusedError} if somebody else has been migrating for as long as a claim would wait.
 */
export async function migrate(
  connection: MysqlQueryable,
  own: Ask,
  statements: FenceStatements,
  database: string,
  quotedDatabase: string,
): Promise<void> {
  const isComplete = async () => {
    const { columns } = statements;
    const { rows } = await ask<{ count: unknown }>(connection, own, columns, [database]);
    return Number(rows[0]?.count) === columnCount;
  };
  // First without a lock, and without a privilege to create.
  if (await isComplete()) return;
  const seconds = String(Math.ceil(own.timeoutMs / 2000));
  const taken = 'SELECT GET_LOCK(?, CAST(? AS SIGNED)) AS taken';
  const { rows } = await ask<{ taken: unknown }>(connection, own, taken, [lockName, seconds]);
  if (Number(rows[0]?.taken) !== 1) {
    const why = `somebody else has held the lock "${lockName}" for ${seconds} s; run it again`;
    throw new StoreRefusedError('ER_LOCK_WAIT_TIMEOUT', `${own.what} was refused: ${why}.`);
  }
  if (!(await isComplete())) {
    for (const text of migrationStatements(quotedDatabase)) await ask(connection, own, text);
  }
  await ask(connection, own, 'SELECT RELEASE_LOCK(?)', [lockName]);
}
