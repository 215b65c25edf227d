/*
 * The tables of jobs, in the file of the leases. Records are JSON texts, with what is looked for beside them. All times are
 * Unix times in milliseconds.
 */

/** Created when somebody who writes finds them missing: a file may be older than they are. */
export const tables = [
  `CREATE TABLE IF NOT EXISTS job (
  namespace TEXT NOT NULL,
  job TEXT NOT NULL,
  record TEXT NOT NULL,
  pause TEXT,
  PRIMARY KEY (namespace, job)
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS run (
  namespace TEXT NOT NULL,
  job TEXT NOT NULL,
  id TEXT NOT NULL,
  tick_ms REAL NOT NULL,
  state TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  record TEXT NOT NULL,
  cancellation TEXT,
  PRIMARY KEY (namespace, job, id)
) STRICT`,
  'CREATE INDEX IF NOT EXISTS run_tick ON run (namespace, job, tick_ms)',
  'CREATE INDEX IF NOT EXISTS run_open ON run (namespace, job) WHERE is_open = 1',
  `CREATE TABLE IF NOT EXISTS run_request (
  place INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL,
  job TEXT NOT NULL,
  id TEXT NOT NULL,
  record TEXT NOT NULL,
  UNIQUE (namespace, job, id)
) STRICT`,
];

export const areThere =
  "SELECT count(*) AS count FROM sqlite_schema WHERE type = 'table' AND name IN ('job', 'run', 'run_request')";

const ofJob = 'WHERE namespace = ? AND job = ?';
const byTick = 'ORDER BY tick_ms, id';

export const statements = {
  job: `SELECT record, pause FROM job ${ofJob}`,
  allJobs: 'SELECT job FROM job WHERE namespace = ?',
  putJob: `INSERT INTO job (namespace, job, record) VALUES (?, ?, ?)
ON CONFLICT (namespace, job) DO UPDATE SET record = excluded.record`,
  pause: `UPDATE job SET pause = ? ${ofJob}`,
  resume: `UPDATE job SET pause = NULL ${ofJob}`,
  run: `SELECT record, is_open, cancellation FROM run ${ofJob} AND id = ?`,
  open: `SELECT id, record, cancellation FROM run ${ofJob} AND is_open = 1 ${byTick}`,
  latest: `SELECT record FROM run ${ofJob} ORDER BY tick_ms DESC, id DESC LIMIT 1`,
  runs: `SELECT record FROM run ${ofJob} AND tick_ms < ? ORDER BY tick_ms DESC, id DESC LIMIT ?`,
  /** An end takes what was wanted of the run with it. */
  putRun: `INSERT INTO run (namespace, job, id, tick_ms, state, is_open, record) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, job, id) DO UPDATE SET tick_ms = excluded.tick_ms, state = excluded.state,
  is_open = excluded.is_open, record = excluded.record,
  cancellation = CASE WHEN excluded.is_open = 1 THEN cancellation END`,
  cancel: `UPDATE run SET cancellation = ? ${ofJob} AND id = ?`,
  prune: `DELETE FROM run ${ofJob} AND is_open = 0 AND id IN (
  SELECT id FROM run ${ofJob} AND is_open = 0 ORDER BY tick_ms DESC, id DESC LIMIT -1 OFFSET ?)`,
  requests: `SELECT id, record FROM run_request ${ofJob} ORDER BY place`,
  request: `SELECT record FROM run_request ${ofJob} AND id = ?`,
  putRequest: 'INSERT INTO run_request (namespace, job, id, record) VALUES (?, ?, ?, ?)',
  dropRequest: `DELETE FROM run_request ${ofJob} AND id = ?`,
  forget: ['job', 'run', 'run_request'].map((table) => `DELETE FROM ${table} ${ofJob}`),
};
