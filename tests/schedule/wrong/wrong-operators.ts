import { act } from '../../../src/schedule/conformance/scene.js';
import type { JobView } from '../../../src/schedule/index.js';
import type { WrongStore } from './wrong-store.js';

export const wrongOperators: readonly WrongStore[] = [
  {
    flaw: 'keeps the last of two pauses',
    rejectedBy: 'operators/pause',
    wrong: (honest) => ({
      async pause(job, act, call) {
        await honest.resume(job, call);
        return await honest.pause(job, act, call);
      },
    }),
  },
  {
    flaw: 'resumes a job with its next leader',
    rejectedBy: 'operators/pause-survives',
    wrong: (honest) => ({
      async claim(token, definitions, adoptFrom, call) {
        for (const { job } of definitions) await honest.resume(job, call);
        return await honest.claim(token, definitions, adoptFrom, call);
      },
    }),
  },
  {
    flaw: 'asks once more for a run that is there',
    rejectedBy: 'operators/request',
    wrong: (honest, state) => ({
      async request(request, call) {
        const asked = await honest.request(request, call);
        if (asked !== undefined) state.jobs.get(request.job)?.requests.set(asked.id, asked);
        return asked;
      },
    }),
  },
  {
    flaw: 'takes the last request first',
    rejectedBy: 'operators/requests-in-order',
    wrong: (honest) => ({
      async look(jobs, call) {
        const view = await honest.look(jobs, call);
        const turned = (job: JobView) => ({ ...job, requests: [...job.requests].reverse() });
        return { ...view, jobs: view.jobs.map(turned) };
      },
    }),
  },
  {
    flaw: 'ends a run whoever leads its job',
    rejectedBy: 'operators/cancel-over',
    wrong: (honest, state) => ({
      cancel: (job, runId, { over, ...act }, call) => {
        const record = state.jobs.get(job)?.record;
        const now = over && record && { over: record };
        return honest.cancel(job, runId, { ...act, ...now }, call);
      },
    }),
  },
  {
    flaw: 'ends a run, and lets who had begun it write on',
    rejectedBy: 'operators/cancel-over',
    wrong: (honest, state) => ({
      async cancel(job, runId, act, call) {
        const holderDigest = state.jobs.get(job)?.record.holderDigest ?? '';
        const result = await honest.cancel(job, runId, act, call);
        const stored = state.jobs.get(job);
        if (stored !== undefined) stored.record = { ...stored.record, holderDigest };
        return result;
      },
    }),
  },
  {
    flaw: 'cancels runs that have ended',
    rejectedBy: 'operators/cancel',
    wrong: (honest, state) => ({
      async cancel(job, runId, act, call) {
        const result = await honest.cancel(job, runId, act, call);
        return state.jobs.get(job)?.runs.has(runId) ? 'marked' : result;
      },
    }),
  },
  {
    flaw: 'withdraws a request and leaves no trace of it',
    rejectedBy: 'operators/withdraw',
    wrong: (honest, state) => ({
      async cancel(job, runId, act, call) {
        const result = await honest.cancel(job, runId, act, call);
        if (result === 'withdrawn') state.jobs.get(job)?.runs.delete(runId);
        return result;
      },
    }),
  },
  {
    flaw: 'lets a request be made again after it was withdrawn',
    rejectedBy: 'operators/withdraw',
    wrong: (honest, state) => ({
      async request(request, call) {
        const asked = await honest.request(request, call);
        if (asked !== undefined) state.jobs.get(request.job)?.requests.set(asked.id, asked);
        return asked;
      },
    }),
  },
  {
    flaw: 'begins what was withdrawn, once the history has forgotten it',
    rejectedBy: 'operators/withdrawn-and-forgotten',
    wrong: (honest, state) => ({
      write: (token, change, call) => {
        const { id, tickMs: atMs } = change.begin ?? { id: '', tickMs: 0 };
        if (change.doneRequests?.includes(id))
          state.jobs.get(change.job)?.requests.set(id, { id, job: change.job, atMs, ...act });
        return honest.write(token, change, call);
      },
    }),
  },
  {
    flaw: 'withdraws in two steps',
    rejectedBy: 'operators/withdraw-race',
    wrong: (honest, state) => ({
      async cancel(job, runId, act, call) {
        const isAsked = state.jobs.get(job)?.requests.has(runId);
        // Others are let in between the look and the act.
        await honest.look([job], call);
        await honest.look([job], call);
        state.jobs.get(job)?.requests.delete(runId);
        return isAsked ? 'withdrawn' : await honest.cancel(job, runId, act, call);
      },
    }),
  },
  {
    flaw: 'pauses a job that is not there',
    rejectedBy: 'operators/unknown',
    wrong: (honest) => ({
      pause: async (job, act, call) =>
        (await honest.pause(job, act, call)) ?? { ...act, atMs: Date.now() },
    }),
  },
  {
    flaw: 'pauses all jobs for one',
    rejectedBy: 'operators/apart',
    wrong: (honest, state) => ({
      async pause(job, act, call) {
        const pause = await honest.pause(job, act, call);
        for (const other of state.jobs.values()) other.pause ??= pause;
        return pause;
      },
    }),
  },
  {
    flaw: 'takes any limit',
    rejectedBy: 'operators/bad-input',
    wrong: (honest) => ({
      runs: (job, { limit, ...options }, call) =>
        honest.runs(job, { ...options, limit: Math.max(1, limit) }, call),
    }),
  },
];
