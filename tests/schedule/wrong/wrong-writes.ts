import type { RunRecord } from '../../../src/schedule/index.js';
import type { WrongStore } from './wrong-store.js';

export const wrongWrites: readonly WrongStore[] = [
  {
    flaw: 'sets time back as often as that arrives',
    rejectedBy: 'writes/clock-back',
    wrong: (honest, state) => ({
      write(token, change, call) {
        const { consideredToMs = 0 } = state.jobs.get(change.job)?.record ?? {};
        const clockBack = change.clockBack && { ...change.clockBack, seenMs: consideredToMs };
        return honest.write(token, { ...change, ...(clockBack && { clockBack }) }, call);
      },
    }),
  },
  {
    flaw: 'has the next leader forget how far time was',
    rejectedBy: 'writes/clock-back',
    wrong: (honest, state) => ({
      claim(token, definitions, adoptFrom, call) {
        const stored = state.jobs.get(definitions[0]?.job ?? '');
        if (stored !== undefined) {
          const { aheadToMs: _, ...record } = stored.record;
          stored.record = record;
        }
        return honest.claim(token, definitions, adoptFrom, call);
      },
    }),
  },
  {
    flaw: 'begins a run that is there',
    rejectedBy: 'writes/begin-once',
    wrong: (honest) => ({
      write: (token, { begin, runs = [], ...change }, call) =>
        honest.write(
          token,
          { ...change, runs: begin === undefined ? runs : [...runs, begin] },
          call,
        ),
    }),
  },
  {
    flaw: 'begins a run that has ended',
    rejectedBy: 'writes/begin-ended',
    wrong: (honest, state) => ({
      write: (token, change, call) => {
        const { runs } = state.jobs.get(change.job) ?? {};
        if (runs?.get(change.begin?.id ?? '')?.endedAtMs) runs.delete(change.begin?.id ?? '');
        return honest.write(token, change, call);
      },
    }),
  },
  {
    flaw: 'moves time on although the run is there',
    rejectedBy: 'writes/begin-ended',
    wrong: (honest) => ({
      async write(token, change, call) {
        const result = await honest.write(token, change, call);
        const { begin: _, ...rest } = change;
        if (result.outcome === 'exists') await honest.write(token, rest, call);
        return result;
      },
    }),
  },
  {
    flaw: 'takes what a former leader writes',
    rejectedBy: 'writes/refusal',
    wrong: (honest, state) => ({
      write: (token, change, call) => {
        const job = state.jobs.get(change.job);
        const installed = job?.record;
        if (job !== undefined && token.term < job.record.term)
          job.record = { ...job.record, term: token.term, holderDigest: token.holder.digest };
        const written = honest.write(token, change, call);
        void written.finally(() => {
          if (job !== undefined && installed !== undefined) job.record = installed;
        });
        return written;
      },
    }),
  },
  {
    flaw: 'lets whoever has a higher term write without a claim',
    rejectedBy: 'writes/not-claimed',
    wrong: (honest, state) => ({
      async write(token, change, call) {
        const { record } = state.jobs.get(change.job) ?? {};
        if (record !== undefined && token.term > record.term)
          await honest.claim(token, [record], undefined, call);
        return await honest.write(token, change, call);
      },
    }),
  },
  {
    flaw: 'shows who claims what stood there before',
    rejectedBy: 'writes/race',
    wrong: (honest) => ({
      async claim(token, definitions, adoptFrom, call) {
        const before = honest.look(
          definitions.map(({ job }) => job),
          call,
        );
        const { jobs } = await before;
        const results = await honest.claim(token, definitions, adoptFrom, call);
        const [view] = jobs;
        return results.map((result) =>
          result.outcome === 'claimed' && view !== undefined
            ? { outcome: 'claimed', view: { ...result.view, open: view.open.slice(0, 2) } }
            : result,
        );
      },
    }),
  },
  {
    flaw: 'begins ticks of a paused job',
    rejectedBy: 'writes/pause',
    wrong: (honest) => ({
      write: (token, { begin, ...change }, call) =>
        honest.write(
          token,
          begin === undefined ? change : { ...change, begin: { ...begin, kind: 'manual' } },
          call,
        ),
    }),
  },
  {
    flaw: 'begins nothing at all while a job is paused',
    rejectedBy: 'writes/pause',
    wrong: (honest, state) => ({
      async write(token, change, call) {
        const { pause } = state.jobs.get(change.job) ?? {};
        if (change.begin !== undefined && pause !== undefined) return { outcome: 'paused' };
        return await honest.write(token, change, call);
      },
    }),
  },
  {
    flaw: 'goes back in time',
    rejectedBy: 'writes/considered',
    wrong: (honest, state) => ({
      async write(token, change, call) {
        const result = await honest.write(token, change, call);
        const job = state.jobs.get(change.job);
        const { consideredToMs } = change;
        if (job !== undefined && consideredToMs !== undefined && result.outcome === 'written')
          job.record = { ...job.record, consideredToMs };
        return result;
      },
    }),
  },
  {
    flaw: 'keeps no progress',
    rejectedBy: 'writes/fields',
    wrong: (honest) => ({
      write: (token, change, call) => {
        const bare = ({ progress: _, ...run }: RunRecord): RunRecord => run;
        const { begin, runs, ...rest } = change;
        return honest.write(
          token,
          {
            ...rest,
            ...(begin !== undefined && { begin: bare(begin) }),
            ...(runs !== undefined && { runs: runs.map(bare) }),
          },
          call,
        );
      },
    }),
  },
  {
    flaw: 'shows the earliest runs first',
    rejectedBy: 'writes/history',
    wrong: (honest) => ({
      runs: async (job, options, call) => (await honest.runs(job, options, call)).reverse(),
    }),
  },
  {
    flaw: 'forgets open runs with the ended ones',
    rejectedBy: 'writes/history',
    wrong: (honest, state) => ({
      async write(token, change, call) {
        const result = await honest.write(token, change, call);
        const { runs } = state.jobs.get(change.job) ?? {};
        if (change.keepRuns !== undefined)
          for (const run of runs?.values() ?? [])
            if (run.endedAtMs === undefined) runs?.delete(run.id);
        return result;
      },
    }),
  },
];
