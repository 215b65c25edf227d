import assert from 'node:assert/strict';
import { longestDetailLength, longestResultBytes } from '../records.js';
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
  notApplied,
  read,
  refused,
  settling,
  shortMs,
} from './scene.js';
import type { OnceCase } from './subject.js';

export const endCases: readonly OnceCase[] = [
  {
    id: 'ends/repeated-request',
    title: 'the same end again changes nothing',
    needs: [],
    run: async ({ store, other }) => {
      for (const end of [done, failed, notApplied]) {
        const { nonce, record } = await ended(store, end, { key: end.kind });
        const again = await other.end(ending(nonce, end, end.kind), call);
        assert.deepEqual(again, { outcome: 'recorded', record });
      }
    },
  },
  {
    id: 'ends/late-unknown',
    title: 'a repetition of "unknown" that comes late takes back nothing',
    needs: [],
    run: async ({ store }) => {
      const { nonce } = await ended(store, failed);
      const { record } = await store.end(ending(nonce, done), call);
      const late = await store.end(ending(nonce, failed), call);
      assert.deepEqual(late, { outcome: 'recorded', record });
      assert.equal((await read(store)).state, 'done');
    },
  },
  {
    id: 'ends/stranger',
    title: 'who has not begun the attempt ends nothing',
    needs: [],
    run: async ({ store, other }) => {
      for (const end of [done, failed, notApplied])
        assert.deepEqual(await store.end(ending(freshNonce(), end), call), {
          outcome: 'superseded',
          record: undefined,
        });
      assert.equal(await store.read(key, call), undefined);
      const { nonce } = await begun(store);
      for (const end of [done, failed, notApplied]) {
        const result = await other.end(ending(freshNonce(), end), call);
        assert.deepEqual([result.outcome, result.record?.state], ['superseded', 'started']);
      }
      assert.equal((await store.end(ending(nonce), call)).outcome, 'recorded');
    },
  },
  {
    id: 'ends/late',
    title: 'who ends after its deadline is recorded, if nobody has decided meanwhile',
    needs: [],
    run: async ({ store, other, pass }) => {
      const { nonce } = await begun(store, { timeoutMs: shortMs });
      await pass(shortMs + 1);
      assert.equal((await read(other)).state, 'unknown');
      const { outcome } = await store.end(ending(nonce), call);
      assert.equal(outcome, 'recorded');
      const record = await read(other);
      assert.deepEqual([record.state, record.detail], ['done', undefined]);
      assert.deepEqual(await other.unknown({ limit: 10 }, call), []);
    },
  },
  {
    id: 'ends/settled-meanwhile',
    title: 'who ends after its key was settled is told, and overwrites nothing',
    needs: [],
    run: async ({ store, other }) => {
      for (const kind of ['done', 'not-applied'] as const) {
        const { nonce } = await ended(store, failed, { key: kind });
        const end =
          kind === 'done'
            ? ({ kind, result: '1', keepMs: dayMs } as const)
            : { kind, keepMs: dayMs };
        const { record } = await other.settle(settling({ key: kind, end }), call);
        for (const own of [done, failed, notApplied]) {
          const late = await store.end(ending(nonce, own, kind), call);
          assert.deepEqual(late, { outcome: 'superseded', record });
        }
        assert.deepEqual(await read(store, kind), record);
      }
    },
  },
  {
    id: 'ends/repeated-meanwhile',
    title: 'who ends after its attempt was repeated is told, and the next attempt goes on',
    needs: [],
    run: async ({ store, other }) => {
      const { nonce, record } = await ended(store, failed);
      const { attempt, startedAtMs } = record;
      const next = await begun(other, { repeat: { attempt, startedAtMs, ...act } });
      const late = await store.end(ending(nonce), call);
      assert.deepEqual([late.outcome, late.record?.attempt], ['superseded', 2]);
      assert.equal((await read(store)).state, 'started');
      assert.equal((await other.end(ending(next.nonce), call)).outcome, 'recorded');
    },
  },
  {
    id: 'ends/fields',
    title: 'a result is read as it was written, whatever it holds',
    needs: [],
    run: async ({ store, other }) => {
      const texts = [
        JSON.stringify('quote\' " \\ {brace} %s $1 \n \0 名前 🙂 \u0085 \u007f \ud800 |'),
        JSON.stringify({ ['__proto__']: 1, nested: [null, true, 1e-7] }),
        JSON.stringify('x'.repeat(longestResultBytes - 2)),
        'null',
        undefined,
      ];
      for (const [index, result] of texts.entries()) {
        const end = { kind: 'done', result, keepMs: dayMs } as const;
        await ended(store, end, { key: `result-${index}` });
        const record = await read(other, `result-${index}`);
        assert.equal(record.result, result);
        assert.equal('result' in record, result !== undefined);
      }
      const detail = `quote' " \\ % $1 {brace} 名前 🙂 | ${'x'.repeat(longestDetailLength - 40)}`;
      const { record } = await ended(store, { kind: 'unknown', detail }, { key: 'why' });
      assert.equal(record.detail, detail);
      assert.equal((await read(other, 'why')).detail, detail);
      await ended(
        store,
        { kind: 'done', result: undefined, detail, keepMs: dayMs },
        { key: 'lost' },
      );
      const lost = await read(other, 'lost');
      assert.deepEqual([lost.state, lost.result, lost.detail], ['done', undefined, detail]);
    },
  },
  {
    id: 'ends/times',
    title: 'an end has its time, and the time at which it is forgotten',
    needs: [],
    run: async ({ store }) => {
      for (const end of [
        done,
        notApplied,
        { kind: 'unknown', detail: 'x', keepMs: dayMs } as const,
      ]) {
        const { record } = await ended(store, end, { key: end.kind });
        const { startedAtMs, endedAtMs = 0, expiresAtMs } = record;
        assert.ok(endedAtMs >= startedAtMs && endedAtMs < startedAtMs + 60_000);
        assert.equal(expiresAtMs, endedAtMs + dayMs);
        assert.equal(record.remainingMs, 0);
      }
      const { record } = await ended(store, failed, { key: 'kept' });
      assert.equal('expiresAtMs' in record, false);
      const begunOnly = await begun(store, { key: 'begun', keepUnknownMs: dayMs });
      assert.equal(begunOnly.record.expiresAtMs, begunOnly.record.deadlineAtMs + dayMs);
    },
  },
  {
    id: 'ends/bad-input',
    title: 'bad input is refused before anything is sent',
    needs: [],
    run: async ({ store }) => {
      const { nonce } = await begun(store);
      const end = async (fields: object) =>
        refused(store.end({ key, nonce, end: { ...done, ...fields } as never }, call));
      await end({ kind: 'other' });
      await end({ result: '' });
      await end({ result: 7 });
      await end({ result: JSON.stringify('x'.repeat(longestResultBytes - 1)) });
      await end({ result: '"a\0b"' });
      await end({ keepMs: 59_999 });
      await end({ keepMs: undefined });
      await end({ kind: 'unknown', detail: undefined });
      await end({ kind: 'unknown', detail: 'a\nb' });
      await end({ kind: 'not-applied', detail: 'x', keepMs: undefined });
      await refused(store.end({ key: '', nonce, end: done }, call));
      await refused(store.end({ key, nonce: 'n', end: done }, call));
      assert.equal((await store.begin(beginning(), call)).outcome, 'under-way');
    },
  },
];
