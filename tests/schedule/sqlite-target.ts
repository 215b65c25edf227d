import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobStoreSubject } from '../../src/schedule/conformance/index.js';
import { sqliteJobs } from '../../src/sqlite.js';
import { openDatabase } from '../support/sqlite-database.js';

/** Jobs in a file of their own. */
export async function sqliteSubject(): Promise<JobStoreSubject & { readonly path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-jobs-'));
  const path = join(folder, 'jobs.db');
  const store = sqliteJobs(path);
  const other = sqliteJobs(path);
  return {
    ...{ store, other, path },
    controls: {
      corrupt: async (job) => {
        const database = openDatabase(path);
        database.prepare("UPDATE job SET record = 'no record' WHERE job = ?").run(job);
        database.close();
      },
    },
    close: async () => {
      await Promise.all([store.close(), other.close()]);
      rmSync(folder, { recursive: true });
    },
  };
}
