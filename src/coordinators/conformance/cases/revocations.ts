import assert from 'node:assert/strict';
import { defineCase } from '../case.js';
import { usualAct } from '../operator.js';
import type { Scene } from '../scene.js';

const ended = { outcome: 'ended' };
const revoked = { outcome: 'not-yours', reason: 'revoked' };
const superseded = { outcome: 'not-yours', reason: 'superseded' };

/** An operator ends one term; whoever comes next is granted another. */
export const revocationCases = [
  defineCase(
    'revocations/shown',
    'a revoked lease is held still, and every look at it shows who revoked it, when and why',
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      const answer = await operator.revoke(name);
      assert.ok(answer?.state === 'held', `the name is "${answer?.state}"`);
      const { revocation } = await ann.seesHeld(name, ann, term);
      assert.deepEqual(answer.revocation, revocation, 'a read shows what the act answered');
      assert.deepEqual({ by: revocation?.by, reason: revocation?.reason }, usualAct);
      assert.ok((revocation?.atMs ?? 0) > Date.UTC(2020), 'its time is Unix time in ms');
      assert.equal(revocation?.to, undefined);
      assert.equal((await ann.findsHeld(name)).revocation?.by, usualAct.by);
    },
  ),

  defineCase(
    'revocations/not-renewed',
    'a revoked lease is neither renewed nor handed off, and its holder is told why',
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      await scene.pass(0.4);
      await operator.revoke(name);
      assert.deepEqual(await ann.renew(name, term), revoked);
      assert.deepEqual(await ann.handOff(name, term, 'bob'), revoked);
      const { remainingMs } = await ann.seesHeld(name, ann, term);
      assert.ok(remainingMs <= scene.ttlMs * 0.6 + 1, 'a revoked lease was extended');
    },
  ),

  defineCase(
    'revocations/not-early',
    'until the revoked term has had its time the name is granted to nobody else',
    async (scene) => {
      const { name, operator } = await hold(scene);
      const bob = await scene.actor('bob');
      await operator.revoke(name, { to: 'bob', reserveMs: scene.ttlMs });
      assert.equal((await bob.isKeptOut(name)).state, 'held', 'its holder may still believe in it');
    },
  ),

  defineCase(
    'revocations/expiry',
    'a revoked lease that is not released ends with its ttl, and the next term is not revoked',
    async (scene) => {
      const { name, term, operator } = await hold(scene);
      const bob = await scene.actor('bob');
      await operator.revoke(name);
      await scene.passTtl();
      const next = await bob.take(name);
      assert.ok(next > term, `term ${next} was granted after term ${term} was revoked`);
      assert.deepEqual(await bob.renew(name, next), { outcome: 'renewed' });
      assert.equal((await bob.seesHeld(name, bob, next)).revocation, undefined);
    },
  ),

  defineCase(
    'revocations/release',
    'a revoked lease can be released, and then the name is free at once',
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      const bob = await scene.actor('bob');
      await operator.revoke(name);
      assert.deepEqual(await ann.release(name, term), ended);
      await bob.seesFree(name);
      assert.ok((await bob.take(name)) > term);
    },
  ),

  defineCase(
    'revocations/successor-after-release',
    'with a successor, a revoked lease that is released leaves the name to that id alone',
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      const answer = await operator.revoke(name, { to: 'bob', reserveMs: scene.ttlMs * 4 });
      assert.ok(answer?.state === 'held' && answer.revocation?.to === 'bob');
      assert.deepEqual(await ann.release(name, term), ended);
      await goesTo(scene, name, 'bob', term);
    },
  ),

  defineCase(
    'revocations/successor-after-expiry',
    'with a successor, a revoked lease that expires leaves the name to that id alone',
    async (scene) => {
      const { name, term, operator } = await hold(scene);
      await operator.revoke(name, { to: 'bob', reserveMs: scene.ttlMs * 4 });
      await scene.passTtl();
      await goesTo(scene, name, 'bob', term);
    },
  ),

  defineCase(
    'revocations/successor-after-lock-delay',
    'a lock-delay passes before the successor of a lease that expired is granted the name',
    async (scene) => {
      const { name, term, operator } = await hold(scene, { graceMs: scene.ttlMs });
      const bob = await scene.actor('bob');
      await operator.revoke(name, { to: 'bob', reserveMs: scene.ttlMs * 4 });
      await scene.passTtl();
      assert.equal((await bob.isKeptOut(name)).state, 'lock-delay');
      await scene.passTtl();
      await goesTo(scene, name, 'bob', term);
    },
  ),

  defineCase(
    'revocations/reservation-ends',
    'a successor that does not come loses the reservation after its time',
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      await operator.revoke(name, { to: 'bob', reserveMs: scene.ttlMs / 2 });
      await ann.release(name, term);
      await ann.isKeptOut(name);
      await scene.subject.advance(scene.ttlMs / 2 + 1);
      await ann.take(name);
    },
  ),

  defineCase(
    'revocations/nothing-held',
    'where no lease is held a revocation does nothing, and answers with what is there',
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      const free = scene.newName();
      assert.equal(await operator.revoke(free), undefined);
      const next = await ann.take(free);
      assert.deepEqual(await ann.renew(free, next), { outcome: 'renewed' });
      await ann.handOff(name, term, 'bob', scene.ttlMs * 4);
      const answer = await operator.revoke(name, { to: 'cid', reserveMs: scene.ttlMs });
      assert.ok(answer?.state === 'reserved' && answer.to === 'bob', 'the handoff stands');
    },
  ),

  defineCase('revocations/again', 'the same revocation again changes nothing', async (scene) => {
    const { name, operator } = await hold(scene);
    const successor = { to: 'bob', reserveMs: scene.ttlMs };
    const first = await operator.revoke(name, successor);
    await scene.pass(0.2);
    const second = await operator.revoke(name, successor);
    assert.ok(first?.state === 'held' && second?.state === 'held');
    assert.deepEqual(second.revocation, first.revocation, 'it keeps its first time');
  }),

  defineCase(
    'revocations/other-successor',
    'another revocation of the same term names another successor',
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      const reserveMs = scene.ttlMs * 4;
      await operator.revoke(name, { to: 'bob', reserveMs });
      const answer = await operator.revoke(name, { to: 'cid', reserveMs });
      assert.ok(answer?.state === 'held' && answer.revocation?.to === 'cid');
      await ann.release(name, term);
      await goesTo(scene, name, 'cid', term);
    },
  ),

  defineCase(
    'revocations/one-term',
    'a revocation that says which term it means ends that one, and nothing if another stands there',
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      const bob = await scene.actor('bob');
      const meant = { term, to: 'cid', reserveMs: scene.ttlMs };
      await ann.release(name, term);
      const next = await bob.take(name);
      const answer = await operator.revoke(name, meant);
      assert.ok(answer?.state === 'held', `the name is "${answer?.state}"`);
      assert.deepEqual([answer.term, answer.revocation], [next, undefined]);
      assert.deepEqual(await bob.renew(name, next), { outcome: 'renewed' });
      assert.deepEqual(await operator.acts(name), [], 'nothing was done');
      const ended = await operator.revoke(name, { ...meant, term: next });
      assert.ok(ended?.state === 'held' && ended.revocation?.to === 'cid');
      assert.deepEqual(await bob.renew(name, next), revoked);
    },
  ),

  defineCase(
    'revocations/compared-first',
    "who is not the holder of a revoked lease learns that, and nothing of it is the other's",
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      const bob = await scene.actor('bob');
      await operator.revoke(name);
      assert.deepEqual(await bob.renew(name, term), superseded);
      assert.deepEqual(await ann.as().renew(name, term), superseded);
      assert.deepEqual(await ann.renew(name, term + 1), superseded);
      assert.deepEqual(await bob.release(name, term), superseded);
      await bob.seesHeld(name, ann, term);
    },
  ),

  defineCase(
    'revocations/one-name',
    'a revocation concerns its name alone: of a batch the other names are renewed',
    async (scene) => {
      const { name, ann, term, operator } = await hold(scene);
      const beside = scene.sibling(name, 'beside');
      const besideTerm = await ann.take(beside);
      await operator.revoke(name);
      const { holder } = ann;
      const { ttlMs } = scene;
      const results = await ann.client.renew(
        [
          { name, holder, term, ttlMs },
          { name: beside, holder, term: besideTerm, ttlMs },
        ],
        scene.call,
      );
      assert.deepEqual(results, [revoked, { outcome: 'renewed' }]);
    },
  ),
];

/** Ann holds a name, and an operator is there. */
async function hold(scene: Scene, parts: { readonly graceMs?: number } = {}) {
  const name = scene.newName();
  const ann = await scene.actor('ann');
  const operator = await scene.operator();
  const term = await ann.take(ann.request(name, parts));
  return { name, ann, term, operator };
}

/** Expects the name to be reserved for this id, after this term. */
async function goesTo(scene: Scene, name: string, to: string, term: number): Promise<void> {
  const dee = await scene.actor('dee');
  const current = await dee.isKeptOut(name);
  assert.ok(current.state === 'reserved', `the name is "${current.state}"`);
  assert.deepEqual([current.to, current.term], [to, term]);
  const next = await (await scene.actor(to)).take(name);
  assert.ok(next > term, `the successor's term ${next} is not above ${term}`);
}
