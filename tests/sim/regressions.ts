import type { PlanOptions } from '../../src/sim/index.js';

/** A seed that found something, and what. */
export interface Regression extends PlanOptions {
  readonly seed: number;
  readonly found: string;
}

export const regressions: readonly Regression[] = [
  {
    ...{ seed: 4, model: 'linearizable', scenario: 'election', faultsForMs: 60_000 },
    found:
      'A server that restarted broke the connections of processes that were not any more, and calls of theirs settled.',
  },
  {
    ...{ seed: 1_328, model: 'eviction', scenario: 'jobs' },
    found:
      'The clock that makes ticks due was set back by a minute, and for a minute nothing was due: such steps are bounded.',
  },
  {
    ...{ seed: 598, model: 'linearizable', scenario: 'streams' },
    found:
      'The logs restarted, and an incarnation that had crashed heard of it and gave its shards back.',
  },
  {
    ...{ seed: 930, model: 'stale-leader', scenario: 'streams' },
    found:
      'A renewal of a crashed worker was executed late, while its next incarnation waited for the lease to expire: that one took its own id for that of another live process, and did not start.',
  },
];
