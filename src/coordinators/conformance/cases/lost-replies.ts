import assert from 'node:assert/strict';
import { defineCase } from '../case.js';

const needs = ['loseReplies', 'heal'] as const;

/** The store did it, and nobody heard: unknown is its own outcome, and every way on from it is safe. */
export const lostReplyCases = [
  defineCase(
    'lost-replies/acquire',
    'an acquire without a reply is unknown; the name is held, and the same attempt learns its term',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const request = ann.request(name, { ttlMs: scene.ttlMs * 20 });
      await scene.disturb('loseReplies', ann.client);
      const verdict = await scene.unanswered(
        ann.acquire(request),
        scene.call.timeoutMs,
        'an acquire whose reply is lost',
      );
      assert.equal(verdict, 'unknown', 'an executed request is never reported as not executed');
      const current = await bob.findsHeld(name);
      await scene.recover(ann);
      assert.equal(await ann.take(request), current.term, 'the second answer is the first one');
      await bob.seesHeld(name, ann, current.term);
    },
    { needs },
  ),

  defineCase(
    'lost-replies/undo',
    'an acquire without a reply is undone by its attempt',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const request = ann.request(name, { ttlMs: scene.ttlMs * 20 });
      await scene.disturb('loseReplies', ann.client);
      await scene.unanswered(ann.acquire(request), scene.call.timeoutMs, 'acquire');
      const { term } = await bob.findsHeld(name);
      await scene.recover(ann);
      assert.deepEqual(await ann.releaseAttempt(name, request.attempt), { outcome: 'ended' });
      assert.ok((await bob.take(name)) > term, 'the undone term is not granted again');
    },
    { needs },
  ),

  defineCase(
    'lost-replies/renew',
    'a renewal without a reply extends the lease once, in its term, and the next one is as usual',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const ttlMs = scene.ttlMs * 20;
      const term = await ann.take(name);
      await scene.disturb('loseReplies', ann.client);
      await scene.unanswered(ann.renew(name, term, { ttlMs }), scene.call.timeoutMs, 'renew');
      const { remainingMs } = await bob.seesHeld(name, ann, term);
      assert.ok(remainingMs > scene.ttlMs, 'the renewal was executed');
      await scene.recover(ann);
      assert.deepEqual(await ann.renew(name, term), { outcome: 'renewed' });
      await bob.seesHeld(name, ann, term);
    },
    { needs },
  ),

  defineCase(
    'lost-replies/release',
    'a release without a reply frees the name, and repeating it never touches the next owner',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const stale = await ann.take(ann.request(name, { ttlMs: scene.ttlMs * 20 }));
      await scene.disturb('loseReplies', ann.client);
      await scene.unanswered(ann.release(name, stale), scene.call.timeoutMs, 'release');
      const term = await bob.take(bob.request(name, { ttlMs: scene.ttlMs * 20 }));
      await scene.recover(ann);
      const again = await ann.release(name, stale);
      assert.deepEqual(again, { outcome: 'not-yours', reason: 'superseded' });
      await bob.seesHeld(name, bob, term);
    },
    { needs },
  ),

  defineCase(
    'lost-replies/handoff',
    'a handoff without a reply reserves the name, and repeating it changes nothing',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const longMs = scene.ttlMs * 20;
      const term = await ann.take(ann.request(name, { ttlMs: longMs }));
      await scene.disturb('loseReplies', ann.client);
      await scene.unanswered(
        ann.handOff(name, term, 'bob', longMs),
        scene.call.timeoutMs,
        'handoff',
      );
      await scene.recover(ann);
      assert.equal((await ann.handOff(name, term, 'cid', longMs)).outcome, 'not-yours');
      await bob.take(name);
    },
    { needs },
  ),

  defineCase(
    'lost-replies/suspend',
    'a suspension without a reply is in force; repeated, it is the same act with one line',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await scene.disturb('loseReplies', operator.client);
      await scene.unanswered(operator.suspend(name), scene.call.timeoutMs, 'suspend');
      const current = await ann.isKeptOut(name);
      assert.ok(current.state === 'suspended', `the name is "${current.state}"`);
      await scene.recover(operator);
      const answer = await operator.suspend(name);
      assert.ok(answer.state === 'suspended');
      assert.deepEqual(answer.suspension, current.suspension);
      assert.equal((await operator.acts(name)).length, 1);
    },
    { needs },
  ),

  defineCase(
    'lost-replies/revoke',
    'a revocation without a reply is in force; repeated, it is the same act with one line',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const ttlMs = scene.ttlMs * 20;
      const term = await ann.take(ann.request(name, { ttlMs }));
      await scene.disturb('loseReplies', operator.client);
      await scene.unanswered(operator.revoke(name), scene.call.timeoutMs, 'revoke');
      const revoked = { outcome: 'not-yours', reason: 'revoked' };
      assert.deepEqual(await ann.renew(name, term, { ttlMs }), revoked);
      const { revocation } = await ann.readLease(name);
      await scene.recover(operator);
      const answer = await operator.revoke(name);
      assert.ok(answer?.state === 'held');
      assert.deepEqual(answer.revocation, revocation);
      assert.equal((await operator.acts(name)).length, 1);
    },
    { needs },
  ),

  defineCase(
    'lost-replies/resume',
    'a resumption without a reply is in force, and repeating it finds nothing to resume',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await operator.suspend(name);
      await scene.disturb('loseReplies', operator.client);
      await scene.unanswered(operator.resume(name), scene.call.timeoutMs, 'resume');
      const term = await ann.take(ann.request(name, { ttlMs: scene.ttlMs * 20 }));
      await scene.recover(operator);
      assert.equal(await operator.resume(name), false);
      await ann.seesHeld(name, ann, term);
    },
    { needs },
  ),

  defineCase(
    'lost-replies/enroll',
    'an enrollment without a reply is one entry, and repeating it keeps its place',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      await scene.disturb('loseReplies', ann.client);
      await scene.unanswered(ann.enroll(name), scene.call.timeoutMs, 'enroll');
      await bob.enroll(name);
      await scene.recover(ann);
      const { position, duplicate } = await ann.enroll(name);
      assert.deepEqual([position, duplicate], [0, false]);
      const candidates = await bob.candidates(name);
      assert.deepEqual(
        candidates.map(({ id }) => id),
        ['ann', 'bob'],
      );
    },
    { needs },
  ),
];
