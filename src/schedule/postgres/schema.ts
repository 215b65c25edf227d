/*
 * The tables of jobs, in the schema of the leases. Records are JSON texts, with what is looked for, and what people count,
 * beside them. Times in records are Unix times in milliseconds.
 */

/** The part of the schema's `versions` that these tables are. */
export const part = 'jobs';
export const schemaVersion = 1;

/** Creates them. @param schema quoted. */
export function createTables(schema: string): string {
  return `CREATE TABLE ${schema}.jobs (
  namespace text NOT NULL,
  job text COLLATE "C" NOT NULL,
  record text,
  pause text,
  PRIMARY KEY (namespace, job)
);
CREATE TABLE ${schema}.runs (
  namespace text NOT NULL,
  job text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  tick_ms bigint NOT NULL,
  tick timestamptz NOT NULL GENERATED ALWAYS AS (to_timestamp(tick_ms::double precision / 1000)) STORED,
  state text NOT NULL,
  term bigint NOT NULL,
  attempt integer NOT NULL,
  is_open boolean NOT NULL,
  record text NOT NULL,
  cancellation text,
  PRIMARY KEY (namespace, job, id)
);
CREATE INDEX runs_tick ON ${schema}.runs (namespace, job, tick_ms, id);
CREATE INDEX runs_open ON ${schema}.runs (namespace, job) WHERE is_open;
CREATE TABLE ${schema}.run_requests (
  place bigint GENERATED ALWAYS AS IDENTITY,
  namespace text NOT NULL,
  job text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  record text NOT NULL,
  PRIMARY KEY (namespace, job, id)
);
INSERT INTO ${schema}.versions (part, version) VALUES ('${part}', ${schemaVersion})`;
}

/** Out: the version of the tables that are there, or no row. */
export const readVersion = (schema: string) =>
  `SELECT version FROM ${schema}.versions WHERE part = '${part}'`;

const now = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::text';
const ofJob = 'WHERE namespace = $1 AND job = $2';

export type JobStatements = ReturnType<typeof jobStatements>;

/** Everything that is asked, with all tables qualified. `$1` is the namespace, `$2` the job. */
export function jobStatements(schema: string) {
  const jobs = `${schema}.jobs`;
  const runs = `${schema}.runs`;
  const requests = `${schema}.run_requests`;
  return {
    now: `SELECT ${now} AS "nowMs"`,
    /** Nobody else writes anything of the job until the transaction ends. */
    lock: `SELECT record, pause, ${now} AS "nowMs" FROM ${jobs} ${ofJob} FOR UPDATE`,
    /**
     * Rows to lock: what is not claimed has no record yet, and counts as none. In one order, so that two who claim several
     * do not wait for each other. In: `$2` their names.
     */
    place: `INSERT INTO ${jobs} (namespace, job)
SELECT $1, job FROM unnest($2::text[]) AS asked (job) ORDER BY job COLLATE "C" ON CONFLICT DO NOTHING`,
    lockPlaces: `SELECT job FROM ${jobs} WHERE namespace = $1 AND job = ANY ($2::text[]) ORDER BY job FOR UPDATE`,
    putJobs: `UPDATE ${jobs} AS j SET record = put.record
FROM unnest($2::text[], $3::text[]) AS put (job, record) WHERE j.namespace = $1 AND j.job = put.job`,
    putJob: `UPDATE ${jobs} SET record = $3 ${ofJob}`,
    setPause: `UPDATE ${jobs} SET pause = $3 ${ofJob}`,
    /** In: an id. Out: what there is of it. */
    besides: `SELECT
  (SELECT record FROM ${runs} ${ofJob} AND id = $3) AS run,
  (SELECT cancellation FROM ${runs} ${ofJob} AND id = $3) AS cancellation,
  (SELECT record FROM ${requests} ${ofJob} AND id = $3) AS request`,
    /** An end takes what was wanted of the run with it. */
    putRun: `INSERT INTO ${runs} AS r (namespace, job, id, tick_ms, state, term, attempt, is_open, record)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (namespace, job, id) DO UPDATE SET tick_ms = excluded.tick_ms, state = excluded.state, term = excluded.term,
  attempt = excluded.attempt, is_open = excluded.is_open, record = excluded.record,
  cancellation = CASE WHEN excluded.is_open THEN r.cancellation END`,
    cancel: `UPDATE ${runs} SET cancellation = $4 ${ofJob} AND id = $3`,
    prune: `DELETE FROM ${runs} ${ofJob} AND id IN (
  SELECT id FROM ${runs} ${ofJob} AND NOT is_open ORDER BY tick_ms DESC, id DESC OFFSET $3)`,
    runs: `SELECT record FROM ${runs} ${ofJob} AND tick_ms < $3 ORDER BY tick_ms DESC, id DESC LIMIT $4`,
    putRequest: `INSERT INTO ${requests} (namespace, job, id, record) VALUES ($1, $2, $3, $4)`,
    dropRequests: `DELETE FROM ${requests} ${ofJob} AND id = ANY ($3::text[])`,
    open: `SELECT record FROM ${runs} ${ofJob} AND is_open ORDER BY tick_ms, id`,
    forget: [runs, requests, jobs].map((table) => `DELETE FROM ${table} ${ofJob}`),
    /** In: namespace; names, or null for all. Out: the server's clock, and what stands of each job, as one JSON text. */
    view: `SELECT ${now} AS "nowMs", coalesce((
  SELECT json_agg(json_build_object(
    'job', j.job, 'record', j.record, 'pause', j.pause,
    'open', (SELECT coalesce(json_agg(json_build_object('record', r.record, 'cancellation', r.cancellation) ORDER BY r.tick_ms, r.id), '[]')
      FROM ${runs} AS r WHERE r.namespace = j.namespace AND r.job = j.job AND r.is_open),
    'latest', (SELECT r.record FROM ${runs} AS r WHERE r.namespace = j.namespace AND r.job = j.job
      ORDER BY r.tick_ms DESC, r.id DESC LIMIT 1),
    'requests', (SELECT coalesce(json_agg(q.record ORDER BY q.place), '[]')
      FROM ${requests} AS q WHERE q.namespace = j.namespace AND q.job = j.job)))
  FROM ${jobs} AS j WHERE j.namespace = $1 AND j.record IS NOT NULL AND ($2::text[] IS NULL OR j.job = ANY ($2::text[]))
), '[]')::text AS jobs`,
  };
}
