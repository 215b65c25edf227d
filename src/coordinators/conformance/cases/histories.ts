import assert from 'node:assert/strict';
import { historyCount, type TermEntry } from '../../history.js';
import { defineCase } from '../case.js';
import { usualAct } from '../operator.js';

/** Clocks that tell Unix time and those that judge expiry may differ by this much over a few ttls. */
const clockSlackMs = 50;

const kept = { keepHistory: true } as const;
const lasting = { endedAtMs: undefined, endReason: undefined } as const;
const reasons = (entries: readonly TermEntry[]) => entries.map(({ endReason }) => endReason);

/** What a store remembers of a name: its terms, if their holders asked for that, and the acts of operators. */
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
      assert.deepEqual(reasons(await operator.terms(read)), ['vanished']);
      assert.deepEqual(reasons(await operator.terms(granted)), ['vanished', undefined]);
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

  defineCase(
    'history/acts',
    'every act leaves a line with who, when, why and for whom, in its place among the terms',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const term = await ann.take(ann.request(name, kept));
      await operator.revoke(name, { to: 'bob', reserveMs: scene.ttlMs });
      await operator.suspend(name, { by: 'cid', reason: 'a "second" thought' });
      await ann.release(name, term);
      await operator.resume(name);
      const entries = await operator.history(name);
      assert.ok(entries[0]?.kind === 'term' && entries[0].term === term);
      const acts = entries.slice(1).map((entry) => {
        if (entry.kind !== 'act') return assert.fail(`a line about term ${entry.term} came after`);
        const { atMs, ...rest } = entry;
        assert.ok(atMs > Date.UTC(2020), 'its time is Unix time in ms');
        return rest;
      });
      assert.deepEqual(acts, [
        { kind: 'act', act: 'revoke', ...usualAct, to: 'bob' },
        { kind: 'act', act: 'suspend', by: 'cid', reason: 'a "second" thought' },
        { kind: 'act', act: 'resume', ...usualAct },
      ]);
    },
  ),

  defineCase(
    'history/acts-without-terms',
    'acts leave their lines on a name whose terms leave none',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await ann.take(name);
      await operator.revoke(name);
      await operator.suspend(name);
      await operator.resume(name);
      const acts = (await operator.history(name)).map((entry) => entry.kind === 'act' && entry.act);
      assert.deepEqual(acts, ['revoke', 'suspend', 'resume']);
    },
  ),

  defineCase(
    'history/acts-once',
    'the same act again while it is in force leaves no second line; another one does',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const by = 'another';
      await ann.take(name);
      for (const parts of [{}, {}, { by }, { by }]) await operator.revoke(name, parts);
      for (const parts of [{}, {}, { by }, { by }]) await operator.suspend(name, parts);
      const acts = await operator.acts(name);
      assert.deepEqual(
        acts.map((entry) => [entry.act, entry.by]),
        [
          ['revoke', usualAct.by],
          ['revoke', by],
          ['suspend', usualAct.by],
          ['suspend', by],
        ],
      );
    },
  ),

  defineCase(
    'history/nothing-done',
    'an act that finds nothing to do leaves no line, so that random names fill no store',
    async (scene) => {
      const name = scene.newName();
      const operator = await scene.operator();
      await operator.revoke(name);
      await operator.resume(name);
      assert.deepEqual(await operator.history(name), []);
    },
  ),

  defineCase(
    'history/bounded',
    'of many lines the last hundred are kept, oldest first',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      const terms: number[] = [];
      for (let round = 0; round < historyCount / 2; round++) {
        const term = await ann.take(ann.request(name, kept));
        await ann.release(name, term);
        terms.push(term);
      }
      for (let round = 0; round < historyCount / 4 + 2; round++) {
        await operator.suspend(name, { reason: `round ${round}` });
        await operator.resume(name, { reason: `round ${round}` });
      }
      const entries = await operator.history(name);
      assert.equal(entries.length, historyCount);
      const left = entries.map((entry) =>
        entry.kind === 'term' ? entry.term : `${entry.act}: ${entry.reason}`,
      );
      const rounds = Array.from({ length: historyCount / 4 + 2 }, (_, round) => `round ${round}`);
      const acts = rounds.flatMap((round) => [`suspend: ${round}`, `resume: ${round}`]);
      assert.deepEqual(left, [...terms, ...acts].slice(-historyCount));
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

  defineCase(
    'history/restart',
    'a restart of the store with its data loses no line',
    async (scene) => {
      const name = scene.newName();
      const ann = await scene.actor('ann');
      const operator = await scene.operator();
      await ann.release(name, await ann.take(ann.request(name, kept)));
      await operator.suspend(name);
      const before = await operator.history(name);
      await scene.control('restartKeepingData')();
      await scene.reconnected(operator.client);
      assert.deepEqual(await operator.history(name), before);
      assert.equal(before.length, 2);
    },
    { needs: ['restartKeepingData'] },
  ),
];
