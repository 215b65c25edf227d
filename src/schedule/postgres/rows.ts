import type { JobsView, JobView, RunCancellation } from '../contract.js';
import {
  isOpen,
  type JobPause,
  type JobRecord,
  type RunRecord,
  type RunRequest,
} from '../records.js';
import {
  decodeCancellation,
  decodeJob,
  decodePause,
  decodeRequest,
  decodeRun,
  encode,
} from '../rules/texts.js';
import type { JobStatements } from './schema.js';

/** Asks one statement of a transaction, or of none. */
export type AskRows = <Row extends object>(text: string, values: unknown[]) => Promise<Row[]>;

interface ViewRow {
  readonly record: string;
  readonly pause: string | null;
  readonly open: readonly { readonly record: string; readonly cancellation: string | null }[];
  readonly latest: string | null;
  readonly requests: readonly string[];
}

export interface LockedJob {
  readonly record: JobRecord | undefined;
  readonly pause: JobPause | undefined;
  readonly nowMs: number;
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
    const views = (JSON.parse(answer?.jobs ?? '[]') as ViewRow[]).map(viewOf);
    const places = new Map(jobs?.map((job, place) => [job, place]));
    const place = ({ record }: JobView) => places.get(record.job) ?? 0;
    views.sort(
      (one, other) => place(one) - place(other) || (one.record.job < other.record.job ? -1 : 1),
    );
    return { nowMs: Number(answer?.nowMs), jobs: views };
  }

  /** @param creates whether the job gets a row if it has none. */
  async lock(job: string, creates = false): Promise<LockedJob | undefined> {
    const { place, lock } = this.#statements;
    if (creates) await this.#run(place, job);
    const [row] = await this.#ask<{ record: string | null; pause: string | null; nowMs: string }>(
      lock,
      [this.#namespace, job],
    );
    if (row === undefined) return undefined;
    return {
      record: row.record === null ? undefined : decodeJob(row.record),
      pause: row.pause === null ? undefined : decodePause(row.pause),
      nowMs: Number(row.nowMs),
    };
  }

  putJob(record: JobRecord): Promise<void> {
    return this.#run(this.#statements.putJob, record.job, encode(record));
  }

  setPause(job: string, pause: JobPause | undefined): Promise<void> {
    return this.#run(this.#statements.setPause, job, pause === undefined ? null : encode(pause));
  }

  async run(job: string, id: string): Promise<RunRecord | undefined> {
    const [row] = await this.#ask<{ record: string }>(this.#statements.run, [
      this.#namespace,
      job,
      id,
    ]);
    return row && decodeRun(row.record);
  }

  async runs(job: string, beforeMs: number, limit: number): Promise<RunRecord[]> {
    const values = [this.#namespace, job, beforeMs, limit];
    const rows = await this.#ask<{ record: string }>(this.#statements.runs, values);
    return rows.map(({ record }) => decodeRun(record));
  }

  putRun(run: RunRecord): Promise<void> {
    const { job, id, tickMs, state, term, attempt } = run;
    const columns = [id, tickMs, state, term, attempt, isOpen(run), encode(run)];
    return this.#run(this.#statements.putRun, job, ...columns);
  }

  prune(job: string, keepRuns: number): Promise<void> {
    return this.#run(this.#statements.prune, job, keepRuns);
  }

  async request(job: string, id: string): Promise<RunRequest | undefined> {
    const [row] = await this.#ask<{ record: string }>(this.#statements.request, [
      this.#namespace,
      job,
      id,
    ]);
    return row && decodeRequest(row.record);
  }

  putRequest(request: RunRequest): Promise<void> {
    return this.#run(this.#statements.putRequest, request.job, request.id, encode(request));
  }

  dropRequests(job: string, ids: readonly string[]): Promise<void> {
    return this.#run(this.#statements.dropRequests, job, ids);
  }

  /** @returns whether there is such a run, and it has not ended. The first who wants it cancelled is kept. */
  async cancel(job: string, cancellation: RunCancellation): Promise<boolean> {
    const { run, cancel } = this.#statements;
    const { runId } = cancellation;
    const [row] = await this.#ask<{ isOpen: boolean; cancellation: string | null }>(run, [
      this.#namespace,
      job,
      runId,
    ]);
    if (row?.isOpen !== true) return false;
    if (row.cancellation === null) await this.#run(cancel, job, runId, encode(cancellation));
    return true;
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
