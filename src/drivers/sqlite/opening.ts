import { StoreMisconfiguredError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import type { SqliteLibrary, SqliteValue } from './client.js';
import type { SqliteClock } from './clock.js';
import { SqliteConnection } from './connection.js';
import { identifyFile } from './file.js';
import { requireOwnFile, type SqliteSchema, takeUp } from './schema.js';

/**
 * How long SQLite itself waits for a lock. It blocks this thread, the renewals included, so it is only long enough for a
 * transaction that is just being committed; longer waits are the session's, with timers.
 */
const busyTimeoutMs = 5;

/**
 * Opens a file that is there, checks that its settings keep what is promised, and takes it up for this boot.
 *
 * @throws {SqliteFailure} or {@link StoreMisconfiguredError}; {@link UnreachableError} if the file is just being replaced.
 */
export function openConnection(
  library: SqliteLibrary,
  path: string,
  schema: SqliteSchema,
  clock: SqliteClock,
): SqliteConnection {
  const identity = identifyFile(path);
  if (identity === undefined) throw unreachable('unreachable', `${path} was removed just now.`);
  const connection = new SqliteConnection(library, path, identity);
  try {
    if (connection.isMoved()) throw unreachable('unreachable', `${path} was replaced just now.`);
    connection.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    requireOwnFile(connection, schema);
    requireSetting(connection, 'journal_mode', 'wal', 'wal');
    requireSetting(connection, 'synchronous', 'full', 2);
    takeUp(connection, schema, clock);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** SQLite answers a setting it cannot take with the old value, not with an error. */
function requireSetting(
  connection: SqliteConnection,
  name: string,
  value: string,
  shownAs: SqliteValue,
): void {
  if (connection.pragma(name) === shownAs) return;
  connection.get(`PRAGMA ${name} = ${value}`);
  const answer = connection.pragma(name);
  if (answer === shownAs) return;
  throw new StoreMisconfiguredError(
    `${connection.path} does not take ${name} = ${value} (it stays ${answer}), without which a lease granted in it is not safe. Put the file on a local disk that no other program opens.`,
  );
}
