import { beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { ensureBuilt } from '../../scripts/bootstrap.mjs';
import { type Leak, runSoak, type SoakedStore, soakedStores } from '../soak/run.js';
import { verdictOf } from '../soak/verdict.js';

/** The short form of `npm run soak`: two minutes, after the one that a run begins with. */
const durationMs = 120_000;
vi.setConfig({ maxConcurrency: 4 });

// The process that is looked at imports the package by its name, so what runs is what was built.
beforeAll(() => ensureBuilt());

async function soaked(store: SoakedStore, leak?: Leak) {
  const servers = { redisUrl: inject('redisUrl'), postgresUrl: inject('postgresUrl') };
  const report = await runSoak({ store, leak, durationMs, sampleEveryMs: 5_000, ...servers });
  const verdict = verdictOf(report);
  console.log(verdict);
  const grown = report.courses.filter(({ isFlat }) => !isFlat);
  return { report, verdict, grown: grown.map(({ quantity }) => quantity.name) };
}

describe('two replicas at work without any fault', () => {
  it.concurrent.each(soakedStores)(
    'leave no memory, handles or keys behind, and handle all in order (%s)',
    async (store) => {
      const { report, verdict, grown } = await soaked(store);
      expect(grown, verdict).toEqual([]);
      expect(report.disorders, verdict).toEqual([]);
      for (const what of ['leases', 'terms', 'handled'])
        expect(report.counts[what], verdict).toBeGreaterThan(0);
    },
  );

  it.concurrent.each<[Leak, SoakedStore, string]>([
    ['memory', 'memory', 'heap after collection'],
    ['handles', 'postgres', 'active handles'],
    ['keys', 'redis', 'store keys'],
  ])('are seen to if they do: %s, on %s', async (leak, store, name) => {
    const { verdict, grown } = await soaked(store, leak);
    expect(grown, verdict).toContain(name);
  });
});
