import { highestTerm } from '../../coordinators/index.js';
import { quoteDatabase } from '../../drivers/mysql/index.js';

/**
 * The SQL that creates what the fence needs: two tables in a database of their own. Run it with a tool of your own, or
 * by `fence.migrate()`. Running it again changes nothing.
 *
 * @param database see `MysqlFenceOptions.database`. Default `tenure`.
 * @throws {OptionError} if it is not a name tenure takes.
 */
export function migrationSql(database = 'tenure'): string {
  return `${migrationStatements(quoteDatabase(database)).join(';\n\n')};\n`;
}

/**
 * Names, keys and ids are bytes: no collation that takes two of them for one, and none that pads.
 *
 * One by one, since a connection takes one statement at a time.
 */
export function migrationStatements(quotedDatabase: string): readonly string[] {
  return [
    `CREATE DATABASE IF NOT EXISTS ${quotedDatabase}`,
    `CREATE TABLE IF NOT EXISTS ${quotedDatabase}.fences (
  name varbinary(255) NOT NULL PRIMARY KEY,
  term bigint NOT NULL CHECK (term BETWEEN 1 AND ${highestTerm}),
  holder_digest char(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  installed_at datetime(6) NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
    `CREATE TABLE IF NOT EXISTS ${quotedDatabase}.effects (
  scope varbinary(255) NOT NULL,
  \`key\` varbinary(1024) NOT NULL,
  seq bigint NOT NULL,
  id varbinary(255) NOT NULL,
  recorded_at datetime(6) NOT NULL,
  PRIMARY KEY (scope, \`key\`, seq),
  KEY recorded_at (recorded_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  ];
}

/** Text travels as hexadecimal digits, which no character set of a session changes. */
export function hexOf(text: string): string {
  return Buffer.from(text).toString('hex');
}

/** The inverse of {@link hexOf}. */
export function textOf(hex: string): string {
  return Buffer.from(hex, 'hex').toString();
}

/** The server's settings on which a promise rests; {@link FitRow}. They fix no snapshot. */
const fit = `VERSION() AS version, @@GLOBAL.read_only AS readOnly, @@GLOBAL.innodb_flush_log_at_trx_commit AS flushLog,
  @@GLOBAL.log_bin AS logBin, @@GLOBAL.sync_binlog AS syncBinlog`;

export interface FitRow {
  readonly version: unknown;
  readonly readOnly: unknown;
  readonly flushLog: unknown;
  readonly logBin: unknown;
  readonly syncBinlog: unknown;
}

export interface TermRow extends FitRow {
  /** `null`: nothing is installed. */
  readonly term: string | null;
  readonly holderDigest: string | null;
}

/** What the session has now as its limit for a transaction that stands open, which may be that of any idle session. */
const idleLimitOf = (kind: string) =>
  `IF(@@SESSION.${kind} > 0, @@SESSION.${kind}, IF(@@SESSION.idle_transaction_timeout > 0, @@SESSION.idle_transaction_timeout, @@SESSION.wait_timeout))`;

/** For MariaDB. Lowers, never raises. */
const limitIdleTime = (seconds: number) =>
  ['idle_write_transaction_timeout', 'idle_readonly_transaction_timeout']
    .map((kind) => `SESSION ${kind} = LEAST(${seconds}, ${idleLimitOf(kind)})`)
    .join(', ');

/** @param whose begins the names of the two variables: a host's and a guest's limits may be kept in one session at a time. */
const saveIdleTime = (whose: string) =>
  `@${whose}_write = @@SESSION.idle_write_transaction_timeout, @${whose}_read = @@SESSION.idle_readonly_transaction_timeout`;

/** And forgets them. */
const restoreIdleTime = (whose: string) =>
  `SESSION idle_write_transaction_timeout = @${whose}_write, SESSION idle_readonly_transaction_timeout = @${whose}_read, @${whose}_write = NULL, @${whose}_read = NULL`;

/**
 * MariaDB counts for each session the statements that it was sent. These commit, by their nature or without being asked; all
 * but `COMMIT` and `BEGIN` change what there is in a database, or lock tables.
 */
const committing = [
  ...[
    'COMMIT',
    'XA_COMMIT',
    'BEGIN',
    'LOCK_TABLES',
    'TRUNCATE',
    'RENAME_TABLE',
    'RENAME_USER',
    'GRANT',
    'REVOKE',
  ],
  ...[
    'ANALYZE',
    'CHECK',
    'OPTIMIZE',
    'REPAIR',
    'FLUSH',
    'PRELOAD_KEYS',
    'INSTALL_PLUGIN',
    'UNINSTALL_PLUGIN',
  ],
  ...['DB', 'EVENT', 'FUNCTION', 'PROCEDURE', 'SEQUENCE', 'SERVER', 'TABLE', 'USER'].flatMap(
    (kind) => ['ALTER', 'CREATE', 'DROP'].map((verb) => `${verb}_${kind}`),
  ),
  ...['INDEX', 'ROLE', 'TRIGGER', 'VIEW', 'PACKAGE', 'PACKAGE_BODY', 'UDF'].flatMap((kind) =>
    ['CREATE', 'DROP'].map((verb) => `${verb}_${kind}`),
  ),
];

const commitCount = `(SELECT SUM(VARIABLE_VALUE) FROM information_schema.SESSION_STATUS
  WHERE VARIABLE_NAME IN (${committing.map((one) => `'COM_${one}'`).join(', ')}))`;

const host = 'tenure_idle';
const guest = 'tenure_guest_idle';

export type FenceStatements = ReturnType<typeof fenceStatements>;

/**
 * Everything the fence asks, with all tables qualified.
 *
 * A comment that begins with `M!` is read as text by MariaDB alone, one that begins with `!80000` by MySQL 8 and later
 * alone: the server itself picks what it has.
 */
export function fenceStatements(quotedDatabase: string, idleSeconds: number) {
  const fences = `${quotedDatabase}.fences`;
  const effects = `${quotedDatabase}.effects`;
  // One row in any case, so that the settings come with it.
  const look = `SELECT CAST(f.term AS CHAR) AS term, f.holder_digest AS holderDigest, ${fit}
FROM (SELECT 1 AS one) AS one LEFT JOIN ${fences} AS f ON f.name = UNHEX(?)`;
  return {
    /**
     * Before a transaction of our own: keeps the session's settings in variables, and makes its own.
     *
     * Keeps true: each statement sees what is committed (`READ COMMITTED`), and no gap between names is locked. Nothing
     * is committed by itself, not even after a deadlock has ended the transaction. A transaction that stands open is
     * ended in time: MariaDB has a limit for it; elsewhere it is that of every idle session, as long as this lasts.
     */
    set: (lockWaitSeconds: number | undefined) => `SET @tenure_autocommit = @@SESSION.autocommit,
  /*M!100300 @tenure_commits = ${commitCount}, */
  @tenure_lock_wait = @@SESSION.innodb_lock_wait_timeout,
  /*M!100300 @tenure_isolation = @@SESSION.tx_isolation, ${saveIdleTime(host)}, SESSION tx_isolation = 'READ-COMMITTED', ${limitIdleTime(idleSeconds)}, */
  /*!80000 @tenure_isolation = @@SESSION.transaction_isolation, @tenure_wait = @@SESSION.wait_timeout, SESSION transaction_isolation = 'READ-COMMITTED', SESSION wait_timeout = LEAST(${idleSeconds}, @@SESSION.wait_timeout), */
  SESSION innodb_lock_wait_timeout = ${lockWaitSeconds ?? '@@SESSION.innodb_lock_wait_timeout'},
  SESSION autocommit = 0`,

    /** After it. */
    restore: `SET /*M!100300 SESSION tx_isolation = @tenure_isolation, ${restoreIdleTime(host)}, */
  /*!80000 SESSION transaction_isolation = @tenure_isolation, SESSION wait_timeout = @tenure_wait, @tenure_wait = NULL, */
  SESSION innodb_lock_wait_timeout = @tenure_lock_wait, SESSION autocommit = @tenure_autocommit,
  @tenure_isolation = NULL, @tenure_lock_wait = NULL, @tenure_autocommit = NULL /*M!100300 , @tenure_commits = NULL */`,

    /**
     * Out: whether something was sent since `set` that commits, besides the `START TRANSACTION` after it. A deadlock leaves of a
     * transaction as little as a commit does. `NULL` where nobody counts.
     */
    hasCommitted: `SELECT NULL AS hasCommitted FROM (SELECT 1 AS one) AS one WHERE FALSE
  /*M!100300 UNION ALL SELECT @@SESSION.autocommit = 1 OR ${commitCount} > @tenure_commits + 1 */`,

    /**
     * Inside a transaction of somebody else. Its answer tells whether there is one.
     *
     * Keeps true: as `set`, the idle limit of MariaDB; it stays with the session, whose end of the transaction we do not
     * see. MySQL has none that would not end idle connections of a pool, too.
     */
    enter: `SET @tenure_guest = NULL /*M!100300 , ${saveIdleTime(guest)}, ${limitIdleTime(idleSeconds)} */`,

    /** Undoes `enter` where there was no transaction. */
    leave: `SET @tenure_guest = NULL /*M!100300 , ${restoreIdleTime(guest)} */`,

    /**
     * In: name. Out: what is installed in the view of the transaction, and the settings. Locks nothing; at
     * `REPEATABLE READ` it fixes the snapshot of the transaction, unless that is fixed already.
     */
    read: look,

    /**
     * In, out: as `read`, but the newest that is committed, once transactions that are changing it have ended.
     * Keeps true: until the transaction ends nobody else changes it; others may hold it just so. A change that waits
     * lets no newcomer pass.
     */
    lockShared: `${look} LOCK IN SHARE MODE`,

    /** The same, and nobody else holds it in any way. */
    lockAlone: `${look} FOR UPDATE`,

    /**
     * In: name, term, digest; then twice term, digest; term. Out: nothing that counts (the client's flags decide what an
     * unchanged row is): look at it afterwards.
     * Clock: the server's, for `installed_at`, which is for people only.
     * Keeps true: a lower or equal term changes nothing, and terms never fall; the condition is judged on the newest
     * row, which is held alone from then on. `term` is assigned last, since the conditions before it read it.
     */
    install: `INSERT INTO ${fences} (name, term, holder_digest, installed_at)
VALUES (UNHEX(?), CAST(? AS SIGNED), ?, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE
  installed_at = IF(term < CAST(? AS SIGNED), UTC_TIMESTAMP(6), installed_at),
  holder_digest = IF(term < CAST(? AS SIGNED), ?, holder_digest),
  term = IF(term < CAST(? AS SIGNED), CAST(? AS SIGNED), term)`,

    /**
     * In: scope, key, seq, id of the message. Fails with `duplicateEntry` if the effect is recorded.
     * Keeps true: it waits for another transaction that is recording the same effect, and counts on its outcome.
     */
    record: `INSERT INTO ${effects} (scope, \`key\`, seq, id, recorded_at)
VALUES (UNHEX(?), UNHEX(?), CAST(? AS SIGNED), UNHEX(?), UTC_TIMESTAMP(6))`,

    /** In: scope, key, seq. Out: the id of the newest record, whatever the snapshot of the transaction is; or no row. */
    recorded: `SELECT HEX(e.id) AS id FROM ${effects} AS e
WHERE e.scope = UNHEX(?) AND e.\`key\` = UNHEX(?) AND e.seq = CAST(? AS SIGNED) LOCK IN SHARE MODE`,

    /** Out: the settings alone. */
    fit: `SELECT ${fit}`,

    /** In: age in ms, by the server's clock. Deletes some of them. */
    forget: (limit: number) => `DELETE FROM ${effects}
WHERE recorded_at < UTC_TIMESTAMP(6) - INTERVAL (CAST(? AS SIGNED) * 1000) MICROSECOND ORDER BY recorded_at LIMIT ${limit}`,

    /** Out: how the tables were created, in the second column. Fixes no snapshot. */
    showCreate: [`SHOW CREATE TABLE ${fences}`, `SHOW CREATE TABLE ${effects}`],

    /** In: database. Out: how many of the nine columns are there. */
    columns: `SELECT COUNT(*) AS count FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = ? AND ((TABLE_NAME = 'fences' AND COLUMN_NAME IN ('name', 'term', 'holder_digest', 'installed_at'))
  OR (TABLE_NAME = 'effects' AND COLUMN_NAME IN ('scope', 'key', 'seq', 'id', 'recorded_at')))`,
  };
}

/** As many as `columns` looks for. */
export const columnCount = 9;
