import assert from 'node:assert/strict';
import type { Candidate } from '../../candidates.js';
import { defineCase } from '../case.js';

/** As many names as one process may wait for. */
const batchSize = 256;

const ids = (candidates: readonly Candidate[]): string[] => candidates.map(({ id }) => id);

/** Who waits for a name, and in which order. An entry grants nothing. */
export const candidateCases = [
  defineCase(
    'candidates/order',
    'who waits stands first, by preference and then by how long; then the rest, by id',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const enroll = async (id: string, standing: Candidate['standing'], preference: number) => {
        await ann.as(scene.holder(id)).enroll(name, { standing, preference });
        // Longer than the grain of any store's clock, so that the order is beyond doubt.
        await scene.subject.advance(2);
      };
      await enroll('z-observes', 'observing', 99);
      await enroll('low-first', 'waiting', 0);
      await enroll('b-present', 'present', 0);
      await enroll('high', 'waiting', 99);
      await enroll('a-present', 'present', 50);
      await enroll('low-second', 'waiting', 0);
      await enroll('middle', 'waiting', 10);
      const queue = ['high', 'middle', 'low-first', 'low-second'];
      const rest = ['a-present', 'b-present', 'z-observes'];
      assert.deepEqual(ids(await ann.candidates(name)), [...queue, ...rest]);
    },
  ),

  defineCase(
    'candidates/whole-entry',
    'an entry shows id, digest, standing, preference, times and metadata, and never the nonce',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const metadata = '{ "zone": "ä😀", "__proto__": {"n": [1, null]} }';
      const ttlMs = scene.ttlMs * 4;
      await ann.enroll(name, { standing: 'present', preference: 7, metadata, ttlMs });
      await bob.enroll(name, { standing: 'observing' });
      const [entry, plain] = await bob.candidates(name);
      assert.ok(entry !== undefined && plain !== undefined);
      const { id, digest, standing, preference } = entry;
      assert.deepEqual([id, digest], ['ann', ann.holder.digest]);
      assert.deepEqual([standing, preference, entry.metadata], ['present', 7, metadata]);
      assert.ok(entry.remainingMs > 0 && entry.remainingMs <= ttlMs);
      assert.ok(entry.sinceMs > Date.UTC(2020), 'since when is Unix time in ms');
      assert.equal(plain.metadata, undefined);
      const nonce = ann.holder.wire.slice('ann:'.length);
      assert.ok(!JSON.stringify(entry).includes(nonce), 'the nonce is for its holder alone');
    },
  ),

  defineCase(
    'candidates/position',
    'an enrollment answers with the place in the queue, and with none unless it waits',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      assert.equal((await ann.enroll(name)).position, 0);
      assert.equal((await bob.enroll(name, { preference: 1 })).position, 0);
      assert.equal((await ann.enroll(name)).position, 1);
      assert.equal((await bob.enroll(name, { standing: 'present' })).position, undefined);
      assert.equal((await ann.enroll(name)).position, 0);
    },
  ),

  defineCase(
    'candidates/refresh',
    'a refresh keeps the place and the time since when, and extends the entry',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      await ann.enroll(name, { ttlMs: scene.ttlMs });
      await scene.pass(0.3);
      await bob.enroll(name);
      const [before] = await bob.candidates(name);
      await scene.pass(0.3);
      assert.equal((await ann.enroll(name, { ttlMs: scene.ttlMs })).position, 0);
      await scene.pass(0.6);
      const [first, second] = await bob.candidates(name);
      assert.deepEqual([first?.id, second?.id], ['ann', 'bob']);
      assert.equal(first?.sinceMs, before?.sinceMs);
    },
  ),

  defineCase(
    'candidates/new-standing',
    'who begins to wait anew stands behind those who waited meanwhile',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      await ann.enroll(name);
      const [before] = await ann.candidates(name);
      await scene.subject.advance(2);
      await bob.enroll(name);
      await ann.enroll(name, { standing: 'present' });
      await scene.subject.advance(2);
      assert.equal((await ann.enroll(name)).position, 1);
      const [first, second] = await ann.candidates(name);
      assert.deepEqual([first?.id, second?.id], ['bob', 'ann']);
      assert.ok((second?.sinceMs ?? 0) > (before?.sinceMs ?? Infinity), 'since when is new too');
    },
  ),

  defineCase(
    'candidates/end-by-themselves',
    'an entry that is not refreshed ends after its ttl, and is counted no more',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      await ann.enroll(name, { ttlMs: scene.ttlMs });
      await scene.pass(0.5);
      assert.deepEqual(ids(await bob.candidates(name)), ['ann']);
      await scene.pass(0.5);
      await scene.subject.advance(1);
      assert.deepEqual(await bob.candidates(name), []);
      assert.equal((await bob.enroll(name)).position, 0);
    },
  ),

  defineCase(
    'candidates/withdraw',
    'a withdrawal leaves nothing of its own entry, and the others as they are',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      await ann.enroll(name, { metadata: '1' });
      await bob.enroll(name);
      await ann.as().withdraw(name);
      assert.deepEqual(ids(await bob.candidates(name)), ['ann', 'bob'], 'whole holders compare');
      await ann.withdraw(name);
      await ann.withdraw(name);
      assert.deepEqual(ids(await bob.candidates(name)), ['bob']);
      await bob.withdraw(name);
      assert.deepEqual(await ann.candidates(name), []);
    },
  ),

  defineCase(
    'candidates/own-name',
    'an entry is one of its name, in the group or not',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      await ann.enroll(name);
      for (const other of [scene.newName(), scene.sibling(name, 'beside'), `${name}/below`]) {
        assert.deepEqual(await ann.candidates(other), []);
      }
    },
  ),

  defineCase(
    'candidates/grant-nothing',
    'a queue keeps nobody out: who has not enrolled is granted a free name, and ends no entry',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      await ann.enroll(name, { preference: 99 });
      await bob.seesFree(name);
      await bob.take(name);
      await ann.isKeptOut(name);
      assert.deepEqual(ids(await bob.candidates(name)), ['ann']);
    },
  ),

  defineCase(
    'candidates/current',
    'an enrollment answers with what stands under the name, whatever it is',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const operator = await scene.operator();
      const stateNow = async () => (await bob.enroll(name)).current?.state;
      assert.equal(await stateNow(), undefined);
      const term = await ann.take(name);
      const { current } = await bob.enroll(name);
      assert.ok(current?.state === 'held' && current.holder.equals(ann.holder));
      assert.equal(current.term, term);
      await ann.handOff(name, term, 'ann', scene.ttlMs * 20);
      assert.equal(await stateNow(), 'reserved');
      await ann.take(ann.request(name, { graceMs: scene.ttlMs * 4 }));
      await scene.passTtl();
      assert.equal(await stateNow(), 'lock-delay');
      await operator.suspend(name);
      assert.equal(await stateNow(), 'suspended');
    },
  ),

  defineCase(
    'candidates/foreign-text',
    'a foreign text under the name keeps nobody from waiting for it',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      await scene.control('overwriteRecord')(name, 'somebody else wrote this');
      const { position, current } = await ann.enroll(name);
      assert.deepEqual([position, current], [0, undefined]);
    },
    { needs: ['overwriteRecord'] },
  ),

  defineCase(
    'candidates/duplicate',
    'of two live processes with one id each is told at its next refresh, and no later',
    async (scene) => {
      const name = scene.newName();
      const one = await scene.actor('ann');
      const other = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const enroll = async (actor: typeof one) => {
        await scene.subject.advance(2);
        return (await actor.enroll(name)).duplicate;
      };
      assert.equal(await enroll(one), false);
      assert.equal(await enroll(one), false);
      assert.equal(await enroll(bob), false, 'another id is no duplicate');
      assert.equal(await enroll(other), false, 'the first enrollment cannot tell');
      assert.equal(await enroll(one), true);
      assert.equal(await enroll(other), true);
      assert.equal(await enroll(bob), false);
    },
  ),

  defineCase(
    'candidates/no-duplicate',
    'a process that has ended is not taken for a duplicate of the next one, be its entry still there',
    async (scene) => {
      const name = scene.newName();
      const before = await scene.actor('ann');
      await before.enroll(name);
      await scene.subject.advance(2);
      const after = await scene.actor('ann');
      for (let round = 0; round < 3; round++) {
        assert.equal((await after.enroll(name)).duplicate, false);
      }
      assert.equal((await after.candidates(name)).length, 2, 'the entry of the ended one is there');
    },
  ),

  defineCase(
    'candidates/batch',
    'many names are enrolled for in one call, each with its own answer, and withdrawn from in one',
    async (scene) => {
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const names = Array.from({ length: batchSize }, () => scene.newName());
      const isQueued = (index: number) => index % 3 === 1;
      await bob.client.enroll(
        names.flatMap((name, index) =>
          isQueued(index)
            ? [{ ...waiting, name, holder: bob.holder, ttlMs: scene.ttlMs * 20, preference: 1 }]
            : [],
        ),
        scene.call,
      );
      const requests = names.map((name) => ({ name, holder: ann.holder }));
      const results = await ann.client.enroll(
        requests.map((request) => ({ ...waiting, ...request, ttlMs: scene.ttlMs * 20 })),
        scene.call,
      );
      assert.deepEqual(
        results.map(({ position }) => position),
        names.map((_, index) => (isQueued(index) ? 1 : 0)),
      );
      await ann.client.withdraw(requests, scene.call);
      assert.deepEqual(await ann.candidates(names[0] ?? ''), []);
      assert.deepEqual(ids(await ann.candidates(names[1] ?? '')), ['bob']);
      assert.deepEqual(await ann.client.enroll([], scene.call), []);
      await ann.client.withdraw([], scene.call);
    },
  ),
];

const waiting = { standing: 'waiting', preference: 0 } as const;
