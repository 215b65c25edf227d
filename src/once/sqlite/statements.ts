/*
 * The table of keys, in the file of the leases. A record is a JSON text, with what is looked for beside it. `deadline_ms` is
 * on the kernel's clock in that `boot`, and has passed in any other; all other times are Unix times in milliseconds.
 */

/** Created when somebody who writes finds it missing: a file may be older than it is. */
export const tables = [
  `CREATE TABLE IF NOT EXISTS once_key (
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  boot TEXT NOT NULL,
  deadline_ms REAL NOT NULL,
  deadline_at_ms REAL NOT NULL,
  expires_at_ms REAL,
  record TEXT NOT NULL,
  PRIMARY KEY (namespace, key)
) STRICT`,
  'CREATE INDEX IF NOT EXISTS once_key_open ON once_key (namespace, deadline_at_ms, key) WHERE is_open = 1',
  'CREATE INDEX IF NOT EXISTS once_key_expiry ON once_key (namespace, expires_at_ms) WHERE expires_at_ms IS NOT NULL',
];

export const isThere =
  "SELECT count(*) AS count FROM sqlite_schema WHERE type = 'table' AND name = 'once_key'";

export const statements = {
  find: 'SELECT boot, deadline_ms, record FROM once_key WHERE namespace = ? AND key = ?',
  put: `INSERT INTO once_key (namespace, key, is_open, boot, deadline_ms, deadline_at_ms, expires_at_ms, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, key) DO UPDATE SET is_open = excluded.is_open, boot = excluded.boot, deadline_ms = excluded.deadline_ms,
  deadline_at_ms = excluded.deadline_at_ms, expires_at_ms = excluded.expires_at_ms, record = excluded.record`,
  /** Those that are started or unknown; the caller tells which of them are under way. */
  open: `SELECT key, boot, deadline_ms, deadline_at_ms, record FROM once_key
WHERE namespace = ? AND is_open = 1 AND (deadline_at_ms, key) > (?, ?) ORDER BY deadline_at_ms, key LIMIT ?`,
  expired: `SELECT key, boot, deadline_ms, record FROM once_key
WHERE namespace = ? AND expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?`,
  drop: 'DELETE FROM once_key WHERE namespace = ? AND key = ?',
};
