import type { JobsView, JobView } from '../contract.js';
import type { JobRecord } from '../records.js';
import {
  decodeCancellation,
  decodeJob,
  decodeOpenRun,
  decodePause,
  decodeRequest,
  decodeRun,
  encode,
} from '../rules/texts.js';
import { gathered } from '../rules/views.js';
import type { JobStatements } from './schema.js';

/** Asks one statement of a transaction. */
export type AskRows = <Row extends object>(text: string, values: unknown[]) => Promise<Row[]>;

/** What a look answers. */
export interface ViewAnswer {
  readonly nowMs: string;
  readonly jobs: string;
}

interface ViewRow {
  readonly job: string;
  readonly record: string;
  readonly pause: string | null;
  readonly open: readonly {
    readonly id: string;
    readonly record: string;
    readonly cancellation: string | null;
  }[];
  readonly latest: string | null;
  readonly requests: readonly { readonly id: string; readonly record: string }[];
}

/** The rows of one namespace, for the transaction of a claim. */
export class JobRows {
  readonly #ask: AskRows;
  readonly #statements: JobStatements;
  readonly #namespace: string;

  constructor(ask: AskRows, statements: JobStatements, namespace: string) {
    this.#ask = ask;
    this.#statements = statements;
    this.#namespace = namespace;
  }

  async view(jobs: readonly string[]): Promise<JobsView> {
    const values = [this.#namespace, jobs];
    const [answer] = await this.#ask<ViewAnswer>(this.#statements.view(), values);
    return viewOf(answer, jobs);
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

  async putJobs(records: readonly JobRecord[]): Promise<void> {
    if (records.length === 0) return;
    const jobs = records.map(({ job }) => job);
    await this.#ask(this.#statements.putJobs, [this.#namespace, jobs, records.map(encode)]);
  }
}

/** @param jobs in whose order; `undefined`: in that of their names. */
export function viewOf(
  answer: ViewAnswer | undefined,
  jobs: readonly string[] | undefined,
): JobsView {
  const rows = JSON.parse(answer?.jobs ?? '[]') as ViewRow[];
  const places = new Map(jobs?.map((job, place) => [job, place]));
  const place = ({ job }: ViewRow) => places.get(job) ?? 0;
  rows.sort((one, other) => place(one) - place(other) || (one.job < other.job ? -1 : 1));
  const nowMs = Number(answer?.nowMs);
  return gathered(
    nowMs,
    rows.map((row) => [row.job, row]),
    (_, row) => jobViewOf(row, nowMs),
  );
}

function jobViewOf(
  { job, record, pause, open, latest, requests }: ViewRow,
  nowMs: number,
): JobView {
  return {
    record: decodeJob(record, job, nowMs),
    pause: pause === null ? undefined : decodePause(pause),
    open: open.map(({ id, record: run }) => decodeOpenRun(run, job, id)),
    latest: latest === null ? undefined : decodeRun(latest, job),
    requests: requests.map(({ id, record: request }) => decodeRequest(request, job, id)),
    cancellations: open
      .filter(({ cancellation }) => cancellation !== null)
      .map(({ cancellation }) => decodeCancellation(String(cancellation))),
  };
}
