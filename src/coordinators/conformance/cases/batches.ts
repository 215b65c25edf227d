import assert from 'node:assert/strict';
import type { HandoffRequest, RenewRequest } from '../../contract.js';
import { isTerm } from '../../term.js';
import type { Actor } from '../actor.js';
import { defineCase } from '../case.js';
import type { Scene } from '../scene.js';
import { termOf } from '../show.js';

/** As many names as a worker may own: one lease per shard, 256 shards. */
const batchSize = 256;

/**
 * Many names in one call, each with its own answer. That a call is one round trip is a promise no case can test: it
 * needs a look at the wire.
 */
export const batchCases = [
  defineCase(
    'batches/256',
    '256 names are acquired, renewed, read and released in one call each',
    async (scene) => {
      const ann = await scene.actor('ann');
      const names = Array.from({ length: batchSize }, () => scene.newName());
      const terms = await takeAll(scene, ann, names);
      assert.ok(terms.every(isTerm), 'every grant has a term');

      const own = names.map((name, index) => ({
        name,
        holder: ann.holder,
        term: terms[index] ?? 0,
      }));
      const renewals = await ann.client.renew(
        own.map((request) => ({ ...request, ttlMs: scene.ttlMs * 4 })),
        scene.call,
      );
      assert.ok(renewals.length === batchSize);
      assert.ok(renewals.every(({ outcome }) => outcome === 'renewed'));

      const records = await ann.client.read(names, scene.call);
      assert.deepEqual(
        records.map((record) => [record?.name, termOf(record)]),
        names.map((name, index) => [name, terms[index]]),
      );

      const releases = await ann.client.release(own, scene.call);
      assert.ok(releases.length === batchSize);
      assert.ok(releases.every(({ outcome }) => outcome === 'ended'));
      const after = await ann.client.read(names, scene.call);
      assert.ok(after.every((record) => record === undefined));
    },
  ),

  defineCase(
    'batches/by-index',
    'each request of a mixed batch is answered at its own index',
    async (scene) => {
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const names = Array.from({ length: 9 }, () => scene.newName());
      const theirs = names.filter((_, index) => isTheirs(index));
      const theirTerms = await takeAll(scene, bob, theirs);

      const acquired = await ann.client.acquire(
        names.map((name) => ann.request(name)),
        scene.call,
      );
      assert.deepEqual(
        acquired.map(({ outcome }) => outcome),
        names.map((_, index) => (isTheirs(index) ? 'held' : 'granted')),
      );
      const records = await ann.client.read(names, scene.call);
      for (const [index, result] of acquired.entries()) {
        const term = result.outcome === 'granted' ? result.term : theirTerms.shift();
        assert.equal(termOf(records[index]), term, `answer ${index} belongs to name ${index}`);
      }

      const requests = names.map((name, index) => ({
        name,
        holder: ann.holder,
        term: termOf(records[index]) ?? 0,
      }));
      await answersByIndex(scene, ann, requests);
    },
  ),

  defineCase('batches/empty', 'an empty batch has an empty answer', async (scene) => {
    const { client } = await scene.actor('ann');
    assert.deepEqual(await client.acquire([], scene.call), []);
    assert.deepEqual(await client.renew([], scene.call), []);
    assert.deepEqual(await client.release([], scene.call), []);
    assert.deepEqual(await client.handoff([], scene.call), []);
    assert.deepEqual(await client.read([], scene.call), []);
  }),

  defineCase(
    'batches/overlapping',
    'batches that overlap and run at once grant each name once',
    async (scene) => {
      const names = Array.from({ length: 40 }, () => scene.newName());
      const actors = await Promise.all(['ann', 'bob', 'cid'].map((id) => scene.actor(id)));
      const results = await Promise.all(
        actors.map((actor, index) => {
          const wanted = index === 1 ? [...names].reverse() : names;
          return actor.client.acquire(
            wanted.map((name) => actor.request(name)),
            scene.call,
          );
        }),
      );
      const grantedCount = results.flat().filter(({ outcome }) => outcome === 'granted').length;
      assert.equal(grantedCount, names.length, 'each of the names is granted exactly once');
    },
  ),
];

const isTheirs = (index: number) => index % 3 === 1;

async function takeAll(scene: Scene, actor: Actor, names: readonly string[]): Promise<number[]> {
  const results = await actor.client.acquire(
    names.map((name) => actor.request(name, { ttlMs: scene.ttlMs * 4 })),
    scene.call,
  );
  assert.equal(results.length, names.length);
  return results.map((result) =>
    result.outcome === 'granted' ? result.term : assert.fail(`not granted: ${result.outcome}`),
  );
}

/** Every third request is for somebody else's lease; renew, handoff and release each say so in the right places. */
async function answersByIndex(
  scene: Scene,
  actor: Actor,
  requests: readonly Pick<RenewRequest, 'name' | 'holder' | 'term'>[],
): Promise<void> {
  const expected = (own: string) =>
    requests.map((_, index) => (isTheirs(index) ? 'not-yours' : own));
  const outcomes = (results: readonly { outcome: string }[]) =>
    results.map(({ outcome }) => outcome);
  const { ttlMs } = scene;

  const renewals = requests.map((request) => ({ ...request, ttlMs: ttlMs * 4 }));
  assert.deepEqual(outcomes(await actor.client.renew(renewals, scene.call)), expected('renewed'));

  const half = Math.floor(requests.length / 2);
  const handoffs: HandoffRequest[] = requests
    .slice(0, half)
    .map((request) => ({ ...request, to: 'dee', reserveMs: ttlMs }));
  assert.deepEqual(
    outcomes(await actor.client.handoff(handoffs, scene.call)),
    expected('ended').slice(0, half),
  );
  assert.deepEqual(
    outcomes(await actor.client.release(requests.slice(half), scene.call)),
    expected('ended').slice(half),
  );
}
