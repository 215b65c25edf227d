import assert from 'node:assert/strict';
import { defineStreamCase } from '../case.js';
import { only } from '../scene.js';

export const backlogCases = [
  defineStreamCase(
    'backlog/count',
    'counts the unfinished messages of each shard, read or not, in the order asked',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, ...[2, 5, 5, 5].map((shard) => scene.message('a', { shard })));
      const token = await scene.own(store, 1, 5);
      const counts = async () => {
        const backlog = await store.backlog([5, 9, 2], scene.call);
        return backlog.map(({ shard, count }) => [shard, count]);
      };
      const [first = assert.fail()] = await scene.read(store, token, { shard: 5 });
      assert.deepEqual(await counts(), [
        [5, 3],
        [9, 0],
        [2, 1],
      ]);
      await scene.acknowledge(store, token, [first], 5);
      assert.deepEqual(await counts(), [
        [5, 2],
        [9, 0],
        [2, 1],
      ]);
    },
  ),

  defineStreamCase(
    'backlog/age',
    'tells the age of the oldest unfinished message, and none of an empty log',
    async (scene) => {
      const store = await scene.connect();
      const ageMs = async () => only(await store.backlog([0], scene.call)).oldestAgeMs;
      assert.equal(await ageMs(), undefined);
      await scene.append(store, scene.message('a'));
      await scene.subject.advance(60);
      await scene.append(store, scene.message('a'));
      const oldMs = (await ageMs()) ?? assert.fail('an age');
      assert.ok(oldMs >= 59, `at least 60 ms old, not ${oldMs}`);

      const token = await scene.own(store, 1);
      const messages = await scene.read(store, token);
      await scene.acknowledge(store, token, messages.slice(0, 1));
      const youngMs = (await ageMs()) ?? assert.fail('an age');
      assert.ok(youngMs <= oldMs, `that of the next message: ${youngMs} after ${oldMs}`);
      await scene.acknowledge(store, token, messages);
      assert.equal(await ageMs(), undefined);
    },
  ),
];
