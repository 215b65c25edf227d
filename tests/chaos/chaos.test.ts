import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it, vi } from 'vitest';
import { ensureBuilt } from '../../scripts/bootstrap.mjs';
import { knownStores, selectedStores } from '../../scripts/stores.mjs';
import { type ChaosOptions, type ChaosReport, runChaos } from './run.js';
import { storeNames } from './stage.js';
import { verdictOf } from './verdict.js';

/**
 * The short form, a few faults on each store. TENURE_CHAOS_SEED: another plan. `npm run chaos` plays the long one.
 *
 * Most of it is waiting, so several stores are disturbed at once.
 */
vi.setConfig({ testTimeout: 400_000, maxConcurrency: 3 });
const seed = Number(process.env.TENURE_CHAOS_SEED ?? 1);
const durationMs = 12_000;
const stores = storeNames.filter((store) => selectedStores().includes(store));

// Holders import the package by its name, so what runs is what was built.
ensureBuilt();

/** What happened is kept if it is not what was expected. */
async function played(
  options: Pick<ChaosOptions, 'store' | 'durationMs' | 'isFenced'>,
  expectOf: (report: ChaosReport, verdict: string) => void,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-chaos-history-'));
  const historyFile = join(folder, `${options.store}.jsonl`);
  const postgresUrl = inject('postgresUrl');
  const report = await runChaos({ ...options, seed, postgresUrl, historyFile });
  const verdict = verdictOf(report);
  console.log(verdict);
  expectOf(report, `${verdict}\nhistory: ${historyFile}`);
  rmSync(folder, { recursive: true });
}

it('knows how to disturb every store that processes can share', () => {
  expect([...storeNames].sort()).toEqual(knownStores.filter((store) => store !== 'memory').sort());
});

it.concurrent.each(stores)(
  'processes that meet with what a seed has in store for them leave no trace of a stale write, and recover (%s)',
  (store) =>
    played({ store, durationMs }, (report, verdict) => {
      const { violations, accidents, hasRecovered, placed, refusedCount } = report;
      expect(violations, verdict).toEqual([]);
      expect(accidents, verdict).toEqual([]);
      expect(hasRecovered, verdict).toBe(true);
      expect(placed.wasAccepted, verdict).toBe(false);
      expect(refusedCount, verdict).toBeGreaterThanOrEqual(1);
    }),
);

it.concurrent.each(stores.slice(0, 2))(
  'without the fence they are seen to overwrite each other (%s)',
  (store) =>
    played({ store, durationMs: 0, isFenced: false }, ({ violations, placed }, verdict) => {
      const { who, term, wasAccepted } = placed;
      expect(wasAccepted, verdict).toBe(true);
      expect(violations, verdict).toContainEqual(
        expect.stringMatching(`${who} \\(term ${term}, at \\d+\\) was accepted after term`),
      );
      expect(violations, verdict).toContainEqual(
        expect.stringMatching(`of k0 is there a second time, from ${who} in term ${term}`),
      );
    }),
);
