import type { SqliteTransaction } from '../../drivers/sqlite/index.js';
import type { JobView, RunCancellation } from '../contract.js';
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
import { areThere, statements, tables } from './statements.js';

export interface StoredJob {
  readonly record: JobRecord;
  readonly pause: JobPause | undefined;
}

/** The rows of one namespace within one transaction. */
export class JobRows {
  readonly #transaction: SqliteTransaction;
  readonly #namespace: string;
  /** A file that nobody has written a job to has none. */
  readonly #isEmpty: boolean;

  constructor(transaction: SqliteTransaction, namespace: string) {
    this.#transaction = transaction;
    this.#namespace = namespace;
    const isMissing = transaction.get(areThere)?.count !== 3;
    this.#isEmpty = isMissing && transaction.mode === 'read';
    if (isMissing && !this.#isEmpty) for (const table of tables) transaction.run(table);
  }

  get nowMs(): number {
    return Math.round(this.#transaction.wallMs);
  }

  get names(): string[] {
    if (this.#isEmpty) return [];
    const rows = this.#transaction.all(statements.allJobs, this.#namespace);
    return rows.map(({ job }) => String(job)).sort();
  }

  job(name: string): StoredJob | undefined {
    const row = this.#get(statements.job, name);
    if (row === undefined) return undefined;
    const pause = row.pause === null ? undefined : decodePause(String(row.pause));
    return { record: decodeJob(String(row.record)), pause };
  }

  view(name: string): JobView | undefined {
    const stored = this.job(name);
    if (stored === undefined) return undefined;
    const open = this.#all(statements.open, name);
    const latest = this.#get(statements.latest, name);
    return {
      ...stored,
      open: open.map(({ record }) => decodeRun(String(record))),
      latest: latest && decodeRun(String(latest.record)),
      requests: this.#all(statements.requests, name).map(({ record }) =>
        decodeRequest(String(record)),
      ),
      cancellations: open
        .filter(({ cancellation }) => cancellation !== null)
        .map(({ cancellation }) => decodeCancellation(String(cancellation))),
    };
  }

  putJob(record: JobRecord): void {
    this.#run(statements.putJob, record.job, encode(record));
  }

  setPause(name: string, pause: JobPause | undefined): void {
    if (pause === undefined) this.#run(statements.resume, name);
    else this.#transaction.run(statements.pause, encode(pause), this.#namespace, name);
  }

  run(job: string, id: string): RunRecord | undefined {
    const row = this.#get(statements.run, job, id);
    return row && decodeRun(String(row.record));
  }

  runs(job: string, beforeMs: number, limit: number): RunRecord[] {
    return this.#all(statements.runs, job, beforeMs, limit).map(({ record }) =>
      decodeRun(String(record)),
    );
  }

  putRun(run: RunRecord): void {
    const { job, id, tickMs, state } = run;
    this.#run(statements.putRun, job, id, tickMs, state, isOpen(run) ? 1 : 0, encode(run));
  }

  prune(job: string, keepRuns: number): void {
    this.#run(statements.prune, job, this.#namespace, job, keepRuns);
  }

  request(job: string, id: string): RunRequest | undefined {
    const row = this.#get(statements.request, job, id);
    return row && decodeRequest(String(row.record));
  }

  putRequest(request: RunRequest): void {
    this.#run(statements.putRequest, request.job, request.id, encode(request));
  }

  dropRequest(job: string, id: string): void {
    this.#run(statements.dropRequest, job, id);
  }

  /** @returns whether there is such a run, and it has not ended. The first who wants it cancelled is kept. */
  cancel(job: string, cancellation: RunCancellation): boolean {
    const { runId } = cancellation;
    const row = this.#get(statements.run, job, runId);
    if (row === undefined || row.is_open !== 1) return false;
    if (row.cancellation === null)
      this.#transaction.run(statements.cancel, encode(cancellation), this.#namespace, job, runId);
    return true;
  }

  #get(sql: string, ...values: (string | number)[]) {
    return this.#isEmpty ? undefined : this.#transaction.get(sql, this.#namespace, ...values);
  }

  #all(sql: string, ...values: (string | number)[]) {
    return this.#isEmpty ? [] : this.#transaction.all(sql, this.#namespace, ...values);
  }

  #run(sql: string, ...values: (string | number)[]): void {
    this.#transaction.run(sql, this.#namespace, ...values);
  }
}
