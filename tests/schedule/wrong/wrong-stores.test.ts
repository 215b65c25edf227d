import { AssertionError } from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { runConformanceCase } from '../../../src/conformance/index.js';
import { jobStoreCases } from '../../../src/schedule/conformance/index.js';
import { MemoryJobs, memoryJobs } from '../../../src/schedule/memory/index.js';
import { wrongClaims } from './wrong-claims.js';
import { wrongOperators } from './wrong-operators.js';
import { altered, type WrongStore } from './wrong-store.js';
import { wrongWrites } from './wrong-writes.js';

const target = (wrong: WrongStore['wrong']) => ({
  create: async () => {
    const state = new MemoryJobs();
    const [store, other] = [memoryJobs(state), memoryJobs(state)].map((honest) =>
      altered(honest, wrong(honest, state)),
    );
    if (store === undefined || other === undefined) throw new Error('there are two');
    const close = async () => {
      await Promise.all([store.close(), other.close()]);
    };
    return { store, other, controls: {}, close };
  },
});

const wrongStores = [...wrongClaims, ...wrongWrites, ...wrongOperators];

/** Each case below is one guard, proved by a store that breaks it. */
describe('the conformance suite rejects a store of jobs that', () => {
  for (const { flaw, rejectedBy, wrong } of wrongStores) {
    it(`${flaw} (${rejectedBy})`, async () => {
      const suiteCase = jobStoreCases.find(({ id }) => id === rejectedBy);
      if (suiteCase === undefined) throw new Error(`there is no case ${rejectedBy}`);
      const run = runConformanceCase(suiteCase, target(wrong));
      await expect(run).rejects.toBeInstanceOf(AssertionError);
    });
  }

  it('but not for being wrapped', async () => {
    for (const suiteCase of jobStoreCases)
      await runConformanceCase(
        suiteCase,
        target(() => ({})),
      );
  });

  it('by every case', () => {
    const rejecting = new Set(wrongStores.map(({ rejectedBy }) => rejectedBy));
    expect([...rejecting].sort()).toEqual(jobStoreCases.map(({ id }) => id).sort());
  });
});
