import {
  findLockHolder,
  isBusyCode,
  type SqlitePhase,
  sqliteError,
} from '../../drivers/sqlite/index.js';
import {
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
  UnreachableError,
} from '../../errors/index.js';

/** Another connection has the lock. It may be free a moment later. */
export class LockedError extends UnreachableError {}

const readSomethingOlder = 517;
const brokenReference = 787;

/** What a failure of the fence's own statements means; those of the user pass as they are. */
export function failureOf(
  error: Error,
  code: number,
  phase: SqlitePhase,
  what: string,
  path: string,
): TenureError {
  if (code === readSomethingOlder)
    return new StoreRefusedError(
      'SQLITE_BUSY_SNAPSHOT',
      `${what} was refused, nothing was written: the transaction began with a read, and others have written since. Begin with BEGIN IMMEDIATE, and run it again.`,
    );
  if (isBusyCode(code)) return new LockedError(`${what} found ${path} locked. ${whoLocks(path)}`);
  if (/no such table: main\.tenure_/.test(error.message))
    return new StoreMisconfiguredError(
      `${what} was refused: the tables of the fence are not in ${path}. Call fence.migrate() at the start, or run its migrationSql.`,
    );
  if (code === brokenReference || (code & 0xff) === 19)
    return new StoreRefusedError(
      'SQLITE_CONSTRAINT',
      `${what} was refused, nothing was written: a constraint that is looked at in the commit does not hold.`,
    );
  if ((code & 0xff) === 1)
    return new StoreRefusedError(
      'SQLITE_ERROR',
      `${what} was refused, nothing was written: ${error.message}.`,
    );
  return sqliteError(code, phase, what, path);
}

function whoLocks(path: string): string {
  const holder = findLockHolder(path);
  if (holder === undefined)
    return 'Another process may be stopped inside a transaction: look for it with lslocks or fuser.';
  return holder.isStopped
    ? `Process ${holder.pid} is stopped inside a transaction: let it go on (SIGCONT), or end it.`
    : `Process ${holder.pid} holds its lock: it may be stuck inside a transaction.`;
}
