import { describe, expect, it } from 'vitest';
import { runFrozenRounds } from './rounds.js';
import type { FencedServers, FencedStore } from './store.js';

/** Registers the proof for one store: with the fence no stale write is accepted, without it the same rig shows losses. */
export function registerFrozenRounds(
  title: string,
  store: FencedStore,
  options: { readonly servers: () => FencedServers; readonly roundCount: number },
): void {
  const { servers, roundCount } = options;
  const seed = 20_261_130;
  // A child that compiles its sources, and a wait in each round, on a busy machine.
  const timeout = 60_000 + roundCount * 3_000;
  describe(`an owner that is really frozen while it writes to ${title}`, { timeout }, () => {
    it(`gets none of its writes accepted after its successor's claim, in ${roundCount} rounds`, async () => {
      const report = await runFrozenRounds(store, servers(), { roundCount, isFenced: true, seed });
      console.log(`${title}, fenced: ${JSON.stringify(report)}`);
      expect(report.acceptedStale).toBe(0);
      expect(report.refused).toBeGreaterThan(0);
      const { claimLimitMs } = store;
      if (claimLimitMs === undefined) return;
      expect(report.heldUp).toBe(0);
      expect(report.longestClaimMs).toBeLessThan(claimLimitMs);
    });

    it('gets writes accepted by the same resource without its fence', async () => {
      const few = Math.min(roundCount, 3);
      const report = await runFrozenRounds(store, servers(), {
        roundCount: few,
        isFenced: false,
        seed,
      });
      console.log(`${title}, without: ${JSON.stringify(report)}`);
      expect(report.acceptedStale).toBeGreaterThan(0);
    });
  });
}
