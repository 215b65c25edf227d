import assert from 'node:assert/strict';
import { OptionError } from '../../errors/index.js';
import {
  act,
  call,
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
      assert.equal(await other.cancel(job, run.id, act, call), false);
      await write(store, token, { begin: run });
      assert.equal(await other.cancel(job, run.id, act, call), true);
      assert.equal(await other.cancel(job, run.id, { by: 'b', reason: 'again' }, call), true);
      assert.deepEqual((await viewOf(store)).cancellations, [{ runId: run.id, ...act }]);
      await write(store, token, { runs: [ended(run, { state: 'cancelled' })] });
      assert.deepEqual((await viewOf(store)).cancellations, []);
      assert.equal(await other.cancel(job, run.id, act, call), false);
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
      assert.equal(await store.cancel(job, 'settle!1', act, call), false);
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
