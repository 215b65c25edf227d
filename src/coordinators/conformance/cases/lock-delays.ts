import assert from 'node:assert/strict';
import { groupOf } from '../../names.js';
import type { Actor } from '../actor.js';
import { defineCase } from '../case.js';
import type { Scene } from '../scene.js';

const ended = { outcome: 'ended' };
const vanished = { outcome: 'not-yours', reason: 'vanished' };

/** The pause after a lease that *expired*, for work that no fence can stop. */
export const lockDelayCases = [
  defineCase(
    'lock-delays/after-expiry',
    'a lease with a lock-delay that expires leaves the name to nobody, and says so',
    async (scene) => {
      const { name, term } = await expireWithDelay(scene, 2);
      const bob = await scene.actor('bob');
      const current = await bob.isKeptOut(name);
      assert.ok(current.state === 'lock-delay', `the name is "${current.state}"`);
      assert.equal(current.term, term, 'it shows the term that expired');
      assert.ok(current.remainingMs > 0 && current.remainingMs <= scene.ttlMs * 2);
      assert.equal((await bob.read(name))?.state, 'lock-delay', 'a read says the same');
    },
  ),

  defineCase(
    'lock-delays/end',
    'a lock-delay ends by itself, not before its time, and the next term is higher',
    async (scene) => {
      const { name, term } = await expireWithDelay(scene, 1);
      const bob = await scene.actor('bob');
      await scene.pass(0.6);
      await bob.isKeptOut(name);
      await scene.pass(0.4);
      await bob.seesFree(name);
      const next = await bob.take(name);
      assert.ok(next > term, `term ${next} was granted after term ${term} expired`);
    },
  ),

  defineCase(
    'lock-delays/for-everybody',
    'whose lease expired is kept out during its lock-delay like anybody else',
    async (scene) => {
      const { name, ann, request } = await expireWithDelay(scene, 4);
      for (const again of [request, ann.request(name)]) {
        assert.equal((await ann.isKeptOut(again)).state, 'lock-delay');
      }
    },
  ),

  defineCase(
    'lock-delays/not-after-release',
    'a release leaves no lock-delay: the next is granted the name at once',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const term = await ann.take(ann.request(name, { graceMs: scene.ttlMs * 20 }));
      assert.deepEqual(await ann.release(name, term), ended);
      await bob.seesFree(name);
      await bob.take(name);
    },
  ),

  defineCase(
    'lock-delays/not-after-handoff',
    'a handoff leaves no lock-delay, neither before its reservation nor after it',
    async (scene) => {
      const [taken, untaken] = [scene.newName(), scene.newName()];
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const graceMs = scene.ttlMs * 20;
      for (const name of [taken, untaken]) {
        const term = await ann.take(ann.request(name, { graceMs }));
        await ann.handOff(name, term, 'bob', scene.ttlMs / 2);
      }
      await bob.take(taken);
      await scene.subject.advance(scene.ttlMs / 2 + 1);
      await bob.seesFree(untaken);
    },
  ),

  defineCase(
    'lock-delays/no-revival',
    'nothing brings a lease back in its lock-delay: renewal, release and handoff find it vanished',
    async (scene) => {
      const { name, ann, term, request } = await expireWithDelay(scene, 4);
      assert.deepEqual(await ann.renew(name, term), vanished);
      assert.deepEqual(await ann.release(name, term), vanished);
      assert.deepEqual(await ann.releaseAttempt(name, request.attempt), vanished);
      assert.deepEqual(await ann.handOff(name, term, 'bob'), vanished);
      assert.equal((await ann.read(name))?.state, 'lock-delay', 'the pause goes on');
    },
  ),

  defineCase(
    'lock-delays/stay-with-the-lease',
    'a renewal keeps the lock-delay of its lease',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const graceMs = scene.ttlMs * 4;
      const term = await ann.take(ann.request(name, { graceMs }));
      await ann.renew(name, term);
      assert.equal((await ann.readLease(name)).graceMs, graceMs);
      await scene.passTtl();
      assert.equal((await ann.read(name))?.state, 'lock-delay');
    },
  ),

  defineCase(
    'lock-delays/own-lease-only',
    'a lease without a lock-delay has none, whatever the one before it had',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const graceMs = scene.ttlMs * 20;
      await ann.release(name, await ann.take(ann.request(name, { graceMs })));
      await ann.take(name);
      assert.equal((await ann.readLease(name)).graceMs, 0);
      await scene.passTtl();
      await ann.seesFree(name);
    },
  ),

  defineCase('lock-delays/listed', 'a list shows who is in a lock-delay', async (scene) => {
    const { name, ann } = await expireWithDelay(scene, 4);
    const records = await ann.client.list(groupOf(name), scene.call);
    assert.deepEqual(
      records.map((record) => [record.name, record.state]),
      [[name, 'lock-delay']],
    );
  }),

  defineCase(
    'lock-delays/restart',
    'a restart of the store with its data ends no lock-delay',
    async (scene) => {
      const { name, ann } = await expireWithDelay(scene, 20);
      await scene.control('restartKeepingData')();
      await scene.reconnected(ann.client);
      assert.equal((await ann.isKeptOut(name)).state, 'lock-delay');
    },
    { needs: ['restartKeepingData'] },
  ),
];

/** Ann's lease with a lock-delay of so many ttls has just expired. */
async function expireWithDelay(scene: Scene, delayTtls: number) {
  const name = scene.newName();
  const ann: Actor = await scene.actor('ann');
  const request = ann.request(name, { graceMs: scene.ttlMs * delayTtls });
  const term = await ann.take(request);
  await scene.passTtl();
  return { name, ann, term, request };
}
