import assert from 'node:assert/strict';
import type { TermEntry } from '../../history.js';
import { defineCase } from '../case.js';

/** Clocks that tell Unix time and those that judge expiry may differ by this much over a few ttls. */
const clockSlackMs = 50;

const kept = { keepHistory: true } as const;
const lasting = { endedAtMs: undefined, endReason: undefined } as const;
const reasons = (entries: readonly TermEntry[]) => entries.map(({ endReason }) => endReason);

/** What a store remembers of the terms of a name, if their holders asked for that. */
export const historyCases = [
  defineCase(
    'history/lasting-term',
    'a term that lasts has one line, with its holder and its grant, and renewals add none',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const request = ann.request(name, kept);
      const term = await ann.take(request);
      await ann.renew(name, term);
      await ann.take(request);
      const { grantedAtMs } = await ann.readLease(name);
      const line = { kind: 'term', term, holderId: 'ann', grantedAtMs, ...lasting };
      assert.deepEqual(await operator.history(name), [line]);
    },
  ),

  defineCase(
    'history/release',
    'a term that was released has ended then, for the reason that the release gave',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const first = await ann.take(ann.request(name, kept));
      await scene.pass(0.2);
      await ann.release(name, first);
      const second = await ann.take(ann.request(name, kept));
      await ann.release(name, second, scene.call, 'shutdown');
      const request = ann.request(name, kept);
      const third = await ann.take(request);
      await ann.releaseAttempt(name, request.attempt);
      const terms = await operator.terms(name);
      assert.deepEqual(
        terms.map(({ term }) => term),
        [first, second, third],
      );
      assert.deepEqual(reasons(terms), ['released', 'shutdown', 'released']);
      const [{ grantedAtMs, endedAtMs = 0 }] = terms as [TermEntry];
      const heldMs = endedAtMs - grantedAtMs;
      assert.ok(heldMs >= scene.ttlMs * 0.2 - clockSlackMs && heldMs < scene.ttlMs, `${heldMs} ms`);
    },
  ),

  defineCase('history/handoff', 'a term that was handed off says so', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const bob = await scene.actor('bob');
    const operator = await scene.operator();
    await ann.handOff(name, await ann.take(ann.request(name, kept)), 'bob');
    await bob.take(bob.request(name, kept));
    const terms = await operator.terms(name);
    assert.deepEqual(reasons(terms), ['handed-off', undefined]);
    assert.deepEqual(
      terms.map(({ holderId }) => holderId),
      ['ann', 'bob'],
    );
  }),

  defineCase(
    'history/expired',
    'a term that expired has ended at its deadline, however much later and by whom that is noticed',
    async (scene) => {
      const [read, granted] = [scene.newName(), scene.newName()];
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      for (const name of [read, granted]) {
        const term = await ann.take(ann.request(name, kept));
        await scene.pass(0.5);
        await ann.renew(name, term);
      }
      await scene.pass(3);
      // One is only read; in the other another grant comes first.
      await ann.take(granted);
      for (const name of [read, granted]) {
        const terms = await operator.terms(name);
        assert.deepEqual(reasons(terms), ['expired']);
        const [{ grantedAtMs, endedAtMs = 0 }] = terms as [TermEntry];
        const heldMs = endedAtMs - grantedAtMs;
        assert.ok(
          heldMs >= scene.ttlMs * 1.5 - clockSlackMs && heldMs <= scene.ttlMs * 2,
          `it was held for ${heldMs} ms: half a ttl and one more`,
        );
      }
    },
  ),

  defineCase(
    'history/lock-delay',
    'a term has expired at its deadline, not at the end of its lock-delay',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await ann.take(ann.request(name, { ...kept, graceMs: scene.ttlMs }));
      await scene.passTtl();
      const [during] = await operator.terms(name);
      await scene.passTtl();
      const [after] = await operator.terms(name);
      assert.equal(during?.endReason, 'expired');
      assert.deepEqual(after, during);
    },
  ),

  defineCase(
    'history/vanished',
    'a term whose record was removed by somebody says so',
    async (scene) => {
      const [read, granted] = [scene.newName(), scene.newName()];
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      for (const name of [read, granted]) {
        await ann.take(ann.request(name, { ...kept, ttlMs: scene.ttlMs * 20 }));
        await scene.control('deleteRecord')(name);
      }
      await ann.take(ann.request(granted, kept));
      await scene.pass(0.5);
      assert.deepEqual(reasons(await operator.terms(read)), ['vanished']);
      const terms = await operator.terms(granted);
      assert.deepEqual(reasons(terms), ['vanished', undefined]);
      const [before, next] = terms as [TermEntry, TermEntry];
      const overlapMs = (before.endedAtMs ?? Infinity) - next.grantedAtMs;
      assert.ok(overlapMs <= 0, `it ended ${overlapMs} ms after the next was granted`);
    },
    { needs: ['deleteRecord'] },
  ),

  defineCase(
    'history/revoked',
    'a term that an operator ended says so, whether it was released or ran out',
    async (scene) => {
      const [released, expired] = [scene.newName(), scene.newName()];
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const term = await ann.take(ann.request(released, kept));
      await ann.take(ann.request(expired, kept));
      await operator.revoke(released);
      await operator.suspend(expired);
      assert.deepEqual(reasons(await operator.terms(released)), [undefined], 'it lasts still');
      await ann.release(released, term, scene.call, 'shutdown');
      await scene.passTtl();
      for (const name of [released, expired]) {
        assert.deepEqual(reasons(await operator.terms(name)), ['revoked']);
      }
    },
  ),

  defineCase(
    'history/not-asked-for',
    'a term leaves no line unless its holder asked for it',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await ann.release(name, await ann.take(name));
      await ann.take(ann.request(name, { keepHistory: false }));
      await scene.passTtl();
      assert.deepEqual(await operator.history(name), []);
    },
  ),

  defineCase('history/own-name', 'a line is one of its name alone', async (scene) => {
    const name = scene.newName();
    const ann = await scene.actor('ann');
    const operator = await scene.operator();
    await ann.take(ann.request(name, kept));
    for (const other of [scene.newName(), scene.sibling(name, 'beside'), `${name}/below`]) {
      assert.deepEqual(await operator.history(other), []);
    }
  }),
];
