import { beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from '../../../scripts/bootstrap.mjs';
import { runRounds } from './rounds.js';
import type { ProofServers, StoreName } from './stores.js';

interface ProofOptions {
  readonly servers: () => ProofServers;
  readonly roundCount: number;
  readonly batchSize: number;
}

/** Registers the proof for one store: each key has one effect; without `once` the same rig shows several. */
export function registerOnceRounds(
  store: StoreName,
  { servers, roundCount, batchSize }: ProofOptions,
): void {
  const seed = Number(process.env.TENURE_LONG_SEED ?? Date.now() % 2 ** 32);

  // Side by side with the others: most of the time they wait for the deadlines of those that were killed.
  describe.concurrent(`two processes that want the effect of one key, one of which is killed: ${store}`, () => {
    beforeAll(() => ensureBuilt(), 120_000);

    it(`have it once, in ${roundCount} rounds`, { timeout: 15 * 60_000 }, async () => {
      const options = { roundCount, batchSize, isGuarded: true, seed };
      const report = await runRounds(store, servers(), options);
      console.info(`once on ${store}, seed ${seed}: ${JSON.stringify(report)}`);
      const none = { twice: 0, missing: 0, wrongReceipts: 0 };
      expect(report).toMatchObject({ rounds: roundCount, effects: roundCount, ...none });
      // In each batch one attempt at least.
      expect(report.foundDone + report.repeated).toBeGreaterThanOrEqual(report.kills);
    });

    it('have it twice without', { timeout: 5 * 60_000 }, async () => {
      const options = { roundCount: batchSize, batchSize, isGuarded: false, seed };
      const report = await runRounds(store, servers(), options);
      expect(report.twice).toBeGreaterThan(0);
    });
  });
}
