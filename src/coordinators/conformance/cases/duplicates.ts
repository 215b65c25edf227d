import assert from 'node:assert/strict';
import { defineCase } from '../case.js';
import { usualAct } from '../operator.js';

const needs = ['duplicateRequests', 'heal'] as const;

/** Requests that the network delivers twice: the second execution changes nothing. */
export const duplicateCases = [
  defineCase(
    'duplicates/suspend',
    'a suspension that is executed twice is one act',
    async (scene) => {
      const name = scene.newName();
      const operator = await scene.operator();
      await scene.disturb('duplicateRequests', operator.client);
      await operator.suspend(name);
      await scene.recover(operator);
      await operator.seesSuspended(name);
      assert.equal((await operator.acts(name)).length, 1);
    },
    { needs },
  ),

  defineCase(
    'duplicates/revoke',
    'a revocation that is executed twice is one act',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await ann.take(ann.request(name, { ttlMs: scene.ttlMs * 20 }));
      await scene.disturb('duplicateRequests', operator.client);
      await operator.revoke(name, { to: 'bob', reserveMs: scene.ttlMs });
      await scene.recover(operator);
      const { revocation } = await ann.readLease(name);
      assert.deepEqual([revocation?.by, revocation?.to], [usualAct.by, 'bob']);
      assert.equal((await operator.acts(name)).length, 1);
    },
    { needs },
  ),

  defineCase(
    'duplicates/resume',
    'a resumption that is executed twice is one act, and its first answer counts',
    async (scene) => {
      const name = scene.newName();
      const operator = await scene.operator();
      await operator.suspend(name);
      await scene.disturb('duplicateRequests', operator.client);
      assert.equal(await operator.resume(name), true);
      await scene.recover(operator);
      assert.equal(await operator.read(name), undefined);
      assert.equal((await operator.acts(name)).length, 2);
    },
    { needs },
  ),

  defineCase(
    'duplicates/enroll',
    'an enrollment that is executed twice is one entry, and no duplicate of itself',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      await scene.disturb('duplicateRequests', ann.client);
      const first = await ann.enroll(name);
      const second = await ann.enroll(name);
      await scene.recover(ann);
      assert.deepEqual([first.position, second.position], [0, 0]);
      assert.deepEqual([first.duplicate, second.duplicate], [false, false]);
      assert.equal((await ann.candidates(name)).length, 1);
    },
    { needs },
  ),

  defineCase(
    'duplicates/history',
    'a grant and a release that are executed twice are one line',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await scene.disturb('duplicateRequests', ann.client);
      const term = await ann.take(ann.request(name, { keepHistory: true }));
      await ann.release(name, term);
      await scene.recover(ann);
      const terms = await operator.terms(name);
      assert.deepEqual(
        terms.map((entry) => [entry.term, entry.endReason]),
        [[term, 'released']],
      );
    },
    { needs },
  ),
];
