import assert from 'node:assert/strict';
import { ClosedError } from '../../../errors/index.js';
import { groupOf } from '../../names.js';
import { defineCase } from '../case.js';
import { usualAct } from '../operator.js';

/** What is left of a client after `close()`: nothing that costs, and nothing that answers. */
export const closingCases = [
  defineCase(
    'closing/twice',
    'closing twice, or at once from two places, is harmless',
    async (scene) => {
      const { client } = await scene.actor('ann');
      await scene.subject.until(Promise.all([client.close(), client.close()]));
      await client.close();
    },
  ),

  defineCase('closing/refuse', 'after close every operation says so', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const { client } = ann;
    const term = await ann.take(name);
    await scene.subject.until(client.close());
    const calls = [
      () => ann.acquire(name),
      () => ann.renew(name, term),
      () => ann.release(name, term),
      () => ann.handOff(name, term, 'bob'),
      () => ann.read(name),
      () => ann.enroll(name),
      () => ann.withdraw(name),
      () => ann.candidates(name),
      () => client.revoke(name, usualAct, scene.call),
      () => client.suspend(name, usualAct, scene.call),
      () => client.resume(name, usualAct, scene.call),
      () => client.history(name, scene.call),
      () => client.list(groupOf(name), scene.call),
      () => client.readDocument(name, scene.call),
      () => client.writeDocument(name, 'x', 0, scene.call),
      async () => client.watch(groupOf(name), () => undefined),
      async () => ann.hearCalls(),
    ];
    for (const call of calls) await assert.rejects(call, ClosedError);
  }),

  defineCase('closing/unused', 'a client that was never used closes', async (scene) => {
    const client = await scene.subject.connect();
    await scene.subject.until(client.close());
  }),

  defineCase('closing/keep-leases', 'closing a client ends no lease', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const bob = await scene.actor('bob');
    const term = await ann.take(ann.request(name, { ttlMs: scene.ttlMs * 4 }));
    await scene.subject.until(ann.client.close());
    await bob.isKeptOut(name);
    await bob.seesHeld(name, ann, term);
  }),

  defineCase('closing/others', 'closing one client leaves the others working', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const bob = await scene.actor('bob');
    await scene.subject.until(ann.client.close());
    const term = await bob.take(name);
    await bob.seesHeld(name, bob, term);
  }),

  defineCase(
    'closing/in-flight',
    'a call that was sent before the client is closed settles within its timeout, as unknown',
    async (scene) => {
      const ann = await scene.actor('ann');
      await scene.disturb('hang', ann.client);
      const pending = ann.acquire(scene.newName());
      pending.catch(() => undefined);
      // Until it is really sent, "closed, did nothing" would be the truth.
      await scene.subject.advance(scene.call.timeoutMs / 4);
      await scene.subject.until(ann.client.close());
      await scene.unanswered(pending, scene.call.timeoutMs, 'a call under way');
    },
    { needs: ['hang'] },
  ),

  defineCase(
    'closing/no-wake',
    'no watch is woken, and nobody called, after its client was closed',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      let wakeCount = 0;
      bob.client.watch(groupOf(name), () => {
        wakeCount += 1;
      });
      const { calls } = bob.hearCalls();
      await bob.enroll(name);
      await scene.subject.until(bob.client.close());
      const countThen = wakeCount + calls.length;
      await ann.release(name, await ann.take(name));
      await scene.pass(0.25);
      assert.equal(wakeCount + calls.length, countThen);
    },
  ),

  defineCase(
    'closing/nothing-pending',
    'after close no timer, socket or call is left open',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      await ann.take(name);
      ann.client.watch(groupOf(name), () => undefined);
      bob.client.watch(groupOf(name), () => undefined)();
      ann.hearCalls();
      bob.hearCalls().stop();
      await ann.enroll(name, { standing: 'present' });
      await bob.enroll(name);
      await scene.disturb('hang', bob.client);
      bob.acquire(name).catch(() => undefined);
      await scene.subject.until(Promise.all([ann.client.close(), bob.client.close()]));
      // Sockets may take a moment to close; but a timer that merely runs out in the end was left behind.
      await scene.eventually(
        'an end of everything that was open',
        async () => (await scene.control('pendingCount')()) === 0,
        scene.call.timeoutMs / 4,
      );
    },
    { needs: ['hang', 'pendingCount'] },
  ),
];
