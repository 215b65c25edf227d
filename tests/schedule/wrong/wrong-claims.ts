import type { ClaimResult } from '../../../src/schedule/index.js';
import type { MemoryJobs } from '../../../src/schedule/memory/index.js';
import type { WrongStore } from './wrong-store.js';

/** What stands there after something was changed behind the store's back. */
function seenAgain(state: MemoryJobs, results: readonly ClaimResult[]): ClaimResult[] {
  return results.map((result) => {
    const job = result.outcome === 'claimed' && state.jobs.get(result.view.record.job);
    return job ? { outcome: 'claimed', view: state.view(job) } : result;
  });
}

export const wrongClaims: readonly WrongStore[] = [
  {
    flaw: 'makes up ticks from before a job was there',
    rejectedBy: 'claims/new-job',
    wrong: (honest, state) => ({
      async claim(token, definitions, adoptFrom, call) {
        const known = new Set(state.jobs.keys());
        const results = await honest.claim(token, definitions, adoptFrom, call);
        for (const [name, job] of state.jobs)
          if (!known.has(name)) job.record = { ...job.record, consideredToMs: 0 };
        return seenAgain(state, results);
      },
    }),
  },
  {
    flaw: 'keeps the definition of the first leader',
    rejectedBy: 'claims/higher-term',
    wrong: (honest, state) => ({
      claim: (token, definitions, adoptFrom, call) =>
        honest.claim(
          token,
          definitions.map((definition) => {
            const { cron, timeZone } = state.jobs.get(definition.job)?.record ?? definition;
            return { ...definition, cron, timeZone };
          }),
          adoptFrom,
          call,
        ),
    }),
  },
  {
    flaw: 'forgets a definition as soon as there is another one',
    rejectedBy: 'claims/changed-definition',
    wrong: (honest, state) => ({
      async claim(token, definitions, adoptFrom, call) {
        const results = await honest.claim(token, definitions, adoptFrom, call);
        for (const job of state.jobs.values()) {
          const { changedAtMs, formerCron, formerTimeZone, ...record } = job.record;
          job.record = record;
        }
        return seenAgain(state, results);
      },
    }),
  },
  {
    flaw: 'takes an equal term for the same holder',
    rejectedBy: 'claims/refusal',
    wrong: (honest, state) => ({
      claim: (token, definitions, adoptFrom, call) => {
        const { digest: holderDigest } = token.holder;
        for (const job of state.jobs.values())
          if (job.record.term === token.term) job.record = { ...job.record, holderDigest };
        return honest.claim(token, definitions, adoptFrom, call);
      },
    }),
  },
  {
    flaw: 'lets nobody claim twice',
    rejectedBy: 'claims/repeated',
    wrong: (honest, state) => ({
      async claim(token, definitions, adoptFrom, call) {
        const installedTerm = state.jobs.get(definitions[0]?.job ?? '')?.record.term;
        if (installedTerm === token.term)
          return definitions.map(() => ({ outcome: 'refused', installedTerm }));
        return await honest.claim(token, definitions, adoptFrom, call);
      },
    }),
  },
  {
    flaw: 'compares terms as texts',
    rejectedBy: 'claims/large-terms',
    wrong: (honest, state) => ({
      async claim(token, definitions, adoptFrom, call) {
        const installedTerm = state.jobs.get(definitions[0]?.job ?? '')?.record.term ?? 0;
        if (String(token.term) < String(installedTerm))
          return definitions.map(() => ({ outcome: 'refused', installedTerm }));
        return await honest.claim(token, definitions, adoptFrom, call);
      },
    }),
  },
  ...[
    { flaw: 'gives a job to any election', isNamed: false },
    { flaw: 'adopts a job whose leader is a later one than was named', isNamed: true },
  ].map(
    ({ flaw, isNamed }): WrongStore => ({
      flaw,
      rejectedBy: 'claims/elsewhere',
      wrong: (honest, state) => ({
        claim: (token, definitions, adoptFrom, call) => {
          const record = state.jobs.get(definitions[0]?.job ?? '')?.record;
          const isMeant = !isNamed || record?.election === adoptFrom?.election;
          return honest.claim(token, definitions, isMeant ? record : adoptFrom, call);
        },
      }),
    }),
  ),
  {
    flaw: 'claims all jobs or none',
    rejectedBy: 'claims/several',
    wrong: (honest) => ({
      async claim(token, definitions, adoptFrom, call) {
        const results = await honest.claim(token, definitions, adoptFrom, call);
        const refusal = results.find(({ outcome }) => outcome === 'refused');
        return refusal === undefined ? results : results.map(() => refusal);
      },
    }),
  },
];
