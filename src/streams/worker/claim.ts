import { StaleTermError } from '../../errors/index.js';
import type { Fence } from '../../fences/index.js';
import type { ShardRunner } from './runner.js';

/** So many claims run at a time: each is a transaction, and a resource has only so many connections. */
const parallelClaims = 16;

/**
 * Installs the term of each runner's lease at the fence; `refuse` hears of those that come too late.
 *
 * @throws the first failure, when no claim is under way any more.
 */
export async function claimAll(
  fence: Pick<Fence<never>, 'claim'>,
  runners: readonly ShardRunner[],
  refuse: (runner: ShardRunner, installedTerm: number) => void,
): Promise<void> {
  const waiting = [...runners];
  const failures: unknown[] = [];
  const claimOne = async (runner: ShardRunner) => {
    try {
      await fence.claim(runner.lease);
    } catch (error) {
      if (error instanceof StaleTermError) return refuse(runner, error.installedTerm);
      failures.push(error);
      // All shards of the batch will be given back, so the rest need not be claimed.
      waiting.length = 0;
    }
  };
  const lane = async () => {
    for (let runner = waiting.shift(); runner !== undefined; runner = waiting.shift()) {
      if (runner.isAlive) await claimOne(runner);
    }
  };
  // Also after a failure those under way are waited for: who gives a shard back must not still be claiming it.
  await Promise.all(Array.from({ length: parallelClaims }, lane));
  if (failures.length > 0) throw failures[0];
}
