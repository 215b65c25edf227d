import type { JobsView, JobView } from '../contract.js';
import { isOpen, type JobRecord, type RunRecord } from '../records.js';
import type { JobUpdate, Standing, Step } from '../rules/steps.js';
import {
  decodeCancellation,
  decodeJob,
  decodePause,
  decodeRequest,
  decodeRun,
  encode,
} from '../rules/texts.js';
import { gathered } from '../rules/views.js';
import type { JobStatements } from './schema.js';

/** Asks one statement of a transaction, or of none. */
export type AskRows = <Row extends object>(text: string, values: unknown[]) => Promise<Row[]>;

interface ViewRow {
  readonly job: string;
  readonly record: string;
  readonly pause: string | null;
  readonly open: readonly { readonly record: string; readonly cancellation: string | null }[];
  readonly latest: string | null;
  readonly requests: readonly string[];
}

interface Besides {
  readonly run: string | null;
  readonly request: string | null;
  readonly cancellation: string | null;
}

interface LockedRow {
  /** None: it is there to be locked, and counts as no job. */
  readonly record: string | null;
  readonly pause: string | null;
  readonly nowMs: string;
}

/** The rows of one namespace. What changes something is asked within a transaction that has locked the job. */
export class JobRows {
  readonly #ask: AskRows;
  readonly #statements: JobStatements;
  readonly #namespace: string;

  constructor(ask: AskRows, statements: JobStatements, namespace: string) {
    this.#ask = ask;
    this.#statements = statements;
    this.#namespace = namespace;
  }

  /** @param jobs `undefined`: all of them. */
  async view(jobs: readonly string[] | undefined): Promise<JobsView> {
    const [answer] = await this.#ask<{ nowMs: string; jobs: string }>(this.#statements.view, [
      this.#namespace,
      jobs ?? null,
    ]);
    const rows = JSON.parse(answer?.jobs ?? '[]') as ViewRow[];
    const places = new Map(jobs?.map((job, place) => [job, place]));
    const place = ({ job }: ViewRow) => places.get(job) ?? 0;
    rows.sort((one, other) => place(one) - place(other) || (one.job < other.job ? -1 : 1));
    return gathered(
      Number(answer?.nowMs),
      rows.map((row) => [row.job, row]),
      (_, row) => viewOf(row),
    );
  }

  /** Locks the rows of jobs, each of which gets one if it has none. Whoever forgets one in between has it made anew. */
  async place(jobs: readonly string[]): Promise<void> {
    const { place, lockPlaces } = this.#statements;
    const values = [this.#namespace, jobs];
    for (let locked = 0; locked < jobs.length; ) {
      await this.#ask(place, values);
      locked = (await this.#ask(lockPlaces, values)).length;
    }
  }

  async #lock(job: string): Promise<LockedRow | undefined> {
    const [row] = await this.#ask<LockedRow>(this.#statements.lock, [this.#namespace, job]);
    return row;
  }

  async putJobs(records: readonly JobRecord[]): Promise<void> {
    if (records.length === 0) return;
    const jobs = records.map(({ job }) => job);
    await this.#ask(this.#statements.putJobs, [this.#namespace, jobs, records.map(encode)]);
  }

  putJob(record: JobRecord): Promise<void> {
    return this.#run(this.#statements.putJob, record.job, encode(record));
  }

  /**
   * What stands there, with what the step asks about; nobody else writes the job until the transaction ends.
   *
   * @returns what reads it, and throws {@link RecordCorruptError} if it cannot be read.
   */
  async standing({ job, id, asksOpen }: Step<unknown>): Promise<() => Standing | undefined> {
    const row = await this.#lock(job);
    const record = row?.record ?? undefined;
    if (row === undefined || record === undefined) return () => undefined;
    const { besides, open } = this.#statements;
    const values = [this.#namespace, job];
    const [found] = id === undefined ? [] : await this.#ask<Besides>(besides, [...values, id]);
    const runs = asksOpen ? await this.#ask<{ record: string }>(open, values) : [];
    return () => ({
      record: decodeJob(record),
      pause: read(row.pause, decodePause),
      nowMs: Number(row.nowMs),
      run: read(found?.run, decodeRun),
      request: read(found?.request, decodeRequest),
      cancellation: read(found?.cancellation, decodeCancellation),
      open: runs.map((run) => decodeRun(run.record)),
    });
  }

  async apply(job: string, update: JobUpdate): Promise<void> {
    if (update.forgets) {
      for (const statement of this.#statements.forget) await this.#run(statement, job);
      return;
    }
    const { setPause, putRequest, dropRequests, cancel, prune } = this.#statements;
    const { record, pause, runs = [], request, doneRequests = [], cancellation } = update;
    if (record !== undefined) await this.putJob(record);
    if (pause !== undefined) await this.#run(setPause, job, pause === null ? null : encode(pause));
    for (const run of runs) await this.#putRun(run);
    if (request !== undefined) await this.#run(putRequest, job, request.id, encode(request));
    if (doneRequests.length > 0) await this.#run(dropRequests, job, doneRequests);
    if (cancellation !== undefined)
      await this.#run(cancel, job, cancellation.runId, encode(cancellation));
    if (update.keepRuns !== undefined) await this.#run(prune, job, update.keepRuns);
  }

  async runs(job: string, beforeMs: number, limit: number): Promise<RunRecord[]> {
    const values = [this.#namespace, job, beforeMs, limit];
    const rows = await this.#ask<{ record: string }>(this.#statements.runs, values);
    return rows.map(({ record }) => decodeRun(record));
  }

  #putRun(run: RunRecord): Promise<void> {
    const { job, id, tickMs, state, term, attempt } = run;
    const columns = [id, tickMs, state, term, attempt, isOpen(run), encode(run)];
    return this.#run(this.#statements.putRun, job, ...columns);
  }

  async #run(text: string, ...values: unknown[]): Promise<void> {
    await this.#ask(text, [this.#namespace, ...values]);
  }
}

function viewOf({ record, pause, open, latest, requests }: ViewRow): JobView {
  return {
    record: decodeJob(record),
    pause: pause === null ? undefined : decodePause(pause),
    open: open.map((run) => decodeRun(run.record)),
    latest: latest === null ? undefined : decodeRun(latest),
    requests: requests.map(decodeRequest),
    cancellations: open
      .filter(({ cancellation }) => cancellation !== null)
      .map(({ cancellation }) => decodeCancellation(String(cancellation))),
  };
}

function read<Value>(
  text: string | null | undefined,
  decode: (text: string) => Value,
): Value | undefined {
  return text === null || text === undefined ? undefined : decode(text);
}
