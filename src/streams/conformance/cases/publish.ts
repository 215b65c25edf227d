import assert from 'node:assert/strict';
import { defineStreamCase } from '../case.js';
import { names } from '../scene.js';

const publisherCount = 50;

export const publishCases = [
  defineStreamCase(
    'publish/contiguous-per-key',
    'numbers the messages of each key 1, 2, 3, ... whatever other keys and batches do',
    async (scene) => {
      const store = await scene.connect();
      const batch = ['a', 'b', 'a', 'a', 'b'].map((key) => scene.message(key));
      assert.deepEqual(await scene.append(store, ...batch), [1, 1, 2, 3, 2]);
      assert.deepEqual(await scene.append(store, scene.message('b'), scene.message('c')), [3, 1]);
    },
  ),

  defineStreamCase(
    'publish/concurrent-publishers',
    'gives no number twice and leaves none out under 50 concurrent publishers',
    async (scene) => {
      const stores = await Promise.all([scene.connect(), scene.connect(), scene.connect()]);
      const publishers = Array.from({ length: publisherCount }, async (_, index) => {
        const store = stores[index % stores.length] ?? assert.fail();
        const first = await scene.append(store, scene.message('a'), scene.message('b'));
        const second = await scene.append(store, scene.message('a'));
        return [first[0], second[0]];
      });
      const seqs = (await Promise.all(publishers)).flat().map(Number);
      const expected = Array.from({ length: 2 * publisherCount }, (_, index) => index + 1);
      assert.deepEqual(
        seqs.sort((one, other) => one - other),
        expected,
      );

      const [store = assert.fail()] = stores;
      const read = await scene.read(store, await scene.own(store, 1), { limit: 1_000 });
      assert.equal(read.length, 3 * publisherCount);
      const ofA = read.filter(({ key }) => key === 'a').map(({ seq }) => seq);
      assert.deepEqual(ofA, expected, 'the log holds a key in the order of its numbers');
    },
  ),

  defineStreamCase(
    'publish/results-by-index',
    'answers by index over many shards, and numbers a key in each shard on its own',
    async (scene) => {
      const store = await scene.connect();
      const [first, ...others] = await scene.publish(
        store,
        scene.message('a', { shard: 3, id: 'one' }),
        scene.message('a', { shard: 7 }),
        scene.message('a', { shard: 3, id: 'one' }),
        scene.message('b', { shard: 3, seq: 5 }),
        scene.message('a', { shard: 3 }),
      );
      assert.deepEqual(
        [first, ...others],
        [
          { outcome: 'appended', seq: 1 },
          { outcome: 'appended', seq: 1 },
          { outcome: 'duplicate', seq: 1 },
          { outcome: 'gap', lastSeq: 0 },
          { outcome: 'appended', seq: 2 },
        ],
      );
    },
  ),

  defineStreamCase(
    'publish/empty-batch',
    'takes an empty batch, and answers nothing to it',
    async (scene) => {
      const store = await scene.connect();
      assert.deepEqual(await scene.publish(store), []);
      assert.deepEqual(await store.step([], scene.call), []);
      assert.deepEqual(await store.install([], scene.call), []);
      assert.deepEqual(await store.backlog([], scene.call), []);
    },
  ),

  defineStreamCase(
    'publish/large-batch-in-order',
    'keeps the order of a batch that is too large for one step of the store',
    async (scene) => {
      const store = await scene.connect();
      const batch = Array.from({ length: 1_300 }, (_, index) => scene.message(`k${index % 3}`));
      const seqs = await scene.append(store, ...batch);
      assert.deepEqual(
        seqs,
        batch.map((_, index) => Math.floor(index / 3) + 1),
      );
      const token = await scene.own(store, 1);
      const head = await scene.read(store, token, { limit: 1_000 });
      const rest = await scene.read(store, token, { limit: 1_000, after: head.at(-1)?.position });
      assert.deepEqual(
        names([...head, ...rest]),
        batch.map(({ key }, index) => `${key}:${Math.floor(index / 3) + 1}`),
      );
    },
  ),

  defineStreamCase(
    'publish/repeated-id',
    'answers a repeated id with the first seq and appends nothing, also when that message is finished',
    async (scene) => {
      const store = await scene.connect();
      const message = scene.message('a');
      await scene.append(store, message, scene.message('a'));
      const duplicate = [{ outcome: 'duplicate', seq: 1 }];
      const other = await scene.connect();
      assert.deepEqual(await scene.publish(other, message), duplicate);

      const token = await scene.own(store, 1);
      await scene.acknowledge(store, token, await scene.read(store, token));
      assert.deepEqual(await scene.publish(other, { ...message, payload: '2' }), duplicate);
      assert.deepEqual(await scene.read(store, token), []);
      assert.deepEqual(await scene.append(store, scene.message('a')), [3]);
    },
  ),

  defineStreamCase(
    'publish/id-belongs-to-its-key',
    'takes one id once for every key, also where key and id together read alike',
    async (scene) => {
      const store = await scene.connect();
      const messages = [
        scene.message('a', { id: 'x' }),
        scene.message('b', { id: 'x' }),
        scene.message('a:b', { id: 'c' }),
        scene.message('a', { id: 'b:c' }),
        scene.message('A', { id: 'x' }),
      ];
      const seqs: number[] = [];
      for (const message of messages) seqs.push(...(await scene.append(store, message)));
      assert.deepEqual(seqs, [1, 1, 1, 2, 1]);
    },
  ),

  defineStreamCase(
    'publish/own-seq',
    'takes the numbers of the publisher: a lower one is a duplicate for ever, a hole is refused',
    async (scene) => {
      const store = await scene.connect();
      const next = (seq: number) => scene.message('a', { seq });
      assert.deepEqual(await scene.append(store, next(1), next(2)), [1, 2]);
      assert.deepEqual(await scene.publish(store, next(4)), [{ outcome: 'gap', lastSeq: 2 }]);
      // Under another id each, so only the number can tell.
      assert.deepEqual(await scene.publish(store, next(1), next(2)), [
        { outcome: 'duplicate', seq: 1 },
        { outcome: 'duplicate', seq: 2 },
      ]);
      const token = await scene.own(store, 1);
      await scene.acknowledge(store, token, await scene.read(store, token));
      assert.deepEqual(await scene.publish(store, next(2)), [{ outcome: 'duplicate', seq: 2 }]);
      assert.deepEqual(await scene.append(store, next(3), scene.message('a')), [3, 4]);
    },
  ),

  defineStreamCase(
    'publish/refused-leaves-no-trace',
    'spends neither a number nor an id on a message it refuses',
    async (scene) => {
      const store = await scene.connect();
      const early = scene.message('a', { seq: 2 });
      assert.deepEqual(await scene.publish(store, early), [{ outcome: 'gap', lastSeq: 0 }]);
      assert.deepEqual(await scene.append(store, scene.message('a'), early), [1, 2]);
    },
  ),
];
