import assert from 'node:assert/strict';
import type { WriteResult } from '../contract.js';
import { longestProgressBytes } from '../records.js';
import { act, call, claimed, ended, idsOf, job, runAt, tokenOf, viewOf, write } from './scene.js';
import type { JobStoreCase } from './subject.js';

export const writeCases: readonly JobStoreCase[] = [
  {
    id: 'writes/begin-once',
    title: 'of many who begin the run of one tick at once, one does, and the others are shown it',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      const begun = Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? store : other).write(
          token,
          { job, begin: runAt(token, 5, { detail: `number ${index}` }) },
          call,
        ),
      );
      const results = await Promise.all(begun);
      const [stored] = (await viewOf(store)).open;
      assert.equal(results.filter(({ outcome }) => outcome === 'written').length, 1);
      const others = results.filter((result) => result.outcome !== 'written') as WriteResult[];
      for (const result of others) assert.deepEqual(result, { outcome: 'exists', run: stored });
      const index = results.findIndex(({ outcome }) => outcome === 'written');
      assert.equal(stored?.detail, `number ${index}`);
    },
  },
  {
    id: 'writes/begin-ended',
    title: 'a run that has ended is not begun again',
    needs: [],
    run: async ({ store }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      const run = runAt(token, 5);
      await write(store, token, { begin: run });
      await write(store, token, { runs: [ended(run)] });
      const result = await store.write(token, { job, begin: run, consideredToMs: 9e15 }, call);
      assert.deepEqual(result, { outcome: 'exists', run: ended(run) });
      assert.ok((await viewOf(store)).record.consideredToMs < 9e15, 'all of it or nothing');
    },
  },
  {
    id: 'writes/refusal',
    title: 'who does not lead any more writes nothing, and is told the term that is installed',
    needs: [],
    run: async ({ store, other }) => {
      const old = tokenOf(1);
      await claimed(store, old);
      const run = runAt(old, 5);
      await write(store, old, { begin: run });
      await claimed(other, tokenOf(2));
      const before = await viewOf(other);
      const changes = [
        { begin: runAt(old, 10) },
        { runs: [ended(run)] },
        { consideredToMs: 9e15 },
        { doneRequests: ['some'], keepRuns: 1 },
      ];
      for (const change of changes) {
        const result = await store.write(old, { job, ...change }, call);
        assert.deepEqual(result, { outcome: 'refused', installedTerm: 2 });
      }
      assert.deepEqual(await viewOf(other), before);
    },
  },
  {
    id: 'writes/not-claimed',
    title: 'who has not claimed writes nothing, be its term the highest',
    needs: [],
    run: async ({ store }) => {
      const early = await store.write(tokenOf(1), { job, consideredToMs: 1 }, call);
      assert.deepEqual(early, { outcome: 'refused', installedTerm: 0 });
      await claimed(store, tokenOf(1));
      for (const token of [tokenOf(1), tokenOf(2), tokenOf(1, 'another')]) {
        const result = await store.write(token, { job, begin: runAt(token, 5) }, call);
        assert.deepEqual(result, { outcome: 'refused', installedTerm: 1 });
      }
      assert.deepEqual((await viewOf(store)).open, []);
    },
  },
  {
    id: 'writes/race',
    title: 'once a successor has claimed, nothing of its predecessor comes behind',
    needs: [],
    run: async ({ store, other }) => {
      for (let term = 1; term <= 20; term += 2) {
        const old = tokenOf(term);
        await claimed(store, old);
        const writes = Array.from({ length: 5 }, (_, index) =>
          store.write(old, { job, begin: runAt(old, term * 10 + index) }, call),
        );
        const seen = await claimed(other, tokenOf(term + 1));
        const results = await Promise.all(writes);
        const written = results.filter(({ outcome }) => outcome === 'written').length;
        const before = seen.open.filter((run) => run.term === term).length;
        assert.equal(before, written, 'the claim shows all that was written, and nothing follows');
        assert.deepEqual((await viewOf(other)).open, seen.open);
      }
    },
  },
  {
    id: 'writes/pause',
    title: 'no tick begins while the job is paused; what was asked for does, and what runs goes on',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      const running = runAt(token, 5);
      await write(store, token, { begin: running });
      await other.pause(job, act, call);
      const before = await viewOf(store);
      const consideredToMs = before.record.consideredToMs + 1;
      assert.equal(
        await write(store, token, { begin: runAt(token, 10), consideredToMs }),
        'paused',
      );
      assert.deepEqual(await viewOf(store), before);
      const manual = runAt(token, 11, { id: 'by hand', kind: 'manual' });
      assert.equal(await write(store, token, { begin: manual }), 'written');
      assert.equal(await write(store, token, { runs: [ended(running)] }), 'written');
      assert.equal(await other.resume(job, call), true);
      assert.equal(await write(store, token, { begin: runAt(token, 10) }), 'written');
    },
  },
  {
    id: 'writes/considered',
    title: 'the time up to which ticks are considered never falls',
    needs: [],
    run: async ({ store }) => {
      const token = tokenOf(1);
      const { consideredToMs } = (await claimed(store, token)).record;
      await write(store, token, { consideredToMs: consideredToMs + 500 });
      await write(store, token, { consideredToMs });
      await write(store, token, {});
      assert.equal((await viewOf(store)).record.consideredToMs, consideredToMs + 500);
    },
  },
  {
    id: 'writes/clock-back',
    title: 'it falls when the clock was set back, once, and how far it was is kept',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(1);
      const { record } = await claimed(store, token);
      const toMs = record.consideredToMs;
      const seenMs = toMs + 3_600_000;
      await write(store, token, { consideredToMs: seenMs });
      const clockBack = { seenMs, toMs };
      await write(store, token, { clockBack: { seenMs: seenMs - 1, toMs } });
      const late = await other.write(tokenOf(2), { job, clockBack }, call);
      assert.deepEqual(late, { outcome: 'refused', installedTerm: 1 });
      assert.equal((await viewOf(store)).record.consideredToMs, seenMs);
      await write(store, token, { clockBack });
      assert.deepEqual((await viewOf(store)).record, { ...record, aheadToMs: seenMs });
      await write(store, token, { consideredToMs: toMs + 500 });
      await write(store, token, { clockBack });
      const { consideredToMs, aheadToMs } = (await claimed(other, tokenOf(3))).record;
      assert.deepEqual([consideredToMs, aheadToMs], [toMs + 500, seenMs]);
    },
  },
  {
    id: 'writes/fields',
    title: 'a run is read as it was written, whatever its texts hold',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      const text = 'quote\' " \\ {brace} %s $1 \n 名前 🙂';
      const run = runAt(token, 5, {
        ...{ state: 'waiting', attempt: 3, failureCount: 1, interruptionCount: 1 },
        ...{ retryAtMs: Date.UTC(2026, 0, 2), detail: text, by: text },
        progress: JSON.stringify('x'.repeat(longestProgressBytes - 2)),
      });
      await write(store, token, { begin: run });
      assert.deepEqual((await viewOf(other)).open, [run]);
      const skipped = ended(runAt(token, 10), {
        ...{ state: 'skipped', skippedBeforeMs: 1e12, skippedCount: 7, attempt: 0 },
      });
      const { retryAtMs: _, progress: __, ...rest } = run;
      const final = ended(rest);
      await write(store, token, { runs: [skipped, final] });
      const view = await viewOf(other);
      assert.deepEqual(view.open, []);
      assert.deepEqual(view.latest, skipped);
      assert.deepEqual(await other.runs(job, { limit: 10 }, call), [skipped, final]);
    },
  },
  {
    id: 'writes/history',
    title:
      'runs are read from the latest tick on, page by page, and the earliest that have ended go',
    needs: [],
    run: async ({ store }) => {
      const token = tokenOf(1);
      await claimed(store, token);
      const runs = [1, 2, 3, 4, 5, 6].map((minute) => runAt(token, minute));
      for (const run of runs) await write(store, token, { begin: run });
      const [first, ...others] = runs;
      await write(store, token, { runs: others.map((run) => ended(run)) });
      const latest = await store.runs(job, { limit: 2 }, call);
      assert.deepEqual(idsOf(latest), idsOf([...runs].reverse().slice(0, 2)));
      const beforeMs = latest[1]?.tickMs ?? 0;
      const next = await store.runs(job, { limit: 2, beforeMs }, call);
      assert.deepEqual(idsOf(next), idsOf([...runs].reverse().slice(2, 4)));
      await write(store, token, { keepRuns: 2 });
      const kept = await store.runs(job, { limit: 10 }, call);
      assert.deepEqual(
        idsOf(kept),
        idsOf([runs[5], runs[4], first].filter((run) => run !== undefined)),
      );
      assert.deepEqual(await store.runs('another', { limit: 10 }, call), []);
    },
  },
];
