import assert from 'node:assert/strict';
import { historyCount } from '../../history.js';
import { defineCase } from '../case.js';
import { usualAct } from '../operator.js';

const kept = { keepHistory: true } as const;

/** What is remembered of the acts of operators, and for how long. */
export const actHistoryCases = [
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
      const [by, reason] = ['another', 'another reason'];
      const repeated = [{}, {}, { by }, { by }, { by, reason }, { by, reason }];
      await ann.take(name);
      for (const parts of repeated) await operator.revoke(name, parts);
      for (const parts of repeated) await operator.suspend(name, parts);
      const acts = await operator.acts(name);
      const words = [
        [usualAct.by, usualAct.reason],
        [by, usualAct.reason],
        [by, reason],
      ];
      assert.deepEqual(
        acts.map((entry) => [entry.act, entry.by, entry.reason]),
        ['revoke', 'suspend'].flatMap((act) => words.map((each) => [act, ...each])),
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
