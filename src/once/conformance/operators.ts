import assert from 'node:assert/strict';
import { settlementCount } from '../records.js';
import {
  act,
  beginning,
  begun,
  call,
  dayMs,
  done,
  ended,
  ending,
  failed,
  freshNonce,
  key,
  longMs,
  notApplied,
  read,
  refused,
  settling,
  shortMs,
} from './scene.js';
import type { OnceCase } from './subject.js';

const free = { kind: 'not-applied', keepMs: dayMs } as const;

export const operatorCases: readonly OnceCase[] = [
  {
    id: 'operators/settle-done',
    title: 'a key of unknown outcome is settled as done, with its result and who said so',
    needs: [],
    run: async ({ store, other }) => {
      const { record: before } = await ended(store, failed);
      const result = await other.settle(settling(), call);
      assert.equal(result.outcome, 'settled');
      const record = await read(store);
      assert.deepEqual(record, result.record);
      const { endedAtMs = 0 } = record;
      const settlement = { attempt: 1, outcome: 'done', ...act, atMs: endedAtMs };
      assert.deepEqual(record, {
        ...{ key, state: 'done', attempt: 1, startedBy: 'tester-1' },
        ...{ startedAtMs: before.startedAtMs, deadlineAtMs: before.deadlineAtMs },
        ...{ remainingMs: 0, endedAtMs, expiresAtMs: endedAtMs + dayMs },
        ...{ result: '{"receipt":8}', settlements: [settlement] },
      });
      assert.equal((await store.begin(beginning(), call)).outcome, 'done');
    },
  },
  {
    id: 'operators/settle-not-applied',
    title: 'a key of unknown outcome is settled as not applied, and may be begun',
    needs: [],
    run: async ({ store, other, pass }) => {
      await begun(store, { timeoutMs: shortMs });
      await pass(shortMs + 1);
      const result = await other.settle(settling({ end: free }), call);
      assert.equal(result.outcome, 'settled');
      const record = await read(store);
      assert.deepEqual([record.state, record.detail], ['free', act.reason]);
      const next = await begun(store);
      assert.equal(next.record.attempt, 2);
      const [settlement] = (await read(other)).settlements;
      const { endedAtMs: atMs } = record;
      assert.deepEqual(settlement, { attempt: 1, outcome: 'not-applied', ...act, atMs });
    },
  },
  {
    id: 'operators/settle-again',
    title: 'the same settlement again changes nothing; another one is refused',
    needs: [],
    run: async ({ store, other }) => {
      await ended(store, failed);
      const request = settling();
      const { record } = await store.settle(request, call);
      assert.deepEqual(await other.settle(request, call), { outcome: 'settled', record });
      const second = await other.settle(settling({ end: free }), call);
      assert.deepEqual(second, { outcome: 'refused', record });
      assert.deepEqual(await read(store), record);
    },
  },
  {
    id: 'operators/settle-refused',
    title: 'what is absent, under way, done or free is not settled',
    needs: [],
    run: async ({ store, other }) => {
      const refusal = await store.settle(settling({ end: free }), call);
      assert.deepEqual(refusal, { outcome: 'refused', record: undefined });
      const { nonce } = await begun(store);
      const early = await other.settle(settling({ end: free }), call);
      assert.deepEqual([early.outcome, early.record?.state], ['refused', 'started']);
      const { record } = await store.end(ending(nonce), call);
      assert.deepEqual(await other.settle(settling({ end: free }), call), {
        outcome: 'refused',
        record,
      });
      const freed = await ended(store, notApplied, { key: 'freed' });
      assert.deepEqual(await other.settle(settling({ key: 'freed' }), call), {
        outcome: 'refused',
        record: freed.record,
      });
    },
  },
  {
    id: 'operators/settle-another',
    title: 'who means another attempt settles nothing',
    needs: [],
    run: async ({ store }) => {
      const { record } = await ended(store, failed);
      const { attempt, startedAtMs } = record;
      for (const of of [
        { attempt: attempt + 1, startedAtMs },
        { attempt, startedAtMs: startedAtMs + 1 },
      ])
        assert.deepEqual(await store.settle(settling({ of }), call), {
          outcome: 'refused',
          record,
        });
      const meant = await store.settle(settling({ of: { attempt, startedAtMs } }), call);
      assert.equal(meant.outcome, 'settled');
    },
  },
  {
    id: 'operators/settlements',
    title: 'of very many settlements the latest are kept',
    needs: [],
    run: async ({ store }) => {
      for (let attempt = 1; attempt <= settlementCount + 2; attempt += 1) {
        await ended(store, failed);
        const reason = `it's | "${attempt}" \\ 名前`;
        const { outcome } = await store.settle(settling({ end: free, reason }), call);
        assert.equal(outcome, 'settled');
      }
      const { settlements, attempt } = await read(store);
      assert.equal(attempt, settlementCount + 2);
      assert.deepEqual(
        settlements.map((one) => [one.attempt, one.reason]),
        Array.from({ length: settlementCount }, (_, index) => [
          index + 3,
          `it's | "${index + 3}" \\ 名前`,
        ]),
      );
      const { record } = await ended(store, done);
      assert.deepEqual(record.settlements, settlements);
    },
  },
  {
    id: 'operators/unknown',
    title: 'keys of unknown outcome are listed by their deadlines, page by page; no others are',
    needs: [],
    run: async ({ store, other, pass }) => {
      await ended(store, failed, { key: 'failed', timeoutMs: 3_600_000 });
      for (const name of ['c', 'a', 'b']) await begun(store, { key: name, timeoutMs: shortMs });
      await begun(store, { key: 'under way' });
      await ended(store, done, { key: 'done' });
      await ended(store, notApplied, { key: 'free' });
      await pass(shortMs + 1);
      const all = await other.unknown({ limit: 10 }, call);
      for (const record of all) assert.deepEqual(record, await read(other, record.key));
      const keys = all.map((record) => record.key);
      assert.deepEqual([...keys].sort(), ['a', 'b', 'c', 'failed']);
      assert.equal(keys.at(-1), 'failed', 'its deadline is the last');
      const deadlines = all.map(({ deadlineAtMs }) => deadlineAtMs);
      assert.deepEqual(
        deadlines,
        [...deadlines].sort((one, two) => one - two),
      );
      const paged: string[] = [];
      for (let after = all[-1]; ; ) {
        const [record, ...more] = await store.unknown({ limit: 1, after }, call);
        assert.deepEqual(more, []);
        if (record === undefined) break;
        paged.push(record.key);
        assert.ok(paged.length <= keys.length, 'a page begins after the one before');
        after = record;
      }
      assert.deepEqual(paged, keys);
      await store.settle(settling({ key: 'a' }), call);
      await store.settle(settling({ key: 'failed', end: free }), call);
      const left = await other.unknown({ limit: 10 }, call);
      assert.deepEqual(left.map((record) => record.key).sort(), ['b', 'c']);
    },
  },
  {
    id: 'operators/unknown-repeated',
    title: 'an attempt that was repeated, or ended late, is not listed any more',
    needs: [],
    run: async ({ store }) => {
      const { record } = await ended(store, failed);
      const late = await ended(store, failed, { key: 'late' });
      const { attempt, startedAtMs } = record;
      await begun(store, { repeat: { attempt, startedAtMs, ...act } });
      await store.end(ending(late.nonce, done, 'late'), call);
      assert.deepEqual(await store.unknown({ limit: 10 }, call), []);
    },
  },
  {
    id: 'operators/clock-set-back',
    title:
      'after the clock was set back an attempt is under way for its own time at most, from when somebody asks for it',
    needs: ['setBack'],
    run: async ({ store, other, controls, pass }) => {
      await begun(store, { keepUnknownMs: dayMs });
      await controls.setBack?.(key, 10 * dayMs);
      assert.ok((await read(other)).remainingMs <= longMs, 'no longer than it may take');
      // It may still run: nobody decides about it before its time is over.
      const { outcome, record } = await other.begin(beginning(), call);
      assert.equal(outcome, 'under-way');
      assert.ok(record.remainingMs <= longMs, `${record.remainingMs} ms`);
      assert.equal((await other.settle(settling(), call)).outcome, 'refused');
      assert.deepEqual(await other.unknown({ limit: 10 }, call), []);
      const ways: Readonly<Record<string, (ofKey: string) => Promise<unknown>>> = {
        begin: (ofKey) => other.begin(beginning({ key: ofKey }), call),
        settle: (ofKey) =>
          other.settle(settling({ key: ofKey, of: { attempt: 7, startedAtMs: 0 } }), call),
        unknown: () => other.unknown({ limit: 10 }, call),
      };
      const keys = Object.keys(ways);
      for (const ofKey of keys) {
        await begun(store, { key: ofKey, timeoutMs: shortMs, keepUnknownMs: dayMs });
        await controls.setBack?.(ofKey, longMs);
        await ways[ofKey]?.(ofKey);
      }
      await pass(shortMs + 1);
      const listed = await store.unknown({ limit: 10 }, call);
      assert.deepEqual(listed.map((one) => one.key).sort(), keys);
      for (const { key: ofKey, deadlineAtMs, expiresAtMs = 0 } of listed) {
        assert.equal(expiresAtMs - deadlineAtMs, dayMs);
        assert.equal((await other.begin(beginning({ key: ofKey }), call)).outcome, 'unknown');
        const settled = await other.settle(settling({ key: ofKey, end: free }), call);
        assert.equal(settled.outcome, 'settled');
      }
    },
  },
  {
    id: 'operators/forget',
    title: 'nothing is forgotten before its time',
    needs: [],
    run: async ({ store, other }) => {
      await ended(store, done);
      await ended(store, failed, { key: 'unknown' });
      await begun(store, { key: 'under way' });
      assert.equal(await other.forget(10, call), 0);
      for (const name of [key, 'unknown', 'under way']) await read(other, name);
    },
  },
  {
    id: 'operators/expired',
    title: 'a key whose time is over is as good as absent: it begins anew with attempt 1',
    needs: ['expire'],
    run: async ({ store, other, controls }) => {
      for (const end of [done, failed, notApplied]) {
        const ofKey = end.kind;
        const keeping = { ...end, keepMs: dayMs };
        const { nonce } = await ended(store, keeping, { key: ofKey });
        await controls.expire?.(ofKey);
        assert.equal(await other.read(ofKey, call), undefined);
        assert.deepEqual(await store.unknown({ limit: 10 }, call), []);
        assert.deepEqual(await store.end(ending(nonce, done, ofKey), call), {
          outcome: 'superseded',
          record: undefined,
        });
        assert.deepEqual(await store.settle(settling({ key: ofKey }), call), {
          outcome: 'refused',
          record: undefined,
        });
        const { record } = await begun(other, { key: ofKey });
        assert.deepEqual(
          [record.attempt, record.settlements, record.result, record.detail, record.expiresAtMs],
          [1, [], undefined, undefined, undefined],
        );
      }
    },
  },
  {
    id: 'operators/forget-expired',
    title: 'what has expired is deleted a batch at a time, and nothing else is',
    needs: ['expire'],
    run: async ({ store, other, controls }) => {
      for (const name of ['a', 'b', 'c', 'kept']) await ended(store, done, { key: name });
      for (const name of ['a', 'b', 'c']) await controls.expire?.(name);
      const counts = [await other.forget(2, call), await other.forget(2, call)];
      assert.ok(counts.join() === '2,1' || counts.join() === '0,0', `${counts}`);
      assert.equal(await other.forget(2, call), 0);
      assert.equal((await read(store, 'kept')).state, 'done');
      assert.equal(await store.read('a', call), undefined);
    },
  },
  {
    id: 'operators/bad-input',
    title: 'bad input is refused before anything is sent',
    needs: [],
    run: async ({ store }) => {
      await ended(store, failed);
      await refused(store.read('', call));
      await refused(store.unknown({ limit: 0 }, call));
      await refused(store.unknown({ limit: 1_001 }, call));
      await refused(store.unknown({ limit: 1, after: { key: '', deadlineAtMs: 0 } }, call));
      await refused(store.forget(0, call));
      await refused(store.settle(settling({ by: '' }), call));
      await refused(store.settle(settling({ reason: 'a\nb' }), call));
      await refused(store.settle(settling({ nonce: freshNonce().slice(1) }), call));
      await refused(store.settle(settling({ end: { ...free, keepMs: 0 } }), call));
      await refused(
        store.settle(settling({ end: { kind: 'done', result: '', keepMs: dayMs } }), call),
      );
      await refused(store.settle(settling({ of: { attempt: 0, startedAtMs: 0 } }), call));
      assert.equal((await read(store)).state, 'unknown');
    },
  },
];
