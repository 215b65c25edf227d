import assert from 'node:assert/strict';
import type { Candidate } from '../../candidates.js';
import { defineCase } from '../case.js';

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
];
