import { describe, it } from 'vitest';
import { MemoryJobs, memoryJobs } from '../../src/schedule/memory/index.js';
import { registerJobStoreConformance } from '../../src/testing.js';

registerJobStoreConformance(
  {
    name: 'memory',
    impossible: { corrupt: 'its records are objects of this process, and nobody else writes them' },
    create: async () => {
      const state = new MemoryJobs();
      const store = memoryJobs(state);
      const other = memoryJobs(state);
      return {
        ...{ store, other, controls: {} },
        close: async () => {
          await Promise.all([store.close(), other.close()]);
        },
      };
    },
  },
  { describe, it },
);
