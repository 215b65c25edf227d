import assert from 'node:assert/strict';
import { RecordCorruptError } from '../../errors/index.js';
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

const other = { ...definition, job: 'another' };
const forgotten = { outcome: 'forgotten' } as const;

/** What becomes of a job that is removed, and of one that cannot be read. */
export const removalCases: readonly JobStoreCase[] = [
  {
    id: 'removals/forget',
    title: 'nothing is left of a job that is forgotten, and all of the others',
    needs: [],
    run: async ({ store, other: second }) => {
      const token = tokenOf(1);
      const { record } = await claimed(store, token);
      await claimed(store, token, { definition: other });
      await write(store, token, { runs: [ended(runAt(token, 5))] });
      await store.write(
        token,
        { job: other.job, runs: [ended(runAt(token, 5, { job: other.job }))] },
        call,
      );
      for (const name of [job, other.job]) {
        await store.request({ id: `${name}!1`, job: name, ...act }, call);
        await store.pause(name, act, call);
      }
      const before = await viewOf(store, other.job);
      assert.deepEqual(await second.forget(job, record, call), forgotten);
      assert.deepEqual((await store.look([job], call)).jobs, []);
      assert.deepEqual(await store.runs(job, { limit: 10 }, call), []);
      assert.deepEqual(await store.forget(job, record, call), { outcome: 'unknown' });
      const change = { job, begin: runAt(token, 10) };
      const refused = { outcome: 'refused', installedTerm: 0 };
      assert.deepEqual(await store.write(token, change, call), refused);
      assert.deepEqual((await store.jobs(call)).jobs, [before]);
      const anew = await claimed(store, tokenOf(1));
      assert.ok(anew.record.consideredToMs >= record.consideredToMs);
      assert.deepEqual(
        { ...anew, record: undefined },
        {
          ...{ record: undefined, pause: undefined, open: [], latest: undefined },
          ...{ requests: [], cancellations: [] },
        },
      );
    },
  },
  {
    id: 'removals/open',
    title: 'a job with a run that has not ended is not forgotten',
    needs: [],
    run: async ({ store }) => {
      const token = tokenOf(1);
      const { record } = await claimed(store, token);
      const run = runAt(token, 5);
      await write(store, token, { begin: run });
      await store.request({ id: 'settle!1', job, ...act }, call);
      const before = await viewOf(store);
      assert.deepEqual(await store.forget(job, record, call), { outcome: 'open', run });
      assert.deepEqual(await viewOf(store), before);
      await write(store, token, { runs: [ended(run)] });
      assert.deepEqual(await store.forget(job, record, call), forgotten);
    },
  },
  {
    id: 'removals/changed',
    title: 'a job that somebody has claimed since is not forgotten',
    needs: [],
    run: async ({ store }) => {
      const { record } = await claimed(store, tokenOf(1));
      const { record: now } = await claimed(store, tokenOf(2));
      const { election, term } = now;
      for (const seen of [record, { election: 'another', term }, undefined])
        assert.deepEqual(await store.forget(job, seen, call), {
          ...{ outcome: 'changed', election, term },
        });
      assert.deepEqual((await viewOf(store)).record, now);
    },
  },
  {
    id: 'removals/race',
    title: 'of a run that begins and a removal, one comes too late',
    needs: [],
    run: async ({ store, other: second }) => {
      for (let term = 1; term <= 20; term++) {
        const token = tokenOf(term);
        const { record } = await claimed(store, token);
        const begin = runAt(token, term);
        const beginning = () => write(store, token, { begin });
        const forgetting = async () => (await second.forget(job, record, call)).outcome;
        const [begun, removed] =
          term % 2 === 0
            ? await Promise.all([beginning(), forgetting()])
            : (await Promise.all([forgetting(), beginning()])).reverse();
        const { jobs } = await store.look([job], call);
        const left = jobs.map(({ open }) => open.length);
        if (begun === 'written') assert.deepEqual([removed, left], ['open', [1]]);
        else assert.deepEqual([begun, removed, left], ['refused', 'forgotten', []]);
        if (begun === 'written') await write(store, token, { runs: [ended(begin)] });
      }
    },
  },
  {
    id: 'removals/corrupt',
    title:
      'a job that cannot be read is told of, keeps nobody from the others, and can be forgotten',
    needs: ['corrupt'],
    run: async ({ store, controls }) => {
      const token = tokenOf(1);
      const { record } = await claimed(store, token);
      await claimed(store, token, { definition: other });
      await controls.corrupt?.(job);
      const successor = tokenOf(2);
      const results = await store.claim(successor, [definition, other], undefined, call);
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        ['corrupt', 'claimed'],
      );
      for (const view of [await store.look([job, other.job], call), await store.jobs(call)]) {
        assert.deepEqual(
          view.jobs.map((one) => one.record.job),
          [other.job],
        );
        const [unread] = view.corrupt;
        assert.deepEqual([view.corrupt.length, unread?.job], [1, job]);
        assert.ok(unread?.error instanceof RecordCorruptError);
      }
      const begun = store.write(token, { job, begin: runAt(token, 5) }, call);
      await assert.rejects(begun, RecordCorruptError);
      await assert.rejects(store.forget(job, record, call), RecordCorruptError);
      assert.deepEqual(await store.forget(job, undefined, call), forgotten);
      await claimed(store, successor);
      assert.deepEqual((await store.jobs(call)).corrupt, []);
    },
  },
];
