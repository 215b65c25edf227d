import assert from 'node:assert/strict';
import type { Actor } from '../actor.js';
import { defineCase } from '../case.js';
import type { Scene } from '../scene.js';

const roundCount = 4;

/** The lease is whole: it stands in its term, keeps others out, and can be renewed. */
async function keeps(scene: Scene, owner: Actor, name: string, term: number): Promise<void> {
  const other = owner.as(scene.holder('other'));
  await other.findsHeld(name);
  await other.seesHeld(name, owner, term);
  const ttlMs = scene.ttlMs * 20;
  assert.deepEqual(await owner.renew(name, term, { ttlMs }), { outcome: 'renewed' });
}

/** Who is granted a name needs its entry no more: to take it back costs nothing of the lease. */
export const withdrawalCases = [
  defineCase(
    'candidates/withdraw-beside-acquire',
    'a withdrawal beside an acquisition, whichever is first, leaves the lease and the term that were granted',
    async (scene) => {
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const ttlMs = scene.ttlMs * 20;
      for (let round = 0; round < roundCount; round++) {
        const name = scene.newName();
        await ann.enroll(name);
        await bob.enroll(name);
        const acquire = () => ann.take(ann.request(name, { ttlMs }));
        const withdraw = async () => {
          await ann.withdraw(name);
          return 0;
        };
        const both = round % 2 === 0 ? [acquire(), withdraw()] : [withdraw(), acquire()];
        const term = Math.max(...(await Promise.all(both)));
        await keeps(scene, ann, name, term);
        const entered = await bob.candidates(name);
        assert.deepEqual([entered.length, entered[0]?.id], [1, 'bob']);
      }
    },
  ),

  defineCase(
    'candidates/withdraw-after-grant',
    'a withdrawal that was sent before the grant and arrives after it ends the entry, and leaves the lease and its term',
    async (scene) => {
      const name = scene.newName();
      const slow = await scene.actor('ann');
      const ann = (await scene.actor('ann')).as(slow.holder);
      await ann.enroll(name);
      await scene.disturb('holdRequests', slow.client);
      const pending = slow.withdraw(name, { timeoutMs: scene.ttlMs * 10 });
      pending.catch(() => undefined);
      const term = await ann.take(ann.request(name, { ttlMs: scene.ttlMs * 20 }));
      await scene.control('flushRequests')(slow.client);
      await scene.subject.until(pending);
      await keeps(scene, ann, name, term);
      assert.deepEqual(await ann.candidates(name), []);
    },
    { needs: ['holdRequests', 'flushRequests'] },
  ),
];
