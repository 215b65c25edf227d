import assert from 'node:assert/strict';
import { defineCase } from '../case.js';
import { termOf } from '../show.js';

/** Who is granted a name, and who is not. */
export const grantCases = [
  defineCase(
    'grants/exclusive',
    'a name that is held is granted to nobody else, and the answer says who holds it',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const term = await ann.take(name);
      const current = await bob.findsHeld(name);
      assert.ok(current.holder.equals(ann.holder), 'the answer names the whole holder');
      assert.equal(current.term, term);
      assert.equal(current.name, name);
      await ann.seesHeld(name, ann, term);
    },
    { demonstrates: ['exclusion', 'scope'] },
  ),

  defineCase(
    'grants/race',
    'of many clients that want one name at once, exactly one is granted it',
    async (scene) => {
      const name = scene.newName();
      const actors = await Promise.all(
        Array.from({ length: 8 }, (_, index) => scene.actor(`racer-${index}`)),
      );
      const results = await Promise.all(actors.map((actor) => actor.acquire(name)));
      const terms = results.flatMap((result) =>
        result.outcome === 'granted' ? [result.term] : [],
      );
      assert.equal(terms.length, 1, `${terms.length} of 8 clients were granted one name`);
      for (const result of results) {
        if (result.outcome === 'granted') continue;
        assert.ok(result.outcome === 'held', `a loser is told "held", not "${result.outcome}"`);
        assert.equal(
          termOf(result.current),
          terms[0],
          'every loser is told the term of the winner',
        );
      }
    },
    { demonstrates: ['exclusion'] },
  ),

  defineCase(
    'grants/own-live-lease',
    "a holder's own live lease from another attempt is held, not granted again",
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const term = await ann.take(name);
      const current = await ann.findsHeld(name);
      assert.equal(current.term, term);
    },
  ),

  defineCase(
    'grants/other-incarnation',
    'another incarnation of the same id is another holder, and is kept out',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const restarted = await scene.actor('ann');
      const term = await ann.take(name);
      await restarted.isKeptOut(name);
      await restarted.seesHeld(name, ann, term);
    },
  ),

  defineCase(
    'grants/attempt-again',
    'a second execution of an attempt answers with the same term and extends nothing',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const request = ann.request(name);
      const term = await ann.take(request);
      await scene.pass(0.4);
      assert.equal(await ann.take(request), term, 'one attempt has one term');
      const { remainingMs } = await ann.seesHeld(name, ann, term);
      assert.ok(
        remainingMs <= scene.ttlMs * 0.6 + 1,
        `a repeated attempt extended the lease: ${remainingMs} of ${scene.ttlMs} ms remain after 0.4 ttl`,
      );
    },
  ),

  defineCase(
    'grants/attempt-of-another',
    "somebody else's attempt, even with the same text, is not the holder's",
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const { attempt } = ann.request(name);
      const term = await ann.take(ann.request(name, { attempt }));
      await bob.isKeptOut(bob.request(name, { attempt }));
      await bob.seesHeld(name, ann, term);
    },
  ),

  defineCase(
    'grants/attempt-after-release',
    'an attempt repeated after its lease was released is never answered with the old term',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const request = ann.request(name);
      const term = await ann.take(request);
      await ann.release(name, term);
      const again = await ann.acquire(request);
      if (again.outcome !== 'granted') return;
      assert.ok(again.term > term, `term ${term} was released and then granted again`);
      await ann.seesHeld(name, ann, again.term);
    },
  ),

  defineCase(
    'grants/duplicated-request',
    'an acquire that the network delivers twice is one grant with one term',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      await scene.disturb('duplicateRequests', ann.client);
      const term = await ann.take(name);
      await scene.recover(ann);
      await ann.seesHeld(name, ann, term);
    },
    { needs: ['duplicateRequests', 'heal'] },
  ),
];
