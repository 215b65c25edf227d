import { markCursor } from '../../drivers/postgres/index.js';

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

/** The server's clock, as a text. */
export const now = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::text';

export type JobStatements = ReturnType<typeof jobStatements>;

/** What claims and looks ask, with all tables qualified. What changes one job alone is in `changes.ts`. */
export function jobStatements(schema: string) {
  const jobs = `${schema}.jobs`;
  const runs = `${schema}.runs`;
  const requests = `${schema}.run_requests`;
  return {
    /**
     * Rows to lock: what is not claimed has no record yet, and counts as none. In one order, so that two who claim several
     * do not wait for each other. In: namespace; names.
     */
    place: `INSERT INTO ${jobs} (namespace, job)
SELECT $1, job FROM unnest($2::text[]) AS asked (job) ORDER BY job COLLATE "C" ON CONFLICT DO NOTHING`,
    lockPlaces: `SELECT job FROM ${jobs} WHERE namespace = $1 AND job = ANY ($2::text[]) ORDER BY job FOR UPDATE`,
    /** Keeps true: nothing is written once the transaction is over that has locked the rows. Its commit tells of that. */
    putJobs: `UPDATE ${jobs} AS j SET record = put.record
FROM unnest($2::text[], $3::text[]) AS put (job, record) WHERE j.namespace = $1 AND j.job = put.job
  AND EXISTS (SELECT FROM pg_catalog.pg_cursors AS c WHERE c.name = '${markCursor}')`,
    /** In: what is in brackets, as it stands in SQL. Out: runs, the latest tick first. */
    runs: (namespace: string, job: string, beforeMs: number, limit: number) =>
      `SELECT record FROM ${runs} WHERE namespace = ${namespace} AND job = ${job} AND tick_ms < ${beforeMs}
ORDER BY tick_ms DESC, id DESC LIMIT ${limit}`,
    /** In: namespace; names, or null for all. Out: the server's clock, and what stands of each job, as one JSON text. */
    view: (namespace = '$1', names = '$2::text[]') => `SELECT ${now} AS "nowMs", coalesce((
  SELECT json_agg(json_build_object(
    'job', j.job, 'record', j.record, 'pause', j.pause,
    'open', (SELECT coalesce(json_agg(json_build_object('id', r.id, 'record', r.record, 'cancellation', r.cancellation) ORDER BY r.tick_ms, r.id), '[]')
      FROM ${runs} AS r WHERE r.namespace = j.namespace AND r.job = j.job AND r.is_open),
    'latest', (SELECT r.record FROM ${runs} AS r WHERE r.namespace = j.namespace AND r.job = j.job
      ORDER BY r.tick_ms DESC, r.id DESC LIMIT 1),
    'requests', (SELECT coalesce(json_agg(json_build_object('id', q.id, 'record', q.record) ORDER BY q.place), '[]')
      FROM ${requests} AS q WHERE q.namespace = j.namespace AND q.job = j.job)))
  FROM ${jobs} AS j WHERE j.namespace = ${namespace} AND j.record IS NOT NULL AND (${names} IS NULL OR j.job = ANY (${names}))
), '[]')::text AS jobs`,
  };
}
