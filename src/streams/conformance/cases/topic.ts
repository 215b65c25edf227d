import assert from 'node:assert/strict';
import { defineStreamCase } from '../case.js';

const agreed = { outcome: 'agreed' };

export const topicCases = [
  defineStreamCase(
    'topic/promises',
    'declares what it is, what appends survive, and for how long it knows an id again',
    async (scene) => {
      const { store, durability, dedupeWindowMs } = (await scene.connect()).promises;
      assert.match(store, /^\S+$/);
      assert.ok(durability.length > 10, 'a sentence for a person');
      // The subject remembers ids for a minute at least.
      assert.ok(Number.isFinite(dedupeWindowMs) && dedupeWindowMs >= 60_000, `${dedupeWindowMs}`);
    },
  ),

  defineStreamCase(
    'topic/shard-count',
    'keeps the first shard count it is told, and names it to whoever counts differently',
    async (scene) => {
      const store = await scene.connect();
      assert.deepEqual(await store.describeTopic(8, scene.call), agreed);
      const other = await scene.connect();
      const differs = { outcome: 'differs', shardCount: 8 };
      assert.deepEqual(await other.describeTopic(4, scene.call), differs);
      assert.deepEqual(await other.describeTopic(4, scene.call), differs, 'asking changes nothing');
      assert.deepEqual(await other.describeTopic(8, scene.call), agreed);
    },
  ),

  defineStreamCase(
    'topic/one-of-many',
    'agrees with one number only, however many are told it at once',
    async (scene) => {
      const counts = [1, 2, 4, 8, 16, 32];
      const results = await Promise.all(
        counts.map(async (count) => (await scene.connect()).describeTopic(count, scene.call)),
      );
      assert.equal(results.filter(({ outcome }) => outcome === 'agreed').length, 1);
    },
  ),
];
