import assert from 'node:assert/strict';
import type { StreamStore } from '../../contract.js';
import { defineStreamCase } from '../case.js';
import { names, type StreamScene } from '../scene.js';

/** The rings a watcher hears from now on, once its watching is in force. */
async function listen(scene: StreamScene, store: StreamStore, shard = 99) {
  const rings: (number | undefined)[] = [];
  const unsubscribe = store.watch((ring) => rings.push(ring));
  const finish = async () => {
    const token = await scene.own(store, 1_000, shard);
    await scene.acknowledge(store, token, await scene.read(store, token, { shard }), shard);
  };
  // A shard that nobody else uses is filled and emptied until its ring is heard.
  await scene.eventually('a ring', async () => {
    await scene.append(store, scene.message('probe', { shard }));
    await scene.subject.advance(20);
    if (rings.includes(shard)) return true;
    await finish();
    return false;
  });
  rings.length = 0;
  return { rings, unsubscribe };
}

export const bellCases = [
  defineStreamCase(
    'bell/rings-when-no-longer-empty',
    'wakes every watcher when an empty log gets a message, and when it does so again',
    async (scene) => {
      const [one, other] = [await scene.connect(), await scene.connect()];
      const heard = [await listen(scene, one, 98), await listen(scene, other, 99)];
      await scene.append(one, scene.message('a', { shard: 4 }));
      const isHeard = () => heard.every(({ rings }) => rings.includes(4));
      await scene.eventually('a ring of shard 4', isHeard);

      const token = await scene.own(one, 1, 4);
      await scene.acknowledge(one, token, await scene.read(one, token, { shard: 4 }), 4);
      for (const { rings } of heard) rings.length = 0;
      await scene.append(other, scene.message('a', { shard: 4 }));
      await scene.eventually('a second ring of shard 4', isHeard);
    },
  ),

  defineStreamCase(
    'bell/claims-nothing',
    'leaves the messages where they are, however many watchers it wakes',
    async (scene) => {
      const frozen = await scene.connect();
      await listen(scene, frozen);
      const store = await scene.connect();
      const token = await scene.own(store, 1);
      await scene.append(store, scene.message('a'), scene.message('b'));
      assert.deepEqual(names(await scene.read(store, token)), ['a:1', 'b:1']);
    },
  ),

  defineStreamCase(
    'bell/not-needed',
    'gives messages to whoever asks, though nobody watched when they came',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'));
      const token = await scene.own(store, 1);
      assert.deepEqual(names(await scene.read(store, token)), ['a:1']);
    },
  ),

  defineStreamCase(
    'bell/unsubscribe',
    'wakes nobody who left, and lets one leave twice',
    async (scene) => {
      const store = await scene.connect();
      const { rings, unsubscribe } = await listen(scene, store, 98);
      unsubscribe();
      unsubscribe();
      rings.length = 0;
      const other = await listen(scene, store, 97);
      await scene.append(store, scene.message('a'));
      await scene.eventually('a ring of shard 0', () => other.rings.includes(0));
      assert.deepEqual(rings, []);
    },
  ),
];
