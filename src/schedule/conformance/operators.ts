import assert from 'node:assert/strict';
import { OptionError } from '../../errors/index.js';
import {
  act,
  call,
  claim,
  claimed,
  definition,
  ended,
  job,
  runAt,
  tokenOf,
  viewOf,
  write,
} from './scene.js';
import type { JobStoreCase } from './subject.js';

export const operatorCases: readonly JobStoreCase[] = [
  {
    id: 'operators/pause',
    title: 'the first pause stays until it is resumed, and says who wanted it',
    needs: [],
    run: async ({ store, other }) => {
      await claimed(store, tokenOf(1));
      const pause = await other.pause(job, act, call);
      assert.deepEqual({ by: pause?.by, reason: pause?.reason }, act);
      assert.deepEqual(await store.pause(job, { by: 'another', reason: 'later' }, call), pause);
      assert.deepEqual((await viewOf(store)).pause, pause);
      assert.equal(await other.resume(job, call), true);
      assert.equal(await store.resume(job, call), false);
      assert.equal((await viewOf(store)).pause, undefined);
    },
  },
  {
    id: 'operators/pause-survives',
    title: 'a pause outlasts the leader under which it was made',
    needs: [],
    run: async ({ store, other }) => {
      await claimed(store, tokenOf(1));
      const pause = await store.pause(job, act, call);
      assert.deepEqual((await claimed(other, tokenOf(2))).pause, pause);
    },
  },
  {
    id: 'operators/request',
    title: 'a request is there until a leader has made a run of it, however often it is sent',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      const request = { id: 'settle!1', job, ...act };
      const asked = await other.request(request, call);
      assert.deepEqual({ ...asked, atMs: 0 }, { ...request, atMs: 0 });
      assert.deepEqual(await other.request(request, call), asked);
      assert.deepEqual((await viewOf(store)).requests, [asked]);
      const run = runAt(token, 5, { id: request.id, kind: 'manual' });
      await write(store, token, { begin: run, doneRequests: [request.id] });
      assert.deepEqual((await viewOf(store)).requests, []);
      await other.request(request, call);
      assert.deepEqual((await viewOf(store)).requests, [], 'it has become a run');
    },
  },
  {
    id: 'operators/requests-in-order',
    title: 'requests are kept in the order in which they came',
    needs: [],
    run: async ({ store }) => {
      await claimed(store, tokenOf(1));
      const ids = ['settle!b', 'settle!a', 'settle!c'];
      for (const id of ids) await store.request({ id, job, ...act }, call);
      const { requests } = await viewOf(store);
      assert.deepEqual(
        requests.map(({ id }) => id),
        ids,
      );
    },
  },
  {
    id: 'operators/cancel',
    title: 'a run can be marked as cancelled until it has ended',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      const run = runAt(token, 5);
      assert.equal(await other.cancel(job, run.id, act, call), 'none');
      await write(store, token, { begin: run });
      assert.equal(await other.cancel(job, run.id, act, call), 'marked');
      assert.equal(await other.cancel(job, run.id, { by: 'b', reason: 'again' }, call), 'marked');
      assert.deepEqual((await viewOf(store)).cancellations, [{ runId: run.id, ...act }]);
      await write(store, token, { runs: [ended(run, { state: 'cancelled' })] });
      assert.deepEqual((await viewOf(store)).cancellations, []);
      assert.equal(await other.cancel(job, run.id, act, call), 'none');
    },
  },
  {
    id: 'operators/cancel-over',
    title:
      'a run whose leader leads no more is ended by who cancels it, and that leader is refused',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(5);
      const { record } = await claimed(store, token);
      const run = runAt(token, 5, { state: 'waiting', retryAtMs: 1, progress: '1' });
      await write(store, token, { begin: run });
      const over = { election: record.election, term: 5 };
      for (const another of [
        { ...over, term: 4 },
        { ...over, election: 'another' },
      ])
        assert.equal(await other.cancel(job, run.id, { ...act, over: another }, call), 'marked');
      assert.deepEqual((await viewOf(store)).open, [run]);
      assert.equal(await other.cancel(job, run.id, { ...act, over }, call), 'ended');
      assert.equal(await store.cancel(job, run.id, { ...act, over }, call), 'ended');
      assert.equal(await store.cancel(job, run.id, act, call), 'none');
      const view = await viewOf(store);
      assert.deepEqual([view.open, view.cancellations], [[], []]);
      const { retryAtMs: _, ...rest } = run;
      const endedAtMs = view.latest?.endedAtMs ?? 0;
      assert.ok(endedAtMs >= record.consideredToMs);
      const { by, reason: detail } = act;
      assert.deepEqual(view.latest, { ...rest, state: 'cancelled', endedAtMs, by, detail });
      assert.deepEqual({ ...view.record, holderDigest: record.holderDigest }, record);
      const late = await store.write(token, { job, runs: [ended(run)] }, call);
      assert.deepEqual(late, { outcome: 'refused', installedTerm: 5 });
      assert.deepEqual(await claim(store, token), { outcome: 'refused', installedTerm: 5 });
      await claimed(store, tokenOf(6));
    },
  },
  {
    id: 'operators/withdraw',
    title: 'a request is withdrawn for good: it is gone, in the history, and not made again',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      const asked = await store.request({ id: 'settle!1', job, ...act }, call);
      await store.request({ id: 'settle!2', job, ...act }, call);
      const why = { by: 'somebody', reason: 'not needed' };
      assert.equal(await other.cancel(job, 'settle!1', why, call), 'withdrawn');
      assert.equal(await store.cancel(job, 'settle!1', act, call), 'withdrawn', 'however often');
      await store.request({ id: 'settle!1', job, ...act }, call);
      const view = await viewOf(store);
      assert.deepEqual(
        view.requests.map(({ id }) => id),
        ['settle!2'],
      );
      assert.deepEqual([view.open, view.cancellations], [[], []]);
      const [run] = await other.runs(job, { limit: 10 }, call);
      assert.deepEqual(
        { ...run, beganAtMs: 0, endedAtMs: 0 },
        {
          ...{ id: 'settle!1', job, kind: 'manual', tickMs: asked?.atMs, state: 'withdrawn' },
          ...{ term: 0, holderId: '', attempt: 0, failureCount: 0, interruptionCount: 0 },
          ...{ by: 'somebody', detail: 'not needed', beganAtMs: 0, endedAtMs: 0 },
        },
      );
      const begin = runAt(token, 5, { id: 'settle!1', kind: 'manual' });
      const change = { job, begin, doneRequests: ['settle!1'], consideredToMs: 9e15 };
      assert.deepEqual(await store.write(token, change, call), { outcome: 'exists', run });
      assert.deepEqual((await viewOf(store)).record, view.record, 'all of it or nothing');
    },
  },
  {
    id: 'operators/withdrawn-and-forgotten',
    title: 'what was withdrawn does not begin either when the history has forgotten it',
    needs: [],
    run: async ({ store }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      await store.request({ id: 'settle!1', job, ...act }, call);
      await store.cancel(job, 'settle!1', act, call);
      const later = ended(runAt(token, 5, { tickMs: 9e12 }));
      await write(store, token, { runs: [later], keepRuns: 1 });
      assert.deepEqual(await store.runs(job, { limit: 10 }, call), [later]);
      const begin = runAt(token, 10, { id: 'settle!1', kind: 'manual' });
      assert.equal(await write(store, token, { begin, doneRequests: ['settle!1'] }), 'withdrawn');
      assert.deepEqual((await viewOf(store)).open, []);
    },
  },
  {
    id: 'operators/withdraw-race',
    title:
      'of a leader that begins what was asked for and whoever withdraws it, one comes too late',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      for (let round = 0; round < 20; round++) {
        const id = `settle!${round}`;
        await store.request({ id, job, ...act }, call);
        const begin = runAt(token, round, { id, kind: 'manual' });
        const beginning = () => write(store, token, { begin, doneRequests: [id] });
        const cancelling = () => other.cancel(job, id, act, call);
        // Whoever is asked first: both orders are seen.
        const [begun, cancelled] =
          round % 2 === 0
            ? await Promise.all([beginning(), cancelling()])
            : (await Promise.all([cancelling(), beginning()])).reverse();
        const { open, requests, cancellations } = await viewOf(store);
        const has = [open.length, cancellations.length];
        if (begun === 'written') assert.deepEqual([cancelled, ...has], ['marked', 1, 1]);
        else assert.deepEqual([begun, cancelled, ...has], ['exists', 'withdrawn', 0, 0]);
        assert.deepEqual(requests, []);
        await write(store, token, { runs: open.map((run) => ended(run)) });
      }
    },
  },
  {
    id: 'operators/unknown',
    title: 'of a job that is not there nothing is kept',
    needs: [],
    run: async ({ store }) => {
      assert.equal(await store.pause(job, act, call), undefined);
      assert.equal(await store.resume(job, call), false);
      assert.equal(await store.request({ id: 'settle!1', job, ...act }, call), undefined);
      assert.equal(await store.cancel(job, 'settle!1', act, call), 'none');
      assert.deepEqual((await store.look([job], call)).jobs, []);
      assert.deepEqual((await store.jobs(call)).jobs, []);
      const view = await claimed(store, tokenOf(1));
      assert.deepEqual([view.pause, view.requests], [undefined, []]);
    },
  },
  {
    id: 'operators/apart',
    title: 'what is wanted of one job is not wanted of another',
    needs: [],
    run: async ({ store }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      await claimed(store, token, { definition: { ...definition, job: 'another' } });
      await store.pause(job, act, call);
      await store.request({ id: 'settle!1', job, ...act }, call);
      await write(store, token, { begin: runAt(token, 5, { kind: 'manual', id: 'settle!2' }) });
      await store.cancel(job, 'settle!2', act, call);
      const view = await viewOf(store, 'another');
      assert.deepEqual(
        { ...view, record: undefined },
        {
          ...{ record: undefined, pause: undefined, open: [], latest: undefined },
          ...{ requests: [], cancellations: [] },
        },
      );
    },
  },
  {
    id: 'operators/bad-input',
    title: 'bad input is refused before anything is sent',
    needs: [],
    run: async ({ store }) => {
      const bad = async (asked: Promise<unknown>) => assert.rejects(asked, OptionError);
      await bad(store.look(['a/b'], call));
      await bad(store.look([job], { timeoutMs: 0 }));
      await bad(store.runs(job, { limit: 0 }, call));
      await bad(store.runs(job, { limit: 1, beforeMs: 1.5 }, call));
      await bad(store.pause(job, { by: '', reason: 'x' }, call));
      await bad(store.cancel(job, '', act, call));
      await bad(store.request({ id: 'x\n', job, ...act }, call));
      await bad(store.claim(tokenOf(1), [{ ...definition, job: '' }], undefined, call));
    },
  },
];
