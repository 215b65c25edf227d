import assert from 'node:assert/strict';
import { groupOf } from '../../names.js';
import { defineCase } from '../case.js';
import { termOf } from '../show.js';

/** Segments that would mean something to a store, a path, a pattern or a script, if they were not encoded. */
const oddSegments = [
  'a b',
  'ä€😀',
  '{a}',
  '{b}',
  '*',
  '?',
  '[a-z]',
  'a:b',
  'a%2Fb',
  '%',
  "'quoted'",
  '"quoted"',
  '\\',
  '__proto__',
  'constructor',
  'A',
  'a',
];

/** What others can see of a lease. */
export const readCases = [
  defineCase(
    'reads/by-index',
    'a read answers for each name by its index: a lease, a reservation, or nothing',
    async (scene) => {
      const [held, free, reserved] = [scene.newName(), scene.newName(), scene.newName()];
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const term = await ann.take(held);
      await ann.handOff(reserved, await ann.take(reserved), 'cid');
      const records = await bob.client.read([free, held, reserved, free], scene.call);
      assert.deepEqual(
        records.map((record) => record?.state),
        [undefined, 'held', 'reserved', undefined],
      );
      assert.deepEqual([records[1]?.name, termOf(records[1])], [held, term]);
      assert.equal(records[2]?.name, reserved);
    },
  ),

  defineCase(
    'reads/whole-record',
    'a record shows the whole holder, the term, the ttl, what remains, and the metadata as given',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const metadata = '{ "host": "a\\u00e4ä😀", "__proto__": {"port": 1}, "n": [1, null] }';
      const term = await ann.take(ann.request(name, { metadata }));
      const record = await bob.seesHeld(name, ann, term);
      assert.equal(record.metadata, metadata);
      assert.equal(record.ttlMs, scene.ttlMs);
      assert.ok(record.remainingMs > 0 && record.remainingMs <= scene.ttlMs);
      assert.ok(record.grantedAtMs > Date.UTC(2020), 'the time of the grant is Unix time in ms');
      await scene.pass(0.4);
      const later = await bob.readLease(name);
      assert.ok(later.remainingMs <= record.remainingMs - scene.ttlMs * 0.4 + 1);
      assert.equal(later.grantedAtMs, record.grantedAtMs, 'the time of the grant stays');
    },
  ),

  defineCase('reads/no-metadata', 'a lease without metadata has none', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    await ann.take(name);
    assert.equal((await ann.readLease(name)).metadata, undefined);
  }),

  defineCase(
    'reads/odd-names',
    'names are data: whatever they hold, each is a name of its own and comes back as it was',
    async (scene) => {
      const base = scene.newName();
      const names = oddSegments.map((segment) => scene.sibling(base, segment));
      const ann = await scene.actor('ann');
      const results = await ann.client.acquire(
        names.map((name) => ann.request(name)),
        scene.call,
      );
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        names.map(() => 'granted'),
      );
      const records = await ann.client.read(names, scene.call);
      assert.deepEqual(
        records.map((record) => record?.name),
        names,
      );
      const listed = await ann.client.list(groupOf(base), scene.call);
      assert.deepEqual(
        listed.map((record) => record.name),
        [...names].sort(),
      );
    },
  ),

  defineCase(
    'lists/group',
    'a list holds the live leases and reservations of one group, in order of their code units',
    async (scene) => {
      const base = scene.newName();
      const inGroup = ['b', 'a', 'B', '10', '9', 'ä'].map((segment) =>
        scene.sibling(base, segment),
      );
      const elsewhere = [`${base}/deeper`, `${groupOf(base)}x/other`, scene.newName()];
      const ann = await scene.actor('ann');
      for (const name of [...inGroup, ...elsewhere]) {
        await ann.take(ann.request(name, { ttlMs: scene.ttlMs * 4 }));
      }
      const reserved = scene.sibling(base, 'r');
      await ann.handOff(reserved, await ann.take(reserved), 'bob', scene.ttlMs * 4);
      const records = await ann.client.list(groupOf(base), scene.call);
      assert.deepEqual(
        records.map(({ name }) => name),
        [...inGroup, reserved].sort(),
      );
      assert.equal(records.find(({ name }) => name === reserved)?.state, 'reserved');
    },
  ),

  defineCase(
    'lists/root',
    'the root group holds the names without a slash, and only those',
    async (scene) => {
      const name = scene.newName();
      const rootName = name.replaceAll('/', '-');
      const ann = await scene.actor('ann');
      await ann.take(name);
      await ann.take(rootName);
      const records = await ann.client.list('', scene.call);
      const names = records.map((record) => record.name);
      assert.ok(names.includes(rootName), 'the root group lists a name without a slash');
      assert.ok(!names.includes(name), 'the root group does not list the names of other groups');
    },
  ),

  defineCase(
    'lists/only-live',
    'what was released or has expired is not listed, and an unknown group is empty',
    async (scene) => {
      const name = scene.newName();
      const [expiring, released, live] = ['expiring', 'released', 'live'].map((segment) =>
        scene.sibling(name, segment),
      ) as [string, string, string];
      const ann = await scene.actor('ann');
      assert.deepEqual(await ann.client.list(groupOf(name), scene.call), []);
      await ann.take(expiring);
      await ann.release(released, await ann.take(released));
      const term = await ann.take(ann.request(live, { ttlMs: scene.ttlMs * 4 }));
      await scene.passTtl();
      const records = await ann.client.list(groupOf(name), scene.call);
      assert.deepEqual(
        records.map((record) => [record.name, termOf(record)]),
        [[live, term]],
      );
    },
  ),
];
