import assert from 'node:assert/strict';
import { type Call, calledCount } from '../../candidates.js';
import type { Actor } from '../actor.js';
import { defineCase } from '../case.js';
import type { Scene } from '../scene.js';

/** How long somebody called may take to hear of it, before a case tries again. */
const hearingShare = 1 / 8;

const called = (calls: readonly Call[], name: string): boolean =>
  calls.some((call) => call.name === name);

/**
 * Who is called when a name becomes free. Calls only wake, so a case asks for a call that must come again and again
 * until it is heard; but a call that must not come is a failure whenever it comes.
 */
export const callCases = [
  defineCase(
    'calls/first-three',
    'however many wait, a release calls the first three, and tells each its place',
    async (scene) => {
      const name = scene.newName();
      const owner = await scene.actor('owner');
      const count = calledCount + 4;
      const lines: Call[][] = [];
      for (let index = 0; index < count; index++) {
        const waiter = await scene.actor(`waiter-${index}`);
        lines.push(waiter.hearCalls().calls);
        // The last to come is the first to be called.
        await waiter.enroll(name, { preference: index });
      }
      const [first, others] = [lines.slice(-calledCount), lines.slice(0, -calledCount)];
      await releasedUntil(scene, owner, name, () => first.every((calls) => called(calls, name)));
      for (const [index, calls] of first.toReversed().entries()) {
        const positions = calls.filter((call) => call.name === name).map((call) => call.position);
        assert.deepEqual([...new Set(positions)], [index]);
      }
      await scene.pass(hearingShare);
      const othersCalled = others.filter((calls) => called(calls, name)).length;
      assert.equal(othersCalled, 0, `${othersCalled} were called besides the first three`);
    },
    { demonstrates: ['waking'] },
  ),

  defineCase(
    'calls/waiting-only',
    'who is present without waiting, observes, or has withdrawn is not called',
    async (scene) => {
      const name = scene.newName();
      const owner = await scene.actor('owner');
      const [present, observer, gone] = [
        await scene.actor('present'),
        await scene.actor('observer'),
        await scene.actor('gone'),
      ];
      const lines = [present, observer, gone].map((actor) => actor.hearCalls().calls);
      await present.enroll(name, { standing: 'present', preference: 99 });
      await observer.enroll(name, { standing: 'observing', preference: 99 });
      await gone.enroll(name, { preference: 99 });
      await gone.withdraw(name);
      const { calls } = await waiting(scene, 'waiter', name);
      await releasedUntil(scene, owner, name, () => called(calls, name));
      assert.ok(
        lines.every((line) => !called(line, name)),
        'one was called that does not wait',
      );
    },
  ),

  defineCase(
    'calls/dead-waiters',
    'waiters at the head of the queue whose entries have ended keep no call from the living',
    async (scene) => {
      const name = scene.newName();
      const owner = await scene.actor('owner');
      for (let index = 0; index <= calledCount; index++) {
        const dead = owner.as(scene.holder(`dead-${index}`));
        await dead.enroll(name, { preference: 99, ttlMs: scene.ttlMs / 2 });
      }
      const { calls } = await waiting(scene, 'living', name);
      await scene.pass(0.5);
      await scene.subject.advance(1);
      await releasedUntil(scene, owner, name, () => called(calls, name));
      assert.ok(
        calls.every(({ position }) => position === 0),
        'who lives is the first',
      );
    },
  ),

  defineCase(
    'calls/handoff',
    'a handoff calls its successor alone, if it waits, wherever it stands in the queue',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const reserveMs = scene.ttlMs * 20;
      await ann.take(ann.request(name, { ttlMs: reserveMs }));
      const first = await waiting(scene, 'cid', name, 99);
      const successor = await waiting(scene, 'bob', name);
      const { actor: bob, calls } = successor;
      await scene.eventually('a call of the successor', async () => {
        await ann.handOff(name, (await ann.readLease(name)).term, 'bob', reserveMs);
        await scene.pass(hearingShare);
        const term = await bob.take(bob.request(name, { ttlMs: reserveMs }));
        await bob.handOff(name, term, 'ann', reserveMs);
        await ann.take(ann.request(name, { ttlMs: reserveMs }));
        return called(calls, name);
      });
      assert.ok(!called(first.calls, name), 'the first of the queue was called to a reserved name');
    },
  ),

  defineCase(
    'calls/revoked-for-successor',
    'the release of a lease that was revoked for a successor calls that one alone',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const reserveMs = scene.ttlMs * 20;
      await ann.take(ann.request(name, { ttlMs: reserveMs }));
      const first = await waiting(scene, 'cid', name, 99);
      const { actor: bob, calls } = await waiting(scene, 'bob', name);
      await scene.eventually('a call of the successor', async () => {
        await operator.revoke(name, { to: 'bob', reserveMs });
        await ann.release(name, (await ann.readLease(name)).term);
        await scene.pass(hearingShare);
        const term = await bob.take(bob.request(name, { ttlMs: reserveMs }));
        await bob.handOff(name, term, 'ann', reserveMs);
        await ann.take(ann.request(name, { ttlMs: reserveMs }));
        return called(calls, name);
      });
      assert.ok(!called(first.calls, name), 'the first of the queue was called to a reserved name');
    },
  ),

  defineCase(
    'calls/suspended',
    'nobody is called to a suspended name; its resumption calls who waits',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const term = await ann.take(name);
      const { calls } = await waiting(scene, 'bob', name);
      await operator.suspend(name);
      await ann.release(name, term);
      await scene.pass(0.5);
      assert.ok(!called(calls, name), 'a waiter was called to a name that nobody can have');
      await scene.eventually('a call after the name was resumed', async () => {
        await operator.resume(name);
        await scene.pass(hearingShare);
        if (called(calls, name)) return true;
        await operator.suspend(name);
        return false;
      });
    },
  ),

  defineCase(
    'calls/own-name',
    'who waits for one name is not called to another, of the same group or not',
    async (scene) => {
      const name = scene.newName();
      const owner = await scene.actor('owner');
      const { calls } = await waiting(scene, 'ann', name);
      const { calls: beside } = await waiting(scene, 'bob', scene.sibling(name, 'beside'));
      const { calls: elsewhere } = await waiting(scene, 'cid', scene.newName());
      await releasedUntil(scene, owner, name, () => called(calls, name));
      assert.ok(!called(beside, name) && !called(elsewhere, name));
    },
  ),

  defineCase(
    'calls/own-holder',
    'a call is for the holder that waits, not for another incarnation of its id',
    async (scene) => {
      const name = scene.newName();
      const owner = await scene.actor('owner');
      const before = (await scene.actor('ann')).hearCalls();
      const { calls } = await waiting(scene, 'ann', name);
      await releasedUntil(scene, owner, name, () => called(calls, name));
      assert.ok(!called(before.calls, name), 'another incarnation was called');
    },
  ),

  defineCase(
    'calls/take-back',
    'who took its listening back is not called, and taking it back twice is harmless',
    async (scene) => {
      const name = scene.newName();
      const owner = await scene.actor('owner');
      const { actor, calls } = await waiting(scene, 'ann', name);
      const stopped = actor.hearCalls();
      stopped.stop();
      stopped.stop();
      await releasedUntil(scene, owner, name, () => called(calls, name));
      assert.deepEqual(stopped.calls, []);
    },
  ),

  defineCase(
    'calls/reconnect',
    'after its connection was lost whoever listens is told that anything may have happened',
    async (scene) => {
      const { calls } = await waiting(scene, 'ann', scene.newName());
      await scene.control('restartKeepingData')();
      await scene.eventually('a call without a name', () =>
        calls.some(({ name }) => name === undefined),
      );
    },
    { needs: ['restartKeepingData'] },
  ),
];

/** A process of its own that listens and then waits for the name. */
async function waiting(scene: Scene, id: string, name: string, preference = 0) {
  const actor = await scene.actor(id);
  const { calls } = actor.hearCalls();
  await actor.enroll(name, { preference });
  return { actor, calls };
}

/** Releases the name again and again: the listening may take a moment to be in place. */
async function releasedUntil(
  scene: Scene,
  owner: Actor,
  name: string,
  isHeard: () => boolean,
): Promise<void> {
  await scene.eventually('a call after a release', async () => {
    await owner.release(name, await owner.take(name));
    await scene.pass(hearingShare);
    return isHeard();
  });
}
