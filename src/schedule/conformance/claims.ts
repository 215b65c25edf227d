import assert from 'node:assert/strict';
import { call, claim, claimed, definition, job, runAt, tokenOf, viewOf, write } from './scene.js';
import type { JobStoreCase } from './subject.js';

export const claimCases: readonly JobStoreCase[] = [
  {
    id: 'claims/new-job',
    title: 'a job that is claimed for the first time has considered every tick up to now',
    needs: [],
    run: async ({ store, other }) => {
      const { nowMs: beforeMs } = await store.look([job], call);
      const token = tokenOf(1);
      const view = await claimed(store, token);
      const { nowMs: afterMs } = await other.look([job], call);
      const { consideredToMs, ...record } = view.record;
      assert.ok(consideredToMs >= beforeMs && consideredToMs <= afterMs, `${consideredToMs}`);
      assert.ok(Number.isInteger(consideredToMs));
      assert.deepEqual(record, {
        ...definition,
        election: 'schedule',
        term: 1,
        holderDigest: token.holder.digest,
        holderId: token.holder.id,
      });
      const nothing = { pause: undefined, open: [], latest: undefined };
      assert.deepEqual(view, { record: view.record, ...nothing, requests: [], cancellations: [] });
      assert.deepEqual(await viewOf(other), view);
    },
  },
  {
    id: 'claims/higher-term',
    title: 'a higher term takes a job over with all that stands there, under its own definition',
    needs: [],
    run: async ({ store, other }) => {
      const first = tokenOf(1);
      const { record } = await claimed(store, first);
      const run = runAt(first, 5);
      const consideredToMs = record.consideredToMs + 60_000;
      assert.equal(await write(store, first, { consideredToMs, begin: run }), 'written');
      const second = tokenOf(2);
      const changed = { ...definition, cron: '0 * * * *', timeZone: 'Asia/Tokyo' };
      const view = await claimed(other, second, { definition: changed });
      assert.deepEqual(view.open, [run]);
      assert.deepEqual(view.latest, run);
      assert.deepEqual(view.record, {
        ...changed,
        ...{ election: 'schedule', term: 2, consideredToMs },
        holderDigest: second.holder.digest,
        holderId: second.holder.id,
      });
    },
  },
  {
    id: 'claims/changed-definition',
    title:
      'whoever changes the definition leaves the former one there, until ticks after it are considered',
    needs: [],
    run: async ({ store, other }) => {
      const { record } = await claimed(store, tokenOf(1));
      // By then time has passed since the job was made.
      while ((await store.look([job], call)).nowMs <= record.consideredToMs);
      const daily = { ...definition, cron: '@daily' };
      const { record: changed } = await claimed(other, tokenOf(2), { definition: daily });
      const { changedAtMs = 0 } = changed;
      assert.ok(changedAtMs > record.consideredToMs, `${changedAtMs}`);
      assert.equal(changed.formerCron, definition.cron);
      assert.equal(changed.formerTimeZone, definition.timeZone);
      const again = await claimed(store, tokenOf(3), { definition: daily });
      assert.equal(again.record.changedAtMs, changedAtMs, 'the same definition changes nothing');
      const token = tokenOf(4);
      const hourly = { ...definition, cron: '@hourly' };
      const third = await claimed(other, token, { definition: hourly });
      assert.equal(third.record.formerCron, definition.cron, 'of the second, nothing was begun');
      const consideredToMs = (third.record.changedAtMs ?? 0) + 1;
      await write(other, token, { consideredToMs });
      const { record: last } = await claimed(store, tokenOf(5), { definition: hourly });
      assert.deepEqual([last.changedAtMs, last.formerCron], [undefined, undefined]);
    },
  },
  {
    id: 'claims/refusal',
    title: 'a lower term, and an equal one of another holder, are refused and change nothing',
    needs: [],
    run: async ({ store, other }) => {
      await claimed(store, tokenOf(5));
      const before = await viewOf(store);
      for (const term of [4, 5]) {
        const result = await claim(other, tokenOf(term));
        assert.deepEqual(result, { outcome: 'refused', installedTerm: 5 });
      }
      assert.deepEqual(await viewOf(store), before);
    },
  },
  {
    id: 'claims/repeated',
    title: 'the same holder may claim again',
    needs: [],
    run: async ({ store, other }) => {
      const token = tokenOf(5);
      const first = await claimed(store, token);
      assert.deepEqual(await claimed(other, token), first);
    },
  },
  {
    id: 'claims/large-terms',
    title: 'terms are compared as the whole numbers they are',
    needs: [],
    run: async ({ store, other }) => {
      // Of those that a store may have granted by now.
      const highest = 100_000_000_000_007;
      await claimed(store, tokenOf(9));
      await claimed(other, tokenOf(10));
      await claimed(store, tokenOf(highest - 1));
      assert.equal((await claimed(other, tokenOf(highest))).record.term, highest);
      const result = await claim(store, tokenOf(highest - 1));
      assert.deepEqual(result, { outcome: 'refused', installedTerm: highest });
    },
  },
  {
    id: 'claims/elsewhere',
    title: "another election's job is left alone, unless the leader it has is named",
    needs: [],
    run: async ({ store, other }) => {
      await claimed(store, tokenOf(5, 'schedule'));
      const before = await viewOf(store);
      const spread = tokenOf(3, 'schedule/settle');
      const elsewhere = { outcome: 'elsewhere', election: 'schedule', term: 5 };
      assert.deepEqual(await claim(other, spread), elsewhere);
      const others = [
        { election: 'another', term: 5 },
        { election: 'schedule', term: 4 },
      ];
      for (const adoptFrom of others)
        assert.deepEqual(await claim(other, spread, { adoptFrom }), elsewhere);
      assert.deepEqual(await viewOf(store), before);
      const view = await claimed(other, spread, { adoptFrom: { election: 'schedule', term: 5 } });
      assert.equal(view.record.election, 'schedule/settle');
      assert.equal(view.record.term, 3);
    },
  },
  {
    id: 'claims/several',
    title: 'several jobs are claimed at once, each by itself',
    needs: [],
    run: async ({ store }) => {
      await claimed(store, tokenOf(9), { definition: { ...definition, job: 'taken' } });
      const token = tokenOf(2);
      const names = ['new', 'taken', 'naïve – 名前'];
      const results = await store.claim(
        token,
        names.map((name) => ({ ...definition, job: name })),
        undefined,
        call,
      );
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        ['claimed', 'refused', 'claimed'],
      );
      const { jobs } = await store.jobs(call);
      assert.deepEqual(
        jobs.map(({ record }) => record.job),
        [...names].sort(),
      );
    },
  },
];
