import assert from 'node:assert/strict';
import { defineCase } from '../case.js';

/** As many names as one process may wait for. */
const batchSize = 256;

const waiting = { standing: 'waiting', preference: 0 } as const;

const ids = (candidates: readonly { readonly id: string }[]): string[] =>
  candidates.map(({ id }) => id);

/** What an enrollment answers, and what it leaves as it is. */
export const enrollmentCases = [
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
      // So many at once take a store that has a step for each of them their time.
      const call = { timeoutMs: scene.call.timeoutMs * 4 };
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
        call,
      );
      const requests = names.map((name) => ({ name, holder: ann.holder }));
      const results = await ann.client.enroll(
        requests.map((request) => ({ ...waiting, ...request, ttlMs: scene.ttlMs * 20 })),
        call,
      );
      assert.deepEqual(
        results.map(({ position }) => position),
        names.map((_, index) => (isQueued(index) ? 1 : 0)),
      );
      await ann.client.withdraw(requests, call);
      assert.deepEqual(await ann.candidates(names[0] ?? ''), []);
      assert.deepEqual(ids(await ann.candidates(names[1] ?? '')), ['bob']);
      assert.deepEqual(await ann.client.enroll([], call), []);
      await ann.client.withdraw([], call);
    },
  ),
];
