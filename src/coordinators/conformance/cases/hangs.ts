import assert from 'node:assert/strict';
import type { CallOptions } from '../../contract.js';
import { groupOf } from '../../names.js';
import type { Actor } from '../actor.js';
import { defineCase } from '../case.js';
import { usualAct } from '../operator.js';

type Call = (actor: Actor, name: string, call: CallOptions) => Promise<unknown>;

/** One call of every operation. */
const operations: Readonly<Record<string, Call>> = {
  acquire: (actor, name, call) => actor.acquire(name, call),
  renew: (actor, name, call) => actor.renew(name, 1, {}, call),
  release: (actor, name, call) => actor.release(name, 1, call),
  handoff: (actor, name, call) => actor.handOff(name, 1, 'bob', 1000, call),
  read: (actor, name, call) => actor.client.read([name], call),
  enroll: (actor, name, call) => actor.enroll(name, {}, call),
  withdraw: (actor, name, call) => actor.withdraw(name, call),
  candidates: (actor, name, call) => actor.client.candidates(name, call),
  revoke: (actor, name, call) => actor.client.revoke(name, usualAct, call),
  suspend: (actor, name, call) => actor.client.suspend(name, usualAct, call),
  resume: (actor, name, call) => actor.client.resume(name, usualAct, call),
  history: (actor, name, call) => actor.client.history(name, call),
  list: (actor, name, call) => actor.client.list(groupOf(name), call),
  readDocument: (actor, name, call) => actor.client.readDocument(name, call),
  writeDocument: (actor, name, call) => actor.client.writeDocument(name, 'x', 0, call),
};

/** A store that stops answering: every call still settles, in its time, and harms no other. */
export const hangCases = [
  defineCase(
    'hangs/every-operation',
    'while the store hangs every operation settles within its timeout, without an answer',
    async (scene) => {
      const ann = await scene.actor('ann');
      await scene.disturb('hang', ann.client);
      for (const [operation, call] of Object.entries(operations)) {
        await scene.unanswered(
          call(ann, scene.newName(), scene.call),
          scene.call.timeoutMs,
          operation,
        );
      }
    },
    { needs: ['hang'] },
  ),

  defineCase(
    'hangs/at-once',
    'calls that hang at the same time settle each in its own time, none behind another',
    async (scene) => {
      const ann = await scene.actor('ann');
      await scene.disturb('hang', ann.client);
      const { timeoutMs } = scene.call;
      const shares = [1, 0.5, 0.75, 0.25];
      await scene.allUnanswered(
        shares.map((share) => ({
          call: ann.acquire(scene.newName(), { timeoutMs: timeoutMs * share }),
          timeoutMs: timeoutMs * share,
          what: `a call with ${share} of the timeout`,
        })),
      );
    },
    { needs: ['hang'] },
  ),

  defineCase(
    'hangs/others',
    'a client that hangs is no hindrance to the others',
    async (scene) => {
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      await scene.disturb('hang', ann.client);
      const hanging = ann.acquire(scene.newName());
      hanging.catch(() => undefined);
      const name = scene.newName();
      const term = await bob.take(name);
      await bob.seesHeld(name, bob, term);
      await scene.unanswered(hanging, scene.call.timeoutMs, 'the hanging acquire');
    },
    { needs: ['hang'] },
  ),

  defineCase(
    'hangs/recover',
    'after the store answers again the same client works on, and nothing it gave up gets in the way',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      await scene.disturb('hang', ann.client);
      await scene.unanswered(ann.acquire(name), scene.call.timeoutMs, 'acquire');
      await scene.unanswered(ann.read(name), scene.call.timeoutMs, 'read');
      await scene.recover(ann);
      const others = [scene.newName(), scene.newName()] as const;
      const term = await ann.take(others[0]);
      await bob.seesHeld(others[0], ann, term);
      await ann.seesFree(others[1]);
    },
    { needs: ['hang', 'heal'] },
  ),

  defineCase(
    'hangs/cut',
    'what cannot be sent is not executed, and says so within its timeout',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const bob = await scene.actor('bob');
      const held = scene.newName();
      const term = await ann.take(ann.request(held, { ttlMs: scene.ttlMs * 20 }));
      await scene.disturb('cut', ann.client);
      const { timeoutMs } = scene.call;
      // The first call may meet a connection that is only now found dead; afterwards it is known.
      await scene.unanswered(ann.acquire(name), timeoutMs, 'the first acquire');
      const verdict = await scene.unanswered(ann.acquire(name), timeoutMs, 'acquire');
      assert.equal(verdict, 'not-executed', 'a request that was never sent is not "unknown"');
      await bob.seesFree(name);
      await scene.recover(ann);
      assert.deepEqual(await ann.renew(held, term), { outcome: 'renewed' });
    },
    { needs: ['cut', 'heal'] },
  ),
];
