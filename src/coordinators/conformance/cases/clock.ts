import assert from 'node:assert/strict';
import type { CoordinatorPromises } from '../../contract.js';
import { defineCase } from '../case.js';

const needs = ['stepClock'] as const;
const hourMs = 60 * 60 * 1000;

const onlyMonotonic = ({ store, expiryClock }: CoordinatorPromises): string | undefined =>
  expiryClock === 'server-wall'
    ? `${store} declares that its wall clock judges expiry, so a step moves deadlines`
    : undefined;

/** Somebody sets the wall clock of the store. */
export const clockCases = [
  defineCase(
    'clock/forward',
    'a wall clock set forward ends no lease',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const term = await ann.take(name);
      await scene.control('stepClock')(hourMs);
      await bob.isKeptOut(name);
      assert.deepEqual(await ann.renew(name, term), { outcome: 'renewed' });
    },
    { needs, demonstrates: ['expiryClock'], exemption: onlyMonotonic },
  ),

  defineCase(
    'clock/back',
    'a wall clock set back extends no lease',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const term = await ann.take(name);
      await scene.control('stepClock')(-hourMs);
      await scene.passTtl();
      assert.ok((await bob.take(name)) > term, 'the lease ended in its time');
    },
    { needs, demonstrates: ['expiryClock'], exemption: onlyMonotonic },
  ),

  defineCase(
    'clock/terms',
    'terms rise while the wall clock is stepped back and forth',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      let last = 0;
      for (const stepMs of [0, -hourMs, hourMs, hourMs, -hourMs]) {
        await scene.control('stepClock')(stepMs);
        const term = await ann.take(name);
        assert.ok(term > last, `term ${term} was granted after term ${last}`);
        // Not expected to be answered "ended": after a step forward the lease may be gone.
        await ann.release(name, term);
        last = term;
      }
    },
    { needs },
  ),

  defineCase(
    'clock/late-requests',
    'a step of the wall clock does not let a request run after its deadline',
    async (scene) => {
      const name = scene.newName();
      const late = await scene.actor('late');
      const bob = await scene.actor('bob');
      await scene.disturb('holdRequests', late.client);
      await scene.unanswered(late.acquire(name), scene.call.timeoutMs, 'a held acquire');
      await scene.subject.advance(1);
      await scene.control('stepClock')(-hourMs);
      await scene.control('flushRequests')(late.client);
      await bob.seesFree(name);
    },
    {
      needs: ['stepClock', 'holdRequests', 'flushRequests'],
      demonstrates: ['expiryClock'],
      exemption: onlyMonotonic,
    },
  ),
];
