import { StaleTermError } from '../../errors/index.js';
import type { Fence } from '../../fences/index.js';
import type { ShardRunner } from './runner.js';

/** So many claims run at a time: each is a transaction, and a resource has only so many connections. */
const parallelClaims = 16;

/** Installs the term of each runner's lease at the fence; `refuse` hears of those that come too late. */
export async function claimAll(
  fence: Pick<Fence<never>, 'claim'>,
  runners: readonly ShardRunner[],
  refuse: (runner: ShardRunner, installedTerm: number) => void,
): Promise<void> {
  const waiting = [...runners];
  const claimOne = async (runner: ShardRunner) => {
    try {
      await fence.claim(runner.lease);
    } catch (error) {
      if (!(error instanceof StaleTermError)) throw error;
      refuse(runner, error.installedTerm);
    }
  };
  const lane = async () => {
    for (let runner = waiting.shift(); runner !== undefined; runner = waiting.shift()) {
      if (runner.isAlive) await claimOne(runner);
    }
  };
  try {
    await Promise.all(Array.from({ length: parallelClaims }, lane));
  } finally {
    // After a failure the batch is given back, so the other lanes need not go on.
    waiting.length = 0;
  }
}
