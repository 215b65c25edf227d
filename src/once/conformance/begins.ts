import assert from 'node:assert/strict';
import {
  act,
  beginning,
  begun,
  call,
  done,
  ended,
  failed,
  freshNonce,
  key,
  longMs,
  notApplied,
  read,
  shortMs,
  still,
} from './scene.js';
import type { OnceCase } from './subject.js';

export const beginCases: readonly OnceCase[] = [
  {
    id: 'begins/one-of-many',
    title: 'of many who begin one key at once, one does, and the others are shown its attempt',
    needs: [],
    run: async ({ store, other }) => {
      const requests = Array.from({ length: 20 }, (_, index) =>
        beginning({ startedBy: `tester-${index}` }),
      );
      const results = await Promise.all(
        requests.map((request, index) => (index % 2 === 0 ? store : other).begin(request, call)),
      );
      const winners = results.filter(({ outcome }) => outcome === 'begun');
      assert.equal(winners.length, 1);
      const others = results.filter(({ outcome }) => outcome === 'under-way');
      assert.equal(others.length, 19);
      for (const { record } of others) assert.deepEqual(still(record), still(winners[0]?.record));
      const index = results.findIndex(({ outcome }) => outcome === 'begun');
      assert.equal((await read(other)).startedBy, `tester-${index}`);
    },
  },
  {
    id: 'begins/first',
    title: 'a key that nobody has begun is absent, and begins with attempt 1',
    needs: [],
    run: async ({ store, other }) => {
      assert.equal(await store.read(key, call), undefined);
      const { record } = await begun(store, { timeoutMs: longMs });
      assert.deepEqual(
        { ...still(record), startedAtMs: 0, deadlineAtMs: 0 },
        {
          ...{ key, state: 'started', attempt: 1, startedBy: 'tester-1' },
          ...{ startedAtMs: 0, deadlineAtMs: 0, settlements: [] },
        },
      );
      assert.equal(record.deadlineAtMs - record.startedAtMs, longMs);
      assert.ok(record.remainingMs > longMs - 60_000 && record.remainingMs <= longMs);
      assert.deepEqual(still(await read(other)), still(record));
    },
  },
  {
    id: 'begins/apart',
    title: 'keys have nothing to do with each other, however alike they look',
    needs: [],
    run: async ({ store, other }) => {
      const keys = [
        'a',
        'A',
        'a ',
        'a/b',
        'a%2Fb',
        'a{b}',
        "a'b",
        'ä',
        'a\u0308',
        '名前',
        '*',
        '..',
      ];
      for (const one of keys) await begun(store, { key: one });
      for (const one of keys) {
        const record = await read(other, one);
        assert.deepEqual([record.key, record.attempt], [one, 1]);
      }
    },
  },
  {
    id: 'begins/repeated-request',
    title: 'the same request again is recognised: it is the same attempt, with the same deadline',
    needs: [],
    run: async ({ store, other }) => {
      const request = beginning();
      const first = await store.begin(request, call);
      const again = await other.begin(request, call);
      assert.equal(again.outcome, 'begun');
      assert.deepEqual(still(again.record), still(first.record));
    },
  },
  {
    id: 'begins/spent',
    title: 'the request of an attempt that has ended begins nothing',
    needs: [],
    run: async ({ store, other }) => {
      for (const end of [done, failed, notApplied]) {
        const request = beginning({ key: `after ${end.kind}` });
        await store.begin(request, call);
        const { record } = await store.end({ key: request.key, nonce: request.nonce, end }, call);
        const again = await other.begin(request, call);
        assert.equal(again.outcome, 'spent');
        assert.deepEqual(again.record, record);
        assert.deepEqual(await read(store, request.key), record);
      }
    },
  },
  {
    id: 'begins/done',
    title: 'a key that is done is not begun again, and shows its result',
    needs: [],
    run: async ({ store, other }) => {
      const { record } = await ended(store, done);
      const result = await other.begin(beginning(), call);
      assert.deepEqual(result, { outcome: 'done', record });
      assert.deepEqual([record.state, record.result], ['done', '{"receipt":7}']);
      assert.deepEqual(await read(store), record);
    },
  },
  {
    id: 'begins/free',
    title: 'a key whose effect did not take place may be begun, as the next attempt',
    needs: [],
    run: async ({ store, other }) => {
      const { record } = await ended(store, notApplied);
      assert.deepEqual([record.state, record.detail], ['free', 'the card was declined']);
      const next = await begun(other);
      assert.deepEqual([next.record.state, next.record.attempt], ['started', 2]);
      assert.deepEqual([next.record.detail, next.record.endedAtMs], [undefined, undefined]);
    },
  },
  {
    id: 'begins/failed',
    title: 'a key whose attempt failed is unknown, and is not begun again',
    needs: [],
    run: async ({ store, other }) => {
      const { record } = await ended(store, failed);
      assert.deepEqual([record.state, record.detail], ['unknown', 'Error: the line broke']);
      const result = await other.begin(beginning(), call);
      assert.deepEqual(result, { outcome: 'unknown', record });
      assert.deepEqual(await read(store), record);
    },
  },
  {
    id: 'begins/overdue',
    title: 'a key whose deadline has passed without an end is unknown, and is not begun again',
    needs: [],
    run: async ({ store, other, pass }) => {
      const { record } = await begun(store, { timeoutMs: shortMs });
      await pass(shortMs + 1);
      const result = await other.begin(beginning(), call);
      assert.equal(result.outcome, 'unknown');
      const { deadlineAtMs: endedAtMs } = record;
      const detail = 'its deadline passed without an end';
      assert.deepEqual(result.record, {
        ...{ ...record, state: 'unknown', remainingMs: 0, endedAtMs, detail },
      });
      assert.deepEqual(await read(store), result.record);
    },
  },
  {
    id: 'begins/repeat',
    title:
      'an attempt of unknown outcome is repeated by whoever names it, once, and it is remembered who',
    needs: [],
    run: async ({ store, other }) => {
      const { record } = await ended(store, failed);
      const { attempt, startedAtMs } = record;
      const repeat = { attempt, startedAtMs, ...act };
      const requests = [beginning({ repeat }), beginning({ repeat })];
      const results = await Promise.all([
        store.begin(requests[0] as (typeof requests)[0], call),
        other.begin(requests[1] as (typeof requests)[0], call),
      ]);
      assert.deepEqual(results.map(({ outcome }) => outcome).sort(), ['begun', 'under-way']);
      const after = await read(store);
      assert.deepEqual([after.state, after.attempt, after.detail], ['started', 2, undefined]);
      const [settlement, ...more] = after.settlements;
      assert.deepEqual(more, []);
      const expected = { attempt: 1, outcome: 'repeated', ...act, atMs: after.startedAtMs };
      assert.deepEqual(settlement, expected);
    },
  },
  {
    id: 'begins/repeat-another',
    title: 'who names another attempt than the one that is unknown repeats nothing',
    needs: [],
    run: async ({ store }) => {
      const { record } = await ended(store, failed);
      const { attempt, startedAtMs } = record;
      for (const of of [
        { attempt: attempt + 1, startedAtMs },
        { attempt, startedAtMs: startedAtMs - 1 },
      ]) {
        const result = await store.begin(beginning({ repeat: { ...of, ...act } }), call);
        assert.deepEqual(result, { outcome: 'unknown', record });
      }
    },
  },
  {
    id: 'begins/repeat-not-unknown',
    title: 'what is done or under way is not repeated, whatever the request says',
    needs: [],
    run: async ({ store }) => {
      const { record, nonce } = await begun(store);
      const { attempt, startedAtMs } = record;
      const repeat = { attempt, startedAtMs, ...act };
      assert.equal((await store.begin(beginning({ repeat }), call)).outcome, 'under-way');
      await store.end({ key, nonce, end: done }, call);
      assert.equal((await store.begin(beginning({ repeat }), call)).outcome, 'done');
      assert.deepEqual((await read(store)).settlements, []);
    },
  },
  {
    id: 'begins/bad-input',
    title: 'bad input is refused before anything is sent',
    needs: [],
    run: async ({ store }) => {
      const bad: Partial<Record<keyof ReturnType<typeof beginning>, unknown>>[] = [
        { key: '' },
        { key: 'a\nb' },
        { key: 'x'.repeat(256) },
        { key: '\ud800' },
        { nonce: 'short' },
        { nonce: freshNonce().replace('0', 'g') },
        { startedBy: 'a b' },
        { timeoutMs: 0 },
        { timeoutMs: 1e12 },
        { keepUnknownMs: 1 },
        { repeat: { attempt: 0, startedAtMs: 1, ...act } },
        { repeat: { attempt: 1, startedAtMs: 1, by: '', reason: 'x' } },
      ];
      for (const fields of bad)
        await assert.rejects(
          store.begin(beginning(fields as never), call),
          { code: 'TENURE_BAD_OPTION' },
          JSON.stringify(fields),
        );
      await assert.rejects(store.begin(beginning(), { timeoutMs: 0 }), {
        code: 'TENURE_BAD_OPTION',
      });
      assert.equal(await store.read(key, call), undefined);
    },
  },
];
