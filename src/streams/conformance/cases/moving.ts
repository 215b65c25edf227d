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
      assert.deepEqual(await scene.seal(store, 'a', 1), { lastSeq: 2, drained: false });
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
      await scene.seal(store, 'a', 1);
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
      const drained = async () => (await scene.seal(store, 'a', 1)).drained;
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
      assert.deepEqual(await scene.seal(store, 'a', 1), { lastSeq: 0, drained: true });
      assert.deepEqual(await scene.publish(store, scene.message('a')), [{ outcome: 'moved' }]);
    },
  ),

  defineStreamCase(
    'moving/open-continues',
    'continues the numbers of a key in its new shard, and back in the old one',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'), scene.message('a'));
      const { lastSeq } = await scene.seal(store, 'a', 1);
      await scene.open(store, 'a', lastSeq, 1, 1);
      assert.deepEqual(await scene.append(store, scene.message('a', { shard: 1 })), [3]);

      const back = await scene.seal(store, 'a', 3, 1);
      await scene.open(store, 'a', back.lastSeq, 3);
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
      await scene.open(store, 'a', 5, 1);
      assert.deepEqual(await scene.append(store, scene.message('a')), [6]);
      await scene.open(store, 'a', 5, 1);
      await scene.open(store, 'a', 0, 1);
      assert.deepEqual(await scene.append(store, scene.message('a')), [7]);
      await scene.seal(store, 'a', 2);
      await scene.open(store, 'a', 2, 3);
      assert.deepEqual(await scene.append(store, scene.message('a')), [8]);
    },
  ),

  defineStreamCase(
    'moving/late-seal',
    'lets a mover that was overtaken seal nothing, however the key came back',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'));
      await scene.seal(store, 'a', 5);
      await scene.seal(store, 'a', 5);
      await scene.open(store, 'a', 1, 7);
      const superseded = { outcome: 'superseded' };
      assert.deepEqual(await store.seal(0, 'a', 5, scene.call), superseded);
      assert.deepEqual(await store.seal(0, 'a', 6, scene.call), superseded);
      assert.deepEqual(await scene.append(store, scene.message('a')), [2], 'it is open');
      // Publishing keeps what is known about moves.
      assert.deepEqual(await store.seal(0, 'a', 6, scene.call), superseded);
      assert.deepEqual(await scene.append(store, scene.message('a')), [3], 'it is open');
    },
  ),

  defineStreamCase(
    'moving/late-open',
    'lets a mover that was overtaken open nothing that is sealed for the next move',
    async (scene) => {
      const store = await scene.connect();
      await scene.open(store, 'a', 3, 5);
      await scene.seal(store, 'a', 7);
      assert.deepEqual(await store.open(0, 'a', 9, 6, scene.call), { outcome: 'superseded' });
      assert.deepEqual(await scene.seal(store, 'a', 7), { lastSeq: 3, drained: true });
      assert.deepEqual(await scene.publish(store, scene.message('a')), [{ outcome: 'moved' }]);
      // As numbers, not as texts: 10 is higher than 7.
      await scene.open(store, 'a', 3, 10);
      assert.deepEqual(await scene.append(store, scene.message('a')), [4]);
    },
  ),

  defineStreamCase(
    'moving/versions-per-key',
    'keeps a version for each key of each shard',
    async (scene) => {
      const store = await scene.connect();
      await scene.seal(store, 'a', 9);
      assert.deepEqual(await scene.seal(store, 'b', 1), { lastSeq: 0, drained: true });
      assert.deepEqual(await scene.seal(store, 'a', 1, 1), { lastSeq: 0, drained: true });
      await scene.seal(store, 'c', 0);
      await scene.open(store, 'c', 0, 0);
      assert.deepEqual(await scene.append(store, scene.message('c')), [1]);
    },
  ),
];
