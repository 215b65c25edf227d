import { highestTerm } from '../../coordinators/index.js';

/**
 * The SQL that creates what the fence needs: two tables in the file that it guards. Run it with a tool of your own, or by
 * `fence.migrate()`. Running it again changes nothing.
 */
export const migrationSql = `CREATE TABLE IF NOT EXISTS tenure_fences (
  name TEXT PRIMARY KEY,
  term INTEGER NOT NULL CHECK (term BETWEEN 1 AND ${highestTerm}),
  holder_digest TEXT NOT NULL,
  installed_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tenure_effects (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  recorded_at_ms INTEGER NOT NULL,
  PRIMARY KEY (scope, key, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tenure_effects_age ON tenure_effects (recorded_at_ms);
`;

/** Unix time in whole milliseconds, by the clock of this machine. For people, and for the age of effects. */
const now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)";

/*
 * Whole numbers go in as text, and come out as such: the libraries bind a number as a REAL, which SQLite takes for an
 * INTEGER only up to 2^51, and one of them reads those beyond it as something else.
 */

/** Whether both tables are there. */
export const isMigrated =
  "SELECT count(*) = 2 AS migrated FROM main.sqlite_schema WHERE name IN ('tenure_fences', 'tenure_effects')";

/**
 * Changes nothing, but takes the write lock, also in a transaction that began without it: what is read afterwards stays
 * as it is until the transaction ends. Fails if the transaction has read something older.
 */
export const lock = "UPDATE main.tenure_fences SET term = term WHERE name = ''";

/** In: name. Out: what is installed, or no row. */
export const read =
  'SELECT CAST(term AS TEXT) AS term, holder_digest AS holderDigest FROM main.tenure_fences WHERE name = ?';

/** In: name, term, digest. Under the write lock, after it was judged. */
export const install = `INSERT INTO main.tenure_fences (name, term, holder_digest, installed_at_ms)
VALUES (?, CAST(? AS INTEGER), ?, ${now})
ON CONFLICT (name) DO UPDATE
SET term = excluded.term, holder_digest = excluded.holder_digest, installed_at_ms = excluded.installed_at_ms`;

/** In: scope, key, seq. Out: the id of the message whose effect it is, or no row. */
export const recorded =
  'SELECT id FROM main.tenure_effects WHERE scope = ? AND key = ? AND seq = CAST(? AS INTEGER)';

/** In: scope, key, seq, id. Under the write lock, if nothing is recorded. */
export const record = `INSERT INTO main.tenure_effects (scope, key, seq, id, recorded_at_ms)
VALUES (?, ?, CAST(? AS INTEGER), ?, ${now})`;

/** In: age in ms, how many at most. */
export const forget = `DELETE FROM main.tenure_effects WHERE (scope, key, seq) IN (
  SELECT scope, key, seq FROM main.tenure_effects
  WHERE recorded_at_ms < ${now} - CAST(? AS INTEGER) LIMIT CAST(? AS INTEGER))`;

/** Finds out, at the end, whether the transaction is still the one that the fence began. */
export const begin = 'BEGIN IMMEDIATE; SAVEPOINT tenure_guarded';
export const assertSame = 'RELEASE tenure_guarded';

/**
 * Leaves a reference that leads nowhere, which SQLite looks at when the transaction is committed: it can only be rolled
 * back from now on, and that takes this away too. In a temporary table, since the file may be locked by another process.
 */
export const spoil = `CREATE TEMP TABLE IF NOT EXISTS tenure_check_failed (
  one INTEGER PRIMARY KEY,
  roll_back INTEGER NOT NULL REFERENCES tenure_check_failed (one) DEFERRABLE INITIALLY DEFERRED
);
INSERT OR IGNORE INTO temp.tenure_check_failed VALUES (1, 2)`;
