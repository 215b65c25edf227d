import type { SqliteSchema } from '../../drivers/sqlite/index.js';

/*
 * The tables of version 1. Every row belongs to one namespace, so that a file can serve several programs. Names stand in
 * them as they are: they are only ever bound as values. Deadlines (`deadline_ms`) are on the clock that the row in `file`
 * names; all other times are Unix times in milliseconds.
 */

/** `tenu` */
const applicationId = 0x74656e75;

const sql = `
CREATE TABLE namespace (
  namespace TEXT PRIMARY KEY,
  last_term INTEGER NOT NULL,
  enrollment_count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  name_group TEXT NOT NULL,
  kind TEXT NOT NULL,
  term INTEGER,
  deadline_ms REAL,
  holder TEXT,
  attempt TEXT,
  ttl_ms REAL,
  grace_ms REAL,
  granted_at_ms REAL,
  renewed_at_ms REAL,
  metadata TEXT,
  revoked_by TEXT,
  revoked_reason TEXT,
  revoked_at_ms REAL,
  reserved_to TEXT,
  reserve_ms REAL,
  PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX lease_group ON lease (namespace, name_group);

CREATE TABLE suspension (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  by TEXT NOT NULL,
  reason TEXT NOT NULL,
  at_ms REAL NOT NULL,
  PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE candidate (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  holder TEXT NOT NULL,
  id TEXT NOT NULL,
  standing TEXT NOT NULL,
  preference INTEGER NOT NULL,
  since INTEGER NOT NULL,
  since_ms REAL NOT NULL,
  deadline_ms REAL NOT NULL,
  refresh INTEGER NOT NULL,
  metadata TEXT,
  PRIMARY KEY (namespace, name, holder)
) STRICT, WITHOUT ROWID;
CREATE INDEX candidate_holder ON candidate (namespace, holder);
CREATE INDEX candidate_deadline ON candidate (namespace, deadline_ms);

CREATE TABLE history (
  line INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  at_ms REAL NOT NULL,
  term INTEGER,
  holder_id TEXT,
  ended_at_ms REAL,
  end_reason TEXT,
  act TEXT,
  by TEXT,
  reason TEXT,
  successor TEXT
) STRICT;
CREATE INDEX history_name ON history (namespace, name);

CREATE TABLE history_use (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  used_at_ms REAL NOT NULL,
  PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX history_use_age ON history_use (namespace, used_at_ms);

CREATE TABLE document (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (namespace, name)
) STRICT;

CREATE TABLE wake (
  number INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL
) STRICT;
`;

export const leaseSchema: SqliteSchema = {
  applicationId,
  format: 1,
  sql,
  /**
   * Nothing that ran before the boot runs any more, so every lease is over. How long ago cannot be told: what follows an
   * expiry (a lock-delay, a successor's reservation) begins now, which is late rather than early.
   */
  onNewBoot(connection, nowMs) {
    connection.run("UPDATE lease SET deadline_ms = ? WHERE kind = 'lease'", nowMs);
    connection.run("DELETE FROM lease WHERE kind = 'reservation'");
    connection.run('DELETE FROM candidate');
  },
};
