import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { sqliteJobs } from '../../src/sqlite.js';
import { registerJobStoreConformance } from '../../src/testing.js';

registerJobStoreConformance(
  {
    name: 'sqlite',
    impossible: {},
    create: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'tenure-jobs-'));
      const path = join(folder, 'jobs.db');
      const store = sqliteJobs(path);
      const other = sqliteJobs(path);
      return {
        ...{ store, other, controls: {} },
        close: async () => {
          await Promise.all([store.close(), other.close()]);
          rmSync(folder, { recursive: true });
        },
      };
    },
  },
  { describe, it },
);
