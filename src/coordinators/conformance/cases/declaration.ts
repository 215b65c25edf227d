import assert from 'node:assert/strict';
import type { TermHazard } from '../../contract.js';
import { defineCase } from '../case.js';

const hazards: readonly TermHazard[] = [
  'restart-with-data',
  'restart-without-data',
  'deleted-record',
  'lost-replica',
];

/** What a coordinator says of itself. */
export const declarationCases = [
  defineCase(
    'declaration/complete',
    'a coordinator declares its store, its scope and its exclusion in words a user can read',
    async (scene) => {
      const { promises } = await scene.subject.connect();
      assert.match(promises.store, /^[a-z][a-z0-9-]*$/);
      assert.ok(['process', 'machine', 'network'].includes(promises.scope));
      assert.match(promises.exclusion, /^[A-Z].*\.$/, 'the exclusion is a sentence');
      assert.match(promises.waking, /^[A-Z].*\.$/, 'how waiters are woken is a sentence');
      const clocks = ['process-monotonic', 'server-wall', 'server-monotonic'];
      assert.ok(clocks.includes(promises.expiryClock));
      for (const hazard of promises.termsSurvive) assert.ok(hazards.includes(hazard));
      assert.equal(new Set(promises.termsSurvive).size, promises.termsSurvive.length);
      assert.ok(promises.smallestTtlMs > 0 && promises.largestTtlMs > promises.smallestTtlMs);
    },
    { demonstrates: ['store', 'waking'] },
  ),

  defineCase('declaration/same', 'every client of a store declares the same', async (scene) => {
    const [one, other] = [await scene.subject.connect(), await scene.subject.connect()];
    assert.deepEqual(one.promises, other.promises);
  }),

  defineCase(
    'declaration/ttl-in-range',
    'the suite itself uses a ttl that the store grants',
    async (scene) => {
      const { promises } = await scene.subject.connect();
      assert.ok(scene.ttlMs >= promises.smallestTtlMs);
      assert.ok(scene.ttlMs * 20 <= promises.largestTtlMs, 'cases use up to 20 times the ttl');
      assert.ok(scene.call.timeoutMs * 2 <= scene.ttlMs, 'a call has at most half a ttl');
    },
  ),
];
