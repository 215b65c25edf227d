import { AssertionError } from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { runConformanceCase } from '../../../src/conformance/index.js';
import { type JobStoreCase, jobStoreCases } from '../../../src/schedule/conformance/index.js';
import { MemoryJobs, memoryJobs } from '../../../src/schedule/memory/index.js';
import { altered } from '../../support/altered.js';
import { sqliteSubject } from '../sqlite-target.js';
import { wrongClaims } from './wrong-claims.js';
import { wrongOperators } from './wrong-operators.js';
import { wrongRemovals } from './wrong-removals.js';
import type { WrongStore } from './wrong-store.js';
import { wrongWrites } from './wrong-writes.js';

const inFile = (wrong: WrongStore['wrong']) => ({
  create: async () => {
    const subject = await sqliteSubject();
    const [store, other] = [subject.store, subject.other].map((honest) =>
      altered(honest, wrong(honest, new MemoryJobs())),
    );
    if (store === undefined || other === undefined) throw new Error('there are two');
    return { ...subject, store, other };
  },
});

const inMemory = (wrong: WrongStore['wrong']) => ({
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

/** What memory cannot have done to it is done to a file. */
const target = ({ needs }: JobStoreCase, wrong: WrongStore['wrong']) =>
  needs.length > 0 ? inFile(wrong) : inMemory(wrong);

const wrongStores = [...wrongClaims, ...wrongWrites, ...wrongOperators, ...wrongRemovals];

/** Each case below is one guard, proved by a store that breaks it. */
describe('the conformance suite rejects a store of jobs that', () => {
  for (const { flaw, rejectedBy, wrong } of wrongStores) {
    it(`${flaw} (${rejectedBy})`, async () => {
      const suiteCase = jobStoreCases.find(({ id }) => id === rejectedBy);
      if (suiteCase === undefined) throw new Error(`there is no case ${rejectedBy}`);
      const run = runConformanceCase(suiteCase, target(suiteCase, wrong));
      await expect(run).rejects.toBeInstanceOf(AssertionError);
    });
  }

  it('but not for being wrapped', async () => {
    for (const suiteCase of jobStoreCases)
      await runConformanceCase(
        suiteCase,
        target(suiteCase, () => ({})),
      );
  });

  it('by every case', () => {
    const rejecting = new Set(wrongStores.map(({ rejectedBy }) => rejectedBy));
    expect([...rejecting].sort()).toEqual(jobStoreCases.map(({ id }) => id).sort());
  });
});
