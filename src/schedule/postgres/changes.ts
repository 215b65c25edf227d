import { quoteLiteral } from '../../drivers/postgres/index.js';
import { isOpen, type RunRecord } from '../records.js';
import type { JobUpdate, Standing, Step } from '../rules/steps.js';
import {
  decodeCancellation,
  decodeJob,
  decodeOpenRun,
  decodePause,
  decodeRequest,
  decodeRun,
  encode,
} from '../rules/texts.js';
import { now } from './schema.js';

/*
 * What changes jobs, several of them with the same few statements: they go together with the BEGIN or the COMMIT of their
 * transaction in one message, which has no parameters. So values are literals, lists of them as JSON.
 */

export interface StandingRow {
  readonly nowMs: string;
  readonly job: string;
  readonly record: string | null;
  readonly pause: string | null;
  readonly run: string | null;
  readonly request: string | null;
  readonly cancellation: string | null;
  /** A {@link Whole}, as JSON; none if it was not asked for. */
  readonly whole: string | null;
}

/** All that can keep a job from being read, beside its own row. */
interface Whole {
  readonly open: readonly (Kept & { readonly cancellation: string | null })[];
  readonly latest: string | null;
  readonly requests: readonly Kept[];
}

/** A record, and the id under which it stands. */
interface Kept {
  readonly id: string;
  readonly record: string;
}

/** What a step leaves of its job. */
export interface Updated {
  readonly job: string;
  readonly update: JobUpdate;
}

type Asked = Pick<Step<unknown>, 'job' | 'id' | 'asksOpen'>;

/** A column of a list in SQL. */
type Column = readonly [name: string, type: string];

export class ChangeTexts {
  readonly #jobs: string;
  readonly #runs: string;
  readonly #requests: string;
  readonly #namespace: string;

  /** @param schema quoted. @param namespace as it is. */
  constructor(schema: string, namespace: string) {
    this.#jobs = `${schema}.jobs`;
    this.#runs = `${schema}.runs`;
    this.#requests = `${schema}.run_requests`;
    this.#namespace = quoteLiteral(namespace);
  }

  /**
   * Nobody else writes anything of these jobs until the transaction ends. Of several, those that somebody else has locked are
   * left out: they would hold up the others, and two who lock several would wait for each other.
   *
   * Out: the jobs that are locked.
   */
  lock(jobs: readonly string[]): string {
    const names = jobs.map(quoteLiteral).join(', ');
    const unlessLocked = jobs.length > 1 ? ' SKIP LOCKED' : '';
    return `SELECT job FROM ${this.#jobs} WHERE namespace = ${this.#namespace} AND job IN (${names}) FOR UPDATE${unlessLocked}`;
  }

  /** A statement of its own, after the locks: it reads what was committed until then. Out: of each job that is there a row. */
  standing(asked: readonly Asked[]): string {
    const list = asked.map(({ job, id, asksOpen = false }) => ({ job, id, open: asksOpen }));
    const ofRun = `FROM ${this.#runs} AS r WHERE r.namespace = j.namespace AND r.job = j.job`;
    return `SELECT ${now} AS "nowMs", j.job, j.record, j.pause,
  (SELECT r.record ${ofRun} AND r.id = a.id) AS run,
  (SELECT r.cancellation ${ofRun} AND r.id = a.id) AS cancellation,
  (SELECT q.record FROM ${this.#requests} AS q
    WHERE q.namespace = j.namespace AND q.job = j.job AND q.id = a.id) AS request,
  CASE WHEN a.open THEN json_build_object(
    'open', (SELECT coalesce(json_agg(json_build_object('id', r.id, 'record', r.record, 'cancellation', r.cancellation)
      ORDER BY r.tick_ms, r.id), '[]') ${ofRun} AND r.is_open),
    'latest', (SELECT r.record ${ofRun} ORDER BY r.tick_ms DESC, r.id DESC LIMIT 1),
    'requests', (SELECT coalesce(json_agg(json_build_object('id', q.id, 'record', q.record)), '[]')
      FROM ${this.#requests} AS q WHERE q.namespace = j.namespace AND q.job = j.job))::text END AS whole
FROM ${rows('a', list, [text('job'), text('id'), ['open', 'boolean']])}
JOIN ${this.#jobs} AS j ON j.namespace = ${this.#namespace} AND j.job = a.job`;
  }

  /** Statements that write these updates, each of another job. */
  write(updates: readonly Updated[]): string {
    const forgotten = updates.filter(({ update }) => update.forgets === true);
    const kept = updates.filter(({ update }) => update.forgets !== true);
    return [
      ...this.#forget(forgotten.map(({ job }) => job)),
      ...this.#putJobs(kept),
      ...this.#putRuns(kept),
      ...this.#requested(kept),
      ...this.#cancel(kept),
      ...this.#prune(kept),
    ].join('; ');
  }

  #forget(jobs: readonly string[]): string[] {
    if (jobs.length === 0) return [];
    const names = jobs.map(quoteLiteral).join(', ');
    const where = `WHERE namespace = ${this.#namespace} AND job IN (${names})`;
    return [this.#runs, this.#requests, this.#jobs].map((table) => `DELETE FROM ${table} ${where}`);
  }

  #putJobs(updates: readonly Updated[]): string[] {
    const records = updates.flatMap(({ job, update: { record } }) =>
      record === undefined ? [] : [{ job, value: encode(record) }],
    );
    const pauses = updates.flatMap(({ job, update: { pause } }) =>
      pause === undefined ? [] : [{ job, value: pause === null ? null : encode(pause) }],
    );
    return [...this.#setColumn('record', records), ...this.#setColumn('pause', pauses)];
  }

  #setColumn(column: string, list: readonly { job: string; value: string | null }[]): string[] {
    if (list.length === 0) return [];
    return [
      `UPDATE ${this.#jobs} AS j SET ${column} = p.value FROM ${rows('p', list, [text('job'), text('value')])}
WHERE j.namespace = ${this.#namespace} AND j.job = p.job`,
    ];
  }

  /** An end takes what was wanted of the run with it. */
  #putRuns(updates: readonly Updated[]): string[] {
    const runs = updates.flatMap(({ job, update }) =>
      [...lastOfEach(update.runs ?? []).values()].map((run) => {
        const { id, tickMs, state, term, attempt } = run;
        return {
          ...{ job, id, tick_ms: tickMs, state, term, attempt },
          ...{ is_open: isOpen(run), record: encode(run) },
        };
      }),
    );
    if (runs.length === 0) return [];
    const columns = runColumns.map(([name]) => name).join(', ');
    return [
      `INSERT INTO ${this.#runs} AS r (namespace, ${columns})
SELECT ${this.#namespace}, ${columns} FROM ${rows('p', runs, runColumns)}
ON CONFLICT (namespace, job, id) DO UPDATE SET tick_ms = excluded.tick_ms, state = excluded.state, term = excluded.term,
  attempt = excluded.attempt, is_open = excluded.is_open, record = excluded.record,
  cancellation = CASE WHEN excluded.is_open THEN r.cancellation END`,
    ];
  }

  #requested(updates: readonly Updated[]): string[] {
    const asked = updates.flatMap(({ job, update: { request } }) =>
      request === undefined ? [] : [{ job, id: request.id, record: encode(request) }],
    );
    const done = updates.flatMap(({ job, update: { doneRequests = [] } }) =>
      doneRequests.map((id) => ({ job, id })),
    );
    const put = `INSERT INTO ${this.#requests} (namespace, job, id, record)
SELECT ${this.#namespace}, job, id, record FROM ${rows('p', asked, [text('job'), text('id'), text('record')])}`;
    const drop = `DELETE FROM ${this.#requests} AS q USING ${rows('p', done, [text('job'), text('id')])}
WHERE q.namespace = ${this.#namespace} AND q.job = p.job AND q.id = p.id`;
    return [...(asked.length > 0 ? [put] : []), ...(done.length > 0 ? [drop] : [])];
  }

  #cancel(updates: readonly Updated[]): string[] {
    const wanted = updates.flatMap(({ job, update: { cancellation } }) =>
      cancellation === undefined
        ? []
        : [{ job, id: cancellation.runId, value: encode(cancellation) }],
    );
    if (wanted.length === 0) return [];
    const list = rows('p', wanted, [text('job'), text('id'), text('value')]);
    return [
      `UPDATE ${this.#runs} AS r SET cancellation = p.value FROM ${list}
WHERE r.namespace = ${this.#namespace} AND r.job = p.job AND r.id = p.id`,
    ];
  }

  #prune(updates: readonly Updated[]): string[] {
    const kept = updates.flatMap(({ job, update: { keepRuns } }) =>
      keepRuns === undefined ? [] : [{ job, keep: keepRuns }],
    );
    if (kept.length === 0) return [];
    return [
      `DELETE FROM ${this.#runs} AS r USING ${rows('k', kept, [text('job'), ['keep', 'bigint']])}
CROSS JOIN LATERAL (SELECT e.id FROM ${this.#runs} AS e WHERE e.namespace = ${this.#namespace} AND e.job = k.job AND NOT e.is_open
  ORDER BY e.tick_ms DESC, e.id DESC OFFSET k.keep) AS surplus
WHERE r.namespace = ${this.#namespace} AND r.job = k.job AND r.id = surplus.id`,
    ];
  }
}

/** @returns what reads it, and throws {@link RecordCorruptError} if it cannot be read. */
export function readerOf(row: StandingRow | undefined): () => Standing | undefined {
  const record = row?.record ?? undefined;
  if (row === undefined || record === undefined) return () => undefined;
  const { job } = row;
  const nowMs = Number(row.nowMs);
  return () => ({
    record: decodeJob(record, job, nowMs),
    pause: read(row.pause, decodePause),
    nowMs,
    run: read(row.run, (text) => decodeRun(text, job)),
    request: read(row.request, (text) => decodeRequest(text, job)),
    cancellation: read(row.cancellation, decodeCancellation),
    open: row.whole === null ? [] : openOf(job, JSON.parse(row.whole) as Whole),
  });
}

/** What cannot be read of the others keeps a job from being read, too. */
function openOf(job: string, { open, latest, requests }: Whole): RunRecord[] {
  if (latest !== null) decodeRun(latest, job);
  for (const { id, record } of requests) decodeRequest(record, job, id);
  return open.map(({ id, record, cancellation }) => {
    if (cancellation !== null) decodeCancellation(cancellation);
    return decodeOpenRun(record, job, id);
  });
}

function read<Value>(text: string | null, decode: (text: string) => Value): Value | undefined {
  return text === null ? undefined : decode(text);
}

const text = (name: string): Column => [name, 'text'];

const runColumns: readonly Column[] = [
  ...[text('job'), text('id'), ['tick_ms', 'bigint'] as const, text('state')],
  ...([
    ['term', 'bigint'],
    ['attempt', 'integer'],
    ['is_open', 'boolean'],
  ] as const),
  text('record'),
];

/** One statement may write a row once. */
function lastOfEach(runs: readonly RunRecord[]): Map<string, RunRecord> {
  return new Map(runs.map((run) => [run.id, run]));
}

/** A list as rows, to stand in FROM. */
function rows(alias: string, list: readonly object[], columns: readonly Column[]): string {
  const types = columns.map(([name, type]) => `${name} ${type}`).join(', ');
  return `json_to_recordset(${quoteLiteral(JSON.stringify(list))}) AS ${alias} (${types})`;
}
