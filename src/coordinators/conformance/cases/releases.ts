import assert from 'node:assert/strict';
import { defineCase } from '../case.js';

const ended = { outcome: 'ended' };
const vanished = { outcome: 'not-yours', reason: 'vanished' };
const superseded = { outcome: 'not-yours', reason: 'superseded' };

/** Giving a name back, and nobody else's name. */
export const releaseCases = [
  defineCase('releases/free', 'a released name is free at once', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const bob = await scene.actor('bob');
    const term = await ann.take(name);
    assert.deepEqual(await ann.release(name, term), ended);
    await bob.seesFree(name);
    assert.ok((await bob.take(name)) > term, 'the next owner has a higher term');
  }),

  defineCase('releases/twice', 'a second release finds nothing to end', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const term = await ann.take(name);
    await ann.release(name, term);
    assert.deepEqual(await ann.release(name, term), vanished);
  }),

  defineCase('releases/other-term', 'a release in another term does nothing', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const stale = await ann.take(name);
    await ann.release(name, stale);
    const term = await ann.take(name);
    assert.deepEqual(await ann.release(name, stale), superseded);
    assert.deepEqual(await ann.release(name, term + 1), superseded);
    await ann.seesHeld(name, ann, term);
  }),

  defineCase(
    'releases/other-holder',
    'a release by another holder does nothing, even in the right term',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const term = await ann.take(name);
      assert.deepEqual(await bob.release(name, term), superseded);
      assert.deepEqual(await ann.as().release(name, term), superseded);
      await ann.seesHeld(name, ann, term);
    },
  ),

  defineCase(
    'releases/stale',
    "a former owner's release leaves its successor's lease as it is",
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const stale = await ann.take(name);
      await scene.passTtl();
      const term = await bob.take(name);
      assert.deepEqual(await ann.release(name, stale), superseded);
      await bob.seesHeld(name, bob, term);
    },
  ),

  defineCase(
    'releases/by-attempt',
    'an acquisition is undone by its attempt, without knowing the term',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const request = ann.request(name);
      assert.deepEqual(await ann.releaseAttempt(name, request.attempt), vanished);
      await ann.take(request);
      assert.deepEqual(await ann.releaseAttempt(name, request.attempt), ended);
      await ann.seesFree(name);
    },
  ),

  defineCase(
    'releases/by-other-attempt',
    "another attempt's release, or another holder's, does nothing",
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const request = ann.request(name);
      const term = await ann.take(request);
      assert.deepEqual(await ann.releaseAttempt(name, scene.attempt()), superseded);
      assert.deepEqual(await bob.releaseAttempt(name, request.attempt), superseded);
      await ann.seesHeld(name, ann, term);
    },
  ),

  defineCase(
    'releases/by-attempt-after-renewal',
    'the attempt still identifies the lease after it was renewed',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const request = ann.request(name);
      await ann.renew(name, await ann.take(request));
      assert.deepEqual(await ann.releaseAttempt(name, request.attempt), ended);
      await ann.seesFree(name);
    },
  ),
];
