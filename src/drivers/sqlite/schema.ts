import { StoreMisconfiguredError } from '../../errors/index.js';
import type { SqliteClock } from './clock.js';
import type { SqliteConnection } from './connection.js';

/** What is kept in a file, and how a file is told from others. */
export interface SqliteSchema {
  /** SQLite's `application_id`: a signed 32-bit number that says whose file it is. */
  readonly applicationId: number;
  /** The version of the tables. A file of a higher one is refused. */
  readonly format: number;
  /** Creates the tables in an empty file. */
  readonly sql: string;
  /** All deadlines in the file are on the clock of an earlier boot, and so over. Runs in the step that notices. */
  onNewBoot(connection: SqliteConnection, nowMs: number): void;
}

/** One row: the version of the tables, and which clock the deadlines in the file are on. */
const fileTable = `
CREATE TABLE file (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  format INTEGER NOT NULL,
  clock TEXT NOT NULL,
  boot TEXT NOT NULL
) STRICT;
`;
const readFileRow = 'SELECT format, clock, boot FROM file WHERE one = 1';

/** Leaves a file of somebody else as it is. @throws {StoreMisconfiguredError} */
export function requireOwnFile(connection: SqliteConnection, schema: SqliteSchema): void {
  const isOwn = () => connection.pragma('application_id') === schema.applicationId;
  // Asked again at last: another process may be creating it just now, between two of these questions.
  if (isOwn() || isEmpty(connection) || isOwn()) return;
  throw new StoreMisconfiguredError(
    `${connection.path} is a database of another program. It was left as it is: choose another path.`,
  );
}

function isEmpty(connection: SqliteConnection): boolean {
  return (
    connection.pragma('application_id') === 0 &&
    connection.get('SELECT name FROM sqlite_schema LIMIT 1') === undefined
  );
}

/**
 * Creates the tables if there are none, and ends what was on the clock of an earlier boot. Takes the write lock only for
 * that: a file that is in order can be opened while a process is stopped inside a transaction.
 */
export function takeUp(
  connection: SqliteConnection,
  schema: SqliteSchema,
  clock: SqliteClock,
): void {
  const isInOrder = !isEmpty(connection) && rowOf(connection, schema, clock).boot === clock.bootId;
  if (isInOrder) return;
  connection.begin('write');
  if (isEmpty(connection)) create(connection, schema, clock);
  else if (rowOf(connection, schema, clock).boot !== clock.bootId) {
    schema.onNewBoot(connection, clock.now().nowMs);
    connection.run('UPDATE file SET boot = ?', clock.bootId);
  }
  connection.commit();
}

function create(connection: SqliteConnection, schema: SqliteSchema, clock: SqliteClock): void {
  connection.exec(fileTable + schema.sql);
  connection.run('INSERT INTO file VALUES (1, ?, ?, ?)', schema.format, clock.kind, clock.bootId);
  connection.exec(`PRAGMA application_id = ${schema.applicationId}`);
}

/** Once a file was taken up its boot stays, unless another machine uses it too. @throws {StoreMisconfiguredError} */
export function requireSameBoot(
  connection: SqliteConnection,
  schema: SqliteSchema,
  clock: SqliteClock,
): void {
  if (rowOf(connection, schema, clock).boot === clock.bootId) return;
  throw new StoreMisconfiguredError(
    `${connection.path} is used by another machine as well, or by one that was restored from a snapshot: its clock is that of another boot. Give each machine a file of its own, or use a store with a server.`,
  );
}

/** @throws {StoreMisconfiguredError} if the file cannot be used with these tables, or this clock. */
function rowOf(
  connection: SqliteConnection,
  schema: SqliteSchema,
  clock: SqliteClock,
): { readonly boot: string } {
  const { path } = connection;
  const row = connection.get(readFileRow);
  if (typeof row?.format !== 'number' || typeof row.boot !== 'string') {
    throw new StoreMisconfiguredError(
      `${path} has lost the row that says what it is. Stop every process that uses it and remove it.`,
    );
  }
  if (row.format > schema.format) {
    throw new StoreMisconfiguredError(
      `${path} was made by a newer version of tenure (format ${row.format}; this one knows ${schema.format}). Upgrade tenure here, or choose another path.`,
    );
  }
  if (row.clock !== clock.kind) {
    throw new StoreMisconfiguredError(
      `${path} was made on another operating system, where deadlines are on another clock. Choose another path.`,
    );
  }
  return { boot: row.boot };
}
