import assert from 'node:assert/strict';
import type { CallOptions } from '../../contract.js';
import type { Actor } from '../actor.js';
import { defineCase } from '../case.js';
import type { Scene } from '../scene.js';

const needs = ['holdRequests', 'flushRequests'] as const;

/** Requests that reach the store after their caller has given up: each is refused there, and nothing is changed. */
export const latenessCases = [
  defineCase(
    'lateness/acquire',
    'an acquire that arrives after its deadline is not executed',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      await arrivesLate(scene, late, (call) => late.acquire(name, call));
      await bob.seesFree(name);
      await bob.take(name);
    },
    { needs },
  ),

  defineCase(
    'lateness/acquire-after-successor',
    "a late acquire leaves the record of whoever came meanwhile as it is, even if it had the successor's id",
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('worker');
      const next = await scene.actor('worker');
      let term = 0;
      await arrivesLate(
        scene,
        late,
        (call) => late.acquire(name, call),
        async () => {
          term = await next.take(next.request(name, { ttlMs: scene.ttlMs * 20 }));
        },
      );
      await next.seesHeld(name, next, term);
    },
    { needs },
  ),

  defineCase(
    'lateness/renew',
    'a renewal that arrives after its deadline extends nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      const term = await late.take(late.request(name, { ttlMs: scene.ttlMs * 4 }));
      await arrivesLate(scene, late, (call) =>
        late.renew(name, term, { ttlMs: scene.ttlMs * 20 }, call),
      );
      const { remainingMs } = await bob.seesHeld(name, late, term);
      assert.ok(remainingMs <= scene.ttlMs * 4, 'a late renewal extended the lease');
    },
    { needs },
  ),

  defineCase(
    'lateness/release',
    'a release that arrives after its deadline ends nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      const term = await late.take(late.request(name, { ttlMs: scene.ttlMs * 20 }));
      await arrivesLate(scene, late, (call) => late.release(name, term, call));
      await bob.seesHeld(name, late, term);
    },
    { needs },
  ),

  defineCase(
    'lateness/handoff',
    'a handoff that arrives after its deadline reserves nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      const term = await late.take(late.request(name, { ttlMs: scene.ttlMs * 20 }));
      await arrivesLate(scene, late, (call) =>
        late.handOff(name, term, 'bob', scene.ttlMs * 20, call),
      );
      await bob.seesHeld(name, late, term);
    },
    { needs },
  ),

  defineCase(
    'lateness/document',
    'a write of a document that arrives after its deadline writes nothing',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      await arrivesLate(scene, late, (call) => late.client.writeDocument(name, 'late', 0, call));
      assert.equal(await bob.client.readDocument(name, scene.call), undefined);
    },
    { needs },
  ),

  defineCase(
    'lateness/in-time',
    'a request that is delayed but arrives before its deadline is executed',
    async (scene) => {
      const name = scene.newName();
      const slow = await scene.actor('slow');
      await scene.disturb('holdRequests', slow.client);
      const pending = slow.acquire(name, { timeoutMs: scene.ttlMs });
      pending.catch(() => undefined);
      await scene.pass(0.25);
      await scene.control('flushRequests')(slow.client);
      const result = await scene.subject.until(pending);
      assert.equal(result.outcome, 'granted');
    },
    { needs },
  ),
];

/** Holds the request back until its caller has given it up, then delivers it. */
async function arrivesLate(
  scene: Scene,
  actor: Actor,
  send: (call: CallOptions) => Promise<unknown>,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<void> {
  await scene.disturb('holdRequests', actor.client);
  const verdict = await scene.unanswered(send(scene.call), scene.call.timeoutMs, 'a held request');
  assert.equal(verdict, 'unknown', 'a request that is still on its way is not "not executed"');
  await meanwhile();
  await scene.subject.advance(1);
  await scene.control('flushRequests')(actor.client);
}
