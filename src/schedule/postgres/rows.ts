import type { JobsView, JobView } from '../contract.js';
import { isOpen, type JobPause, type JobRecord, type RunRecord } from '../records.js';
import type { JobUpdate, Standing } from '../rules/steps.js';
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

interface Besides {
  readonly run: string | null;
  readonly request: string | null;
  readonly cancellation: string | null;
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

  /** What stands there, with what there is of this id; nobody else writes the job until the transaction ends. */
  async standing(job: string, id: string | undefined): Promise<Standing | undefined> {
    const locked = await this.lock(job);
    if (locked?.record === undefined) return undefined;
    const { record, pause, nowMs } = locked;
    const nothing = { run: undefined, request: undefined, cancellation: undefined };
    const besides = id === undefined ? nothing : await this.#besides(job, id);
    return { record, pause, nowMs, ...besides };
  }

  async #besides(job: string, id: string) {
    const [row] = await this.#ask<Besides>(this.#statements.besides, [this.#namespace, job, id]);
    const { run = null, request = null, cancellation = null } = row ?? {};
    return {
      run: run === null ? undefined : decodeRun(run),
      request: request === null ? undefined : decodeRequest(request),
      cancellation: cancellation === null ? undefined : decodeCancellation(cancellation),
    };
  }

  async apply(job: string, update: JobUpdate): Promise<void> {
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
