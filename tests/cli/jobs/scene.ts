import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeCronCoordinator } from '../../../src/adapters/node-cron/index.js';
import { type JobStore, type RunContext, Schedule } from '../../../src/schedule/index.js';
import { sqliteJobs } from '../../../src/schedule/sqlite/index.js';
import { openDatabase } from '../../support/sqlite-database.js';
import { startInside } from '../command-inside.js';
import type { Outcome } from '../command-line.js';

/** A file with jobs in it, one process that leads them, and whoever operates them. */
export class JobScene {
  readonly folder = mkdtempSync(join(tmpdir(), 'tenure-jobs-'));
  readonly url = `sqlite:${join(this.folder, 'tenure.db')}`;
  readonly store: JobStore = sqliteJobs(join(this.folder, 'tenure.db'));
  readonly schedule = new Schedule(this.store, { id: 'replica-1', pollMs: 50, ttlMs: 5_000 });
  readonly contexts: RunContext[] = [];
  readonly #others: (() => Promise<void>)[] = [];
  /** What the work of `settle` does. */
  work: (context: RunContext) => unknown = () => {};

  constructor() {
    // Due on one day of the year alone, so that nothing begins but by hand.
    this.schedule.job('settle', { cron: '0 3 1 1 *', timeZone: 'Asia/Tokyo' }, (context) => {
      this.contexts.push(context);
      return this.work(context);
    });
  }

  /** Resolves when this process leads. */
  async lead(): Promise<void> {
    const leading = new Promise((resolve) => this.schedule.events.on('leading', resolve));
    this.schedule.start();
    await leading;
  }

  /** Another process, with a job of this name alone. */
  another(id: string, job: string): Pick<JobScene, 'lead' | 'close'> {
    const store = sqliteJobs(join(this.folder, 'tenure.db'));
    const schedule = new Schedule(store, { id, pollMs: 50, ttlMs: 5_000 });
    schedule.job(job, { cron: '0 3 1 1 *' }, () => {});
    const close = async () => {
      await schedule.close();
      await store.close();
    };
    const lead = async () => {
      const leading = new Promise((resolve) => schedule.events.on('leading', resolve));
      schedule.start();
      await leading;
    };
    this.#others.push(close);
    return { lead, close };
  }

  /** A task of node-cron, whose replica has run it once. */
  async nodeCronTask(task: string): Promise<void> {
    const key = `${task}:2026-01-01T00:05:00.000Z`;
    const coordinator = nodeCronCoordinator(this.store, { ttlMs: 5_000 });
    await coordinator.shouldRun(key, 1_000);
    await coordinator.onComplete(key);
    await coordinator.close();
  }

  /** As something else would write it. */
  corrupt(job: string): void {
    this.#edit("UPDATE job SET record = 'no record' WHERE job = ?", job);
  }

  /** What a leader would have written who died then. */
  async everyMinuteFrom(consideredToMs: number): Promise<void> {
    const [view] = (await this.store.look(['settle'], { timeoutMs: 30_000 })).jobs;
    const record = { ...view?.record, cron: '* * * * *', consideredToMs };
    this.#edit('UPDATE job SET record = ? WHERE job = ?', JSON.stringify(record), 'settle');
  }

  /** As if the run that is open had begun then. */
  openSince(atMs: number): void {
    const sql =
      "UPDATE run SET record = json_set(record, '$.beganAtMs', CAST(? AS INTEGER)) WHERE is_open = 1";
    this.#edit(sql, String(atMs));
  }

  #edit(sql: string, ...values: string[]): void {
    const database = openDatabase(join(this.folder, 'tenure.db'));
    database.prepare(sql).run(...values);
    database.close();
  }

  jobs(...args: string[]): Promise<Outcome> {
    return startInside(['jobs', ...args, '--url', this.url]).ended;
  }

  async close(): Promise<void> {
    for (const close of this.#others) await close();
    await this.schedule.close();
    await this.store.close();
    rmSync(this.folder, { recursive: true });
  }
}
