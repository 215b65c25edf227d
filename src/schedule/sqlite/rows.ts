import type { SqliteTransaction } from '../../drivers/sqlite/index.js';
import type { JobView } from '../contract.js';
import { isOpen, type JobPause, type JobRecord, type RunRecord } from '../records.js';
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
    return { record: decodeJob(String(row.record), name, this.nowMs), pause };
  }

  view(name: string): JobView | undefined {
    const stored = this.job(name);
    if (stored === undefined) return undefined;
    const open = this.#all(statements.open, name);
    const latest = this.#get(statements.latest, name);
    return {
      ...stored,
      open: open.map(({ id, record }) => decodeOpenRun(String(record), name, String(id))),
      latest: latest && decodeRun(String(latest.record), name),
      requests: this.#all(statements.requests, name).map(({ id, record }) =>
        decodeRequest(String(record), name, String(id)),
      ),
      cancellations: open
        .filter(({ cancellation }) => cancellation !== null)
        .map(({ cancellation }) => decodeCancellation(String(cancellation))),
    };
  }

  putJob(record: JobRecord): void {
    this.#run(statements.putJob, record.job, encode(record));
  }

  /** What stands there, with what the step asks about. */
  standing({ job, id, asksOpen }: Step<unknown>): Standing | undefined {
    const stored = this.job(job);
    if (stored === undefined) return undefined;
    const run = id === undefined ? undefined : this.#get(statements.run, job, id);
    const request = id === undefined ? undefined : this.#get(statements.request, job, id);
    const cancellation = run?.cancellation ?? undefined;
    return {
      ...{ ...stored, nowMs: this.nowMs },
      run: run && decodeRun(String(run.record), job),
      request: request && decodeRequest(String(request.record), job),
      cancellation:
        cancellation === undefined ? undefined : decodeCancellation(String(cancellation)),
      open: (asksOpen && this.view(job)?.open) || [],
    };
  }

  apply(job: string, update: JobUpdate): void {
    if (update.forgets) {
      for (const statement of statements.forget) this.#run(statement, job);
      return;
    }
    const { record, pause, runs = [], request, doneRequests = [], cancellation } = update;
    if (record !== undefined) this.putJob(record);
    if (pause === null) this.#run(statements.resume, job);
    else if (pause !== undefined) this.#mark(statements.pause, encode(pause), job);
    for (const run of runs) this.#putRun(run);
    if (request !== undefined) this.#run(statements.putRequest, job, request.id, encode(request));
    for (const id of doneRequests) this.#run(statements.dropRequest, job, id);
    if (cancellation !== undefined)
      this.#mark(statements.cancel, encode(cancellation), job, cancellation.runId);
    if (update.keepRuns !== undefined)
      this.#run(statements.prune, job, this.#namespace, job, update.keepRuns);
  }

  runs(job: string, beforeMs: number, limit: number): RunRecord[] {
    return this.#all(statements.runs, job, beforeMs, limit).map(({ record }) =>
      decodeRun(String(record), job),
    );
  }

  #putRun(run: RunRecord): void {
    const { job, id, tickMs, state } = run;
    this.#run(statements.putRun, job, id, tickMs, state, isOpen(run) ? 1 : 0, encode(run));
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

  /** A statement that begins with what it sets. */
  #mark(sql: string, text: string, ...values: string[]): void {
    this.#transaction.run(sql, text, this.#namespace, ...values);
  }
}
