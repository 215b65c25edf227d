import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JobStore, type RunContext, Schedule } from '../../../src/schedule/index.js';
import { sqliteJobs } from '../../../src/schedule/sqlite/index.js';
import { startInside } from '../command-inside.js';
import type { Outcome } from '../command-line.js';

/** A file with jobs in it, one process that leads them, and whoever operates them. */
export class JobScene {
  readonly folder = mkdtempSync(join(tmpdir(), 'tenure-jobs-'));
  readonly url = `sqlite:${join(this.folder, 'tenure.db')}`;
  readonly store: JobStore = sqliteJobs(join(this.folder, 'tenure.db'));
  readonly schedule = new Schedule(this.store, { id: 'replica-1', pollMs: 50, ttlMs: 5_000 });
  readonly contexts: RunContext[] = [];
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

  jobs(...args: string[]): Promise<Outcome> {
    return startInside(['jobs', ...args, '--url', this.url]).ended;
  }

  async close(): Promise<void> {
    await this.schedule.close();
    await this.store.close();
    rmSync(this.folder, { recursive: true });
  }
}
