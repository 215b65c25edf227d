import assert from 'node:assert/strict';
import { defineStreamCase } from '../case.js';
import { names } from '../scene.js';

export const logCases = [
  defineStreamCase(
    'log/order',
    'returns messages in the order of their append, with all that was published',
    async (scene) => {
      const [one, other] = [await scene.connect(), await scene.connect()];
      const messages = ['b', 'a', 'b', 'c', 'a'].map((key, index) =>
        scene.message(key, { payload: `{"n": ${index}}` }),
      );
      for (const [index, message] of messages.entries()) {
        await scene.append(index % 2 === 0 ? one : other, message);
      }
      const read = await scene.read(one, await scene.own(one, 1));
      assert.deepEqual(names(read), ['b:1', 'a:1', 'b:2', 'c:1', 'a:2']);
      const published = messages.map(({ key, id, payload }) => ({ key, id, payload }));
      assert.deepEqual(
        read.map(({ key, id, payload }) => ({ key, id, payload })),
        published,
      );
      assert.equal(new Set(read.map(({ position }) => position)).size, read.length);
    },
  ),

  defineStreamCase(
    'log/time-of-append',
    'stamps each message with the time of its append, by the store',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'));
      await scene.subject.advance(50);
      await scene.append(store, scene.message('a'));
      const [first, second] = await scene.read(store, await scene.own(store, 1));
      const apartMs = Number(second?.appendedAtMs) - Number(first?.appendedAtMs);
      assert.ok(apartMs >= 49, `50 ms apart, not ${apartMs}`);
      assert.ok(Number(first?.appendedAtMs) > Date.UTC(2020), 'in Unix milliseconds');
    },
  ),

  defineStreamCase(
    'log/acknowledge-exactly',
    'removes the acknowledged messages and no other, in whatever order',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, ...['a', 'b', 'c', 'd'].map((key) => scene.message(key)));
      const token = await scene.own(store, 1);
      const [a, b, c, d] = await scene.read(store, token);
      if (!(a && b && c && d)) assert.fail('four messages');
      assert.equal(await scene.acknowledge(store, token, [c, a]), 2);
      assert.deepEqual(names(await scene.read(store, token)), ['b:1', 'd:1']);
      assert.equal(await scene.acknowledge(store, token, [b, d]), 2);
      assert.deepEqual(await scene.read(store, token), []);
    },
  ),

  defineStreamCase(
    'log/acknowledge-twice',
    'takes a repeated acknowledgement for what it is, and counts what was still there',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'), scene.message('b'));
      const token = await scene.own(store, 1);
      const [first = assert.fail(), second = assert.fail()] = await scene.read(store, token);
      assert.equal(await scene.acknowledge(store, token, [first]), 1);
      assert.equal(await scene.acknowledge(store, token, [first, second]), 1);
      assert.equal(await scene.acknowledge(store, token, [first, second]), 0);
      await scene.append(store, scene.message('a'));
      assert.equal(await scene.acknowledge(store, token, [first, second]), 0);
      assert.deepEqual(names(await scene.read(store, token)), ['a:2'], 'no position comes again');
    },
  ),

  defineStreamCase(
    'log/acknowledge-elsewhere',
    'removes nothing from the other shards of a batch',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a', { shard: 0 }), scene.message('b', { shard: 1 }));
      const tokens = [await scene.own(store, 1, 0), await scene.own(store, 1, 1)];
      const [inZero = assert.fail()] = await scene.read(store, tokens[0] ?? assert.fail());
      const results = await store.step(
        tokens.map((token, shard) => ({
          shard,
          token,
          acknowledge: shard === 0 ? [inZero.position] : [],
          after: undefined,
          limit: 10,
        })),
        scene.call,
      );
      assert.deepEqual(
        results.map((result) => (result.outcome === 'ok' ? names(result.messages) : result)),
        [[], ['b:1']],
      );
    },
  ),

  defineStreamCase(
    'log/limit-and-after',
    'returns at most the limit, only what follows a position, and goes on behind a removed one',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, ...Array.from({ length: 7 }, () => scene.message('a')));
      const token = await scene.own(store, 1);
      const head = await scene.read(store, token, { limit: 3 });
      assert.deepEqual(names(head), ['a:1', 'a:2', 'a:3']);
      const after = head.at(-1)?.position;
      assert.deepEqual(names(await scene.read(store, token, { limit: 2, after })), ['a:4', 'a:5']);
      const acknowledge = head.map(({ position }) => position);
      const next = await scene.read(store, token, { acknowledge, after });
      assert.deepEqual(names(next), ['a:4', 'a:5', 'a:6', 'a:7']);
      assert.deepEqual(await scene.read(store, token, { after: next.at(-1)?.position }), []);
    },
  ),

  defineStreamCase(
    'log/limit-zero',
    'acknowledges and reads nothing when the limit is 0',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'), scene.message('a'));
      const token = await scene.own(store, 1);
      const [first = assert.fail()] = await scene.read(store, token);
      const result = await scene.step(store, token, { acknowledge: [first.position], limit: 0 });
      assert.deepEqual(result, { outcome: 'ok', messages: [], acknowledgedCount: 1 });
    },
  ),

  defineStreamCase(
    'log/acknowledge-before-reading',
    'no longer returns what the same step acknowledges',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'), scene.message('a'));
      const token = await scene.own(store, 1);
      const [first = assert.fail()] = await scene.read(store, token);
      const acknowledge = [first.position];
      assert.deepEqual(names(await scene.read(store, token, { acknowledge })), ['a:2']);
    },
  ),

  defineStreamCase(
    'log/empty-means-nothing-left',
    'answers no messages only if there are none, however large they are',
    async (scene) => {
      const store = await scene.connect();
      const payload = JSON.stringify('x'.repeat(100 * 1024 - 2));
      const shards = [0, 1, 2];
      const batch = Array.from({ length: 30 }, () => shards.map((shard) => ({ shard, payload })));
      for (const parts of batch) {
        await scene.append(store, ...parts.map((part) => scene.message('a', part)));
      }
      const tokens = await Promise.all(shards.map((shard) => scene.own(store, 1, shard)));
      const seen = shards.map(() => 0);
      const after: (string | undefined)[] = shards.map(() => undefined);
      for (let isLeft = true; isLeft; ) {
        const requests = shards.map((shard) => ({
          shard,
          token: tokens[shard] ?? assert.fail(),
          acknowledge: [],
          after: after[shard],
          limit: 100,
        }));
        isLeft = false;
        for (const [shard, result] of (await store.step(requests, scene.call)).entries()) {
          const messages = result.outcome === 'ok' ? result.messages : assert.fail('stale');
          seen[shard] = (seen[shard] ?? 0) + messages.length;
          after[shard] = messages.at(-1)?.position ?? after[shard];
          isLeft ||= messages.length > 0;
        }
      }
      assert.deepEqual(seen, [30, 30, 30]);
    },
  ),
];
