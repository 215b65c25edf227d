import { act } from '../../../src/schedule/conformance/scene.js';
import type { MemoryJob, MemoryJobs } from '../../../src/schedule/memory/state.js';
import type { WrongStore } from './wrong-store.js';

/** Of all stores on one state: who forgets a job and who asks for its runs are two. */
const leftovers = new WeakMap<MemoryJobs, MemoryJob['runs']>();

export const wrongRemovals: readonly WrongStore[] = [
  {
    flaw: 'forgets a job and leaves its runs',
    rejectedBy: 'removals/forget',
    wrong: (honest, state) => ({
      forget: (job, seen, call) => {
        const runs = state.jobs.get(job)?.runs;
        if (runs !== undefined) leftovers.set(state, runs);
        return honest.forget(job, seen, call);
      },
      runs: async (job, options, call) => {
        const left = leftovers.get(state);
        return left === undefined ? honest.runs(job, options, call) : [...left.values()];
      },
    }),
  },
  {
    flaw: 'forgets all jobs with one',
    rejectedBy: 'removals/forget',
    wrong: (honest, state) => ({
      async forget(job, seen, call) {
        const result = await honest.forget(job, seen, call);
        if (result.outcome === 'forgotten') state.jobs.clear();
        return result;
      },
    }),
  },
  {
    flaw: 'forgets a job although a run of it is open',
    rejectedBy: 'removals/open',
    wrong: (honest, state) => ({
      async forget(job, seen, call) {
        const result = await honest.forget(job, seen, call);
        if (result.outcome !== 'open') return result;
        state.jobs.delete(job);
        return { outcome: 'forgotten' };
      },
    }),
  },
  {
    flaw: 'forgets a job whoever has it',
    rejectedBy: 'removals/changed',
    wrong: (honest, state) => ({
      forget: (job, _, call) => honest.forget(job, state.jobs.get(job)?.record, call),
    }),
  },
  {
    flaw: 'looks whether a run is open, and forgets the job later',
    rejectedBy: 'removals/race',
    wrong: (honest, state) => ({
      async forget(job, _, call) {
        const [run] = (await honest.look([job], call)).jobs.flatMap(({ open }) => open);
        if (run !== undefined) return { outcome: 'open', run };
        await honest.pause('another', act, call);
        state.jobs.delete(job);
        return { outcome: 'forgotten' };
      },
    }),
  },
  {
    flaw: 'lets one job that cannot be read keep everybody from all',
    rejectedBy: 'removals/corrupt',
    wrong: (honest) => ({
      async claim(token, definitions, adoptFrom, call) {
        const results = await honest.claim(token, definitions, adoptFrom, call);
        const corrupt = results.find(({ outcome }) => outcome === 'corrupt');
        return corrupt === undefined ? results : results.map(() => corrupt);
      },
    }),
  },
];
