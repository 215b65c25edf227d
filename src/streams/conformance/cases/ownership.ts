import assert from 'node:assert/strict';
import { Holder } from '../../../coordinators/index.js';
import { defineStreamCase } from '../case.js';
import { names } from '../scene.js';

export const ownershipCases = [
  defineStreamCase(
    'ownership/step-needs-an-install',
    'refuses a step on a log that obeys nobody, or a lower term than the token has',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'));
      assert.deepEqual(await scene.step(store, scene.token(5)), {
        outcome: 'stale',
        installedTerm: undefined,
      });
      await scene.own(store, 5);
      assert.deepEqual(await scene.step(store, scene.token(6)), {
        outcome: 'stale',
        installedTerm: 5,
      });
    },
  ),

  defineStreamCase(
    'ownership/install',
    'installs a higher term, the same one again for its holder, and never a lower one',
    async (scene) => {
      const store = await scene.connect();
      const first = await scene.own(store, 5);
      const install = (token = first) => store.install([{ shard: 0, token }], scene.call);
      assert.deepEqual(await install(), [{ outcome: 'installed' }]);
      const second = await scene.own(store, 9);
      const stale = [{ outcome: 'stale', installedTerm: 9 }];
      assert.deepEqual(await install(), stale);
      assert.deepEqual(await install(scene.token(8)), stale);
      assert.deepEqual(await scene.read(store, second), [], 'the refusals changed nothing');
      // As numbers, not as texts: 10 is higher than 9.
      await scene.own(store, 10);
    },
  ),

  defineStreamCase(
    'ownership/equal-term',
    'refuses an equal term of another holder, to install and to step, were its id the same',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, scene.message('a'));
      const token = await scene.own(store, 5);
      const holder = Holder.create(token.holder.id, scene.subject.runtime);
      const twin = { ...token, holder };
      const stale = { outcome: 'stale', installedTerm: 5 };
      assert.deepEqual(await store.install([{ shard: 0, token: twin }], scene.call), [stale]);
      assert.deepEqual(await scene.step(store, twin), stale);
      assert.deepEqual(names(await scene.read(store, token)), ['a:1']);
    },
  ),

  defineStreamCase(
    'ownership/stale-reads-nothing',
    'gives a stale owner no message, whether the log was read before or not',
    async (scene) => {
      const store = await scene.connect();
      const zombie = await scene.own(store, 1);
      await scene.append(store, scene.message('a'));
      await scene.own(store, 2);
      assert.deepEqual(await scene.step(store, zombie), { outcome: 'stale', installedTerm: 2 });
    },
  ),

  defineStreamCase(
    'ownership/stale-removes-nothing',
    'lets a stale owner finish no message',
    async (scene) => {
      const store = await scene.connect();
      const zombie = await scene.own(store, 1);
      await scene.append(store, scene.message('a'), scene.message('b'));
      const taken = await scene.read(store, zombie);
      const owner = await scene.own(await scene.connect(), 2);
      const acknowledge = taken.map(({ position }) => position);
      assert.deepEqual(await scene.step(store, zombie, { acknowledge, limit: 0 }), {
        outcome: 'stale',
        installedTerm: 2,
      });
      assert.deepEqual(names(await scene.read(store, owner)), ['a:1', 'b:1']);
    },
  ),

  defineStreamCase(
    'ownership/each-shard-on-its-own',
    'judges each shard of a batch by its own owner, and serves the others beside a stale one',
    async (scene) => {
      const store = await scene.connect();
      const shards = [0, 1, 2];
      await scene.append(store, ...shards.map((shard) => scene.message(`k${shard}`, { shard })));
      const tokens = await Promise.all(shards.map((shard) => scene.own(store, 3, shard)));
      await scene.own(store, 4, 1);
      const results = await store.step(
        shards.map((shard) => ({
          shard,
          token: tokens[shard] ?? assert.fail(),
          acknowledge: [],
          after: undefined,
          limit: 10,
        })),
        scene.call,
      );
      assert.deepEqual(
        results.map((result) => (result.outcome === 'ok' ? names(result.messages) : result)),
        [['k0:1'], { outcome: 'stale', installedTerm: 4 }, ['k2:1']],
      );
    },
  ),

  defineStreamCase(
    'ownership/predecessor-first',
    'shows a successor what its predecessor had in flight, whole and oldest first, before anything new',
    async (scene) => {
      const store = await scene.connect();
      await scene.append(store, ...['a', 'b', 'a', 'c', 'b'].map((key) => scene.message(key)));
      const predecessor = await scene.own(store, 1);
      const [finished = assert.fail()] = await scene.read(store, predecessor, { limit: 4 });
      await scene.acknowledge(store, predecessor, [finished]);

      const successor = await scene.own(store, 2);
      await scene.append(store, scene.message('a'));
      const expected = ['b:1', 'a:2', 'c:1', 'b:2', 'a:3'];
      const head = await scene.read(store, successor, { limit: 2 });
      assert.deepEqual(names(head), expected.slice(0, 2));
      const rest = await scene.read(store, successor, { after: head.at(-1)?.position });
      assert.deepEqual(names(rest), expected.slice(2));
    },
  ),
];
