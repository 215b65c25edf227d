import { describe, it } from 'vitest';
import { conformanceCases, type TestFramework } from '../../src/testing.js';

const disturbing = ['restartKeepingData', 'restartLosingData', 'loseTail', 'stepClock'];

/** For stores that all cases share: cases that disturb no client but their own run at the same time. */
export const concurrentCases: TestFramework = {
  describe,
  it: (title, run) => {
    const disturbsAll = conformanceCases.some(
      ({ id, needs }) =>
        title.startsWith(`${id}:`) && needs.some((need) => disturbing.includes(need)),
    );
    return disturbsAll ? it(title, run) : it.concurrent(title, run);
  },
};
