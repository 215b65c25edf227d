import assert from 'node:assert/strict';
import { defineStreamCase } from '../case.js';
import { names } from '../scene.js';

export const movingCases = [
  defineStreamCase(
    'moving/sealed-key-refuses',
    'answers "moved" for a new message of a sealed key and "duplicate" for one it has, and appends neither',
    async (scene) => {
      const store = await scene.connect();
      const message = scene.message('a');
      await scene.append(store, message, scene.message('a'));
      assert.deepEqual(await store.seal(0, 'a', scene.call), { lastSeq: 2, drained: false });
      const results = await scene.publish(
        store,
        scene.message('a'),
        message,
        scene.message('a', { seq: 2 }),
        scene.message('a', { seq: 3 }),
      );
      assert.deepEqual(results, [
        { outcome: 'moved' },
        { outcome: 'duplicate', seq: 1 },
        { outcome: 'duplicate', seq: 2 },
        { outcome: 'moved' },
      ]);
      const [backlog] = await store.backlog([0], scene.call);
      assert.equal(backlog?.count, 2);
    },
  ),

  defineStreamCase(
    'moving/other-keys-go-on',
    'seals one key in one shard and nothing else',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'), scene.message('b'));
      await store.seal(0, 'a', scene.call);
      const seqs = await scene.append(store, scene.message('b'), scene.message('a', { shard: 1 }));
      assert.deepEqual(seqs, [2, 1]);
    },
  ),

  defineStreamCase(
    'moving/drained',
    'reports a key as drained once all its messages are finished, whatever else is left',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, ...['a', 'b', 'a', 'b'].map((key) => scene.message(key)));
      const token = await scene.own(store, 1);
      const messages = await scene.read(store, token);
      const drained = async () => (await store.seal(0, 'a', scene.call)).drained;
      assert.equal(await drained(), false);
      await scene.append(store, scene.message('b'));
      // The later one first: what is gone says nothing about what is left.
      await scene.acknowledge(store, token, messages.slice(2, 3));
      assert.equal(await drained(), false);
      await scene.acknowledge(store, token, messages.slice(0, 1));
      assert.equal(await drained(), true);
      assert.deepEqual(names(await scene.read(store, token)), ['b:1', 'b:2', 'b:3']);
    },
  ),

  defineStreamCase(
    'moving/unknown-key',
    'seals a key it never saw, which is drained at once',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('b'));
      assert.deepEqual(await store.seal(0, 'a', scene.call), { lastSeq: 0, drained: true });
      assert.deepEqual(await scene.publish(store, scene.message('a')), [{ outcome: 'moved' }]);
    },
  ),

  defineStreamCase(
    'moving/open-continues',
    'continues the numbers of a key in its new shard, and back in the old one',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'), scene.message('a'));
      const { lastSeq } = await store.seal(0, 'a', scene.call);
      await store.open(1, 'a', lastSeq, scene.call);
      assert.deepEqual(await scene.append(store, scene.message('a', { shard: 1 })), [3]);

      const back = await store.seal(1, 'a', scene.call);
      await store.open(0, 'a', back.lastSeq, scene.call);
      assert.deepEqual(await scene.append(store, scene.message('a')), [4]);
      const read = await scene.read(store, await scene.own(store, 1));
      assert.deepEqual(names(read), ['a:1', 'a:2', 'a:4']);
    },
  ),

  defineStreamCase(
    'moving/open-never-lowers',
    'never lowers a seq, and takes a repeated opening for what it is',
    async (scene) => {
      const store = await scene.connect();
      await store.open(0, 'a', 5, scene.call);
      assert.deepEqual(await scene.append(store, scene.message('a')), [6]);
      await store.open(0, 'a', 5, scene.call);
      await store.open(0, 'a', 0, scene.call);
      assert.deepEqual(await scene.append(store, scene.message('a')), [7]);
      await store.seal(0, 'a', scene.call);
      await store.open(0, 'a', 2, scene.call);
      assert.deepEqual(await scene.append(store, scene.message('a')), [8]);
    },
  ),
];
