import assert from 'node:assert/strict';
import { RecordCorruptError } from '../../../errors/index.js';
import type { FencingToken } from '../../../fences/index.js';
import { defineStreamCase } from '../case.js';
import { names, type StreamScene, show } from '../scene.js';

/** Expects `corrupt`, with something for a person to read. */
function assertCorrupt(result: { readonly outcome: string } | undefined, what: string): void {
  assert.equal(result?.outcome, 'corrupt', `${what}: ${show(result)}`);
  assert.ok(result !== undefined && 'detail' in result && String(result.detail).length > 10);
}

/** Two shards with two messages each, owned. */
async function twoShards(scene: StreamScene) {
  const store = await scene.connect();
  const shards = [0, 1];
  for (const shard of shards) {
    await scene.append(store, scene.message('a', { shard }), scene.message('b', { shard }));
  }
  const tokens = await Promise.all(shards.map((shard) => scene.own(store, 1, shard)));
  return { store, tokens };
}

function reading(tokens: readonly FencingToken[], after?: string) {
  const request = { acknowledge: [], after, limit: 10 };
  return tokens.map((token, shard) => ({ ...request, shard, token }));
}

export const foreignCases = [
  defineStreamCase(
    'foreign/entry-stops-its-own-shard',
    'returns what stands before a foreign entry, then says that it is next, and serves the other shards meanwhile',
    async (scene) => {
      const { store, tokens } = await twoShards(scene);
      const remove = await scene.control('appendForeign')(0);
      await scene.append(store, scene.message('a'));

      const [first, other] = await store.step(reading(tokens), scene.call);
      assert.ok(first?.outcome === 'ok' && other?.outcome === 'ok', show([first, other]));
      assert.deepEqual(names(first.messages), ['a:1', 'b:1'], 'what stands before it');
      assert.deepEqual(names(other.messages), ['a:1', 'b:1']);

      const after = first.messages.at(-1)?.position;
      const [blocked] = reading(tokens, after);
      const [, untouched] = reading(tokens);
      const requests = [blocked ?? assert.fail(), untouched ?? assert.fail()];
      const [next, beside] = await store.step(requests, scene.call);
      assertCorrupt(next, 'the foreign entry is next');
      assert.equal(
        beside?.outcome === 'ok' && beside.messages.length,
        2,
        'the other shard is read',
      );

      const [token = assert.fail()] = tokens;
      assert.equal(await scene.acknowledge(store, token, first.messages), 2, 'its owner finishes');
      await remove();
      assert.deepEqual(names(await scene.read(store, token, { after })), ['a:2']);
    },
    ['appendForeign'],
  ),

  defineStreamCase(
    'foreign/state-stops-its-own-shard',
    'publishes to, installs in and reads the other shards of a batch when the state of one is foreign',
    async (scene) => {
      const { store, tokens } = await twoShards(scene);
      const undo = await scene.control('overwriteState')(0);

      const published = await scene.publish(
        store,
        scene.message('c'),
        scene.message('c', { shard: 1 }),
        scene.message('d'),
      );
      assertCorrupt(published[0], 'publish');
      assert.deepEqual(published[1], { outcome: 'appended', seq: 1 });
      assertCorrupt(published[2], 'publish');

      const [read, other] = await store.step(reading(tokens), scene.call);
      assertCorrupt(read, 'step');
      assert.equal(other?.outcome === 'ok' && other.messages.length, 3);

      const higher = [0, 1].map((shard) => ({ shard, token: scene.token(2, shard) }));
      const [installed, beside] = await store.install(higher, scene.call);
      assertCorrupt(installed, 'install');
      assert.deepEqual(beside, { outcome: 'installed' });

      await assert.rejects(store.seal(0, 'a', 1, scene.call), RecordCorruptError);
      await assert.rejects(store.open(0, 'a', 1, 1, scene.call), RecordCorruptError);

      await undo();
      const [token = assert.fail()] = tokens;
      assert.deepEqual(names(await scene.read(store, token)), ['a:1', 'b:1'], 'nothing was done');
      assert.deepEqual(await scene.append(store, scene.message('c')), [1]);
    },
    ['overwriteState'],
  ),
];
