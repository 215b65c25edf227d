import assert from 'node:assert/strict';
import { longestByBytes, longestReasonBytes } from '../../acts.js';
import type { Standing } from '../../candidates.js';
import { largestMetadataBytes } from '../../contract.js';
import { highestTerm } from '../../term.js';
import { defineCase } from '../case.js';
import { usualAct } from '../operator.js';
import { refuses } from '../refuses.js';

const dayMs = 24 * 60 * 60 * 1000;

/** What is refused of acts, candidates and lock-delays before it is sent, with nothing done. */
export const actInputCases = [
  defineCase(
    'input/act-names',
    'a name that is no name is refused by every act and every enrollment',
    async (scene) => {
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      for (const name of ['', '/a', 'a/../b', 'a\nb']) {
        await refuses('name', () => ann.enroll(name));
        await refuses('name', () => ann.withdraw(name));
        await refuses('name', () => ann.candidates(name));
        await refuses('name', () => operator.revoke(name));
        await refuses('name', () => operator.suspend(name));
        await refuses('name', () => operator.resume(name));
        await refuses('name', () => operator.history(name));
      }
    },
  ),

  defineCase(
    'input/act-words',
    'an act that does not say who and why, in one line of bounded length, is refused',
    async (scene) => {
      const name = scene.newName();
      const operator = await scene.operator();
      const bad = {
        by: 'x'.repeat(longestByBytes + 1),
        reason: 'x'.repeat(longestReasonBytes + 1),
      };
      for (const option of ['by', 'reason'] as const) {
        for (const words of ['', '  ', 'two\nlines', 'a\0b', '\ud800', bad[option]]) {
          await refuses(option, () => operator.revoke(name, { [option]: words }));
          await refuses(option, () => operator.suspend(name, { [option]: words }));
          await refuses(option, () => operator.resume(name, { [option]: words }));
        }
      }
      assert.equal(await operator.read(name), undefined);
      assert.deepEqual(await operator.history(name), []);
    },
  ),

  defineCase(
    'input/act-longest-words',
    'the longest words of an act are accepted, and come back as they were',
    async (scene) => {
      const name = scene.newName();
      const operator = await scene.operator();
      const by = `x${'ä'.repeat((longestByBytes - 1) / 2)}`;
      const reason = "'".repeat(longestReasonBytes);
      await operator.suspend(name, { by, reason });
      const { suspension } = await operator.seesSuspended(name);
      assert.deepEqual([suspension.by, suspension.reason], [by, reason]);
    },
  ),

  defineCase(
    'input/successors',
    'a revocation with a successor that is none, or without the time it has, is refused',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const term = await ann.take(name);
      const reserveMs = scene.ttlMs;
      for (const to of ['', '*', 'a b', 'a:b', 'x'.repeat(200)]) {
        await refuses('to', () => operator.revoke(name, { to, reserveMs }));
      }
      await refuses('to', () => operator.revoke(name, { reserveMs }));
      await refuses('reserveMs', () => operator.revoke(name, { to: 'bob' }));
      for (const bad of [0, -1, Number.NaN, dayMs + 1]) {
        await refuses('reserveMs', () => operator.revoke(name, { to: 'bob', reserveMs: bad }));
      }
      assert.equal((await ann.seesHeld(name, ann, term)).revocation, undefined);
    },
  ),

  defineCase(
    'input/revoked-term',
    'a revocation of a term that is none is refused',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const held = await ann.take(name);
      for (const term of [0, -1, 0.5, Number.NaN, highestTerm + 1]) {
        await refuses('term', () => operator.revoke(name, { term }));
      }
      assert.equal((await ann.seesHeld(name, ann, held)).revocation, undefined);
    },
  ),

  defineCase(
    'input/candidates',
    'a standing, preference, ttl or metadata that is none is refused',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      for (const standing of ['', 'leading', 'WAITING']) {
        const entry = { standing: standing as Standing };
        await refuses('standing', () => ann.enroll(name, entry));
      }
      for (const preference of [-1, 100, 0.5, Number.NaN]) {
        await refuses('preference', () => ann.enroll(name, { preference }));
      }
      for (const ttlMs of [0, -1, 99, dayMs + 1, Number.NaN, Infinity]) {
        await refuses('ttlMs', () => ann.enroll(name, { ttlMs }));
      }
      const tooLarge = JSON.stringify('x'.repeat(largestMetadataBytes));
      for (const metadata of ['', 'not json', tooLarge]) {
        await refuses('metadata', () => ann.enroll(name, { metadata }));
      }
      assert.deepEqual(await ann.candidates(name), []);
    },
  ),

  defineCase(
    'input/enrolled-twice',
    'a name that stands twice in a batch of enrollments or withdrawals is refused',
    async (scene) => {
      const name = scene.newName();
      const { client, holder } = await scene.actor('ann');
      const entry = {
        name,
        holder,
        standing: 'waiting',
        preference: 0,
        ttlMs: scene.ttlMs,
      } as const;
      await refuses('name', () => client.enroll([entry, entry], scene.call));
      await refuses('name', () => client.withdraw([entry, entry], scene.call));
      assert.deepEqual(await client.candidates(name, scene.call), []);
    },
  ),

  defineCase(
    'input/grace',
    'a lock-delay outside its range, or a reason of a release that is none, is refused',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      for (const graceMs of [-1, ann.client.promises.largestTtlMs + 1, Number.NaN, Infinity]) {
        await refuses('graceMs', () => ann.acquire(ann.request(name, { graceMs })));
      }
      await ann.seesFree(name);
      const term = await ann.take(name);
      for (const reason of ['', 'Released', 'two words', 'x'.repeat(33)]) {
        await refuses('reason', () => ann.release(name, term, scene.call, reason));
      }
      await ann.seesHeld(name, ann, term);
    },
  ),

  defineCase(
    'input/act-changed-later',
    'an act or an enrollment that its caller changes after the call is executed as it was',
    async (scene) => {
      const [name, held] = [scene.newName(), scene.newName()];
      const ann = await scene.actor('ann');
      const { client, holder } = ann;
      await ann.take(held);
      const act = { ...usualAct };
      const entry = {
        name,
        holder,
        standing: 'waiting' as Standing,
        preference: 1,
        ttlMs: scene.ttlMs,
      };
      const suspending = client.suspend(name, act, scene.call);
      const revoking = client.revoke(held, act, scene.call);
      const enrolling = client.enroll([entry], scene.call);
      act.by = 'somebody else';
      entry.standing = 'observing';
      const [suspended, revoked, [enrolled]] = await Promise.all([suspending, revoking, enrolling]);
      assert.ok(suspended.state === 'suspended' && revoked?.state === 'held');
      assert.equal(suspended.suspension.by, usualAct.by);
      assert.equal(revoked.revocation?.by, usualAct.by);
      assert.equal(enrolled?.position, 0, 'it waits');
    },
  ),
];
