import { randomInt } from 'node:crypto';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { ensureBuilt } from '../../scripts/bootstrap.mjs';
import type { RunRecord } from '../../src/schedule/index.js';
import { verdictOf } from './processes/ledger.js';
import { noViolations, runProcesses, storeNames, violationsOf } from './processes/run.js';

// Replicas import the package by its name, so what runs is what was built.
beforeAll(() => ensureBuilt());

describe.concurrent('replicas that are processes', () => {
  it.each(storeNames)(
    'are killed, frozen and skewed, and each tick has one accepted run (%s)',
    async (storeName) => {
      const report = await runProcesses({
        ...{ storeName, seed: randomInt(2 ** 31), jobCount: 4, ticksPerJob: 5 },
        ...{ redisUrl: inject('redisUrl'), postgresUrl: inject('postgresUrl') },
      });
      const { verdict, accidents, summary, output } = report;
      expect(accidents, summary).toEqual([]);
      expect(violationsOf(verdict), `${summary}\n${output}`).toEqual(noViolations);
      expect(verdict.ticks).toBe(20);
    },
    120_000,
  );
});

describe('the witness against them', () => {
  const tick = (id: string, fields: Partial<RunRecord> = {}): RunRecord => ({
    ...{ id, job: 'job', kind: 'tick', tickMs: 1, state: 'succeeded', term: 5, holderId: 'a' },
    ...{ attempt: 1, failureCount: 0, interruptionCount: 0, beganAtMs: 2, endedAtMs: 3 },
    ...fields,
  });
  const told = (kind: string, run: string, attempt = 1, term = 5) => ({ kind, run, attempt, term });
  const runs = [tick('x'), tick('y', { attempt: 2, term: 6 })];
  const starts = [told('start', 'x'), told('start', 'y'), told('start', 'y', 2, 6)];
  const ends = [told('succeeded', 'x'), told('succeeded', 'y', 2, 6)];
  const effects = [told('effect', 'x'), told('effect', 'y'), told('effect', 'y', 2, 6)];

  type Told = ReturnType<typeof told>;
  const history = [...starts, ...ends];
  const cases: readonly [
    string,
    { readonly runs?: RunRecord[]; readonly told?: Told[]; readonly effects?: Told[] },
    Partial<typeof noViolations>,
  ][] = [
    ['nothing', {}, {}],
    ['a tick without a run', { runs: runs.slice(1) }, { missing: 1 }],
    [
      'one whose run did not succeed',
      { runs: [tick('x', { state: 'skipped' }), ...runs.slice(1)] },
      { missing: 1 },
    ],
    [
      'a run for no tick',
      { runs: [...runs, tick('z')], effects: [...effects, told('effect', 'z', 1, 6)] },
      { surplus: 1 },
    ],
    ['two runs for a tick', { runs: [...runs, tick('x')] }, { surplus: 1 }],
    ['a run that ended twice', { told: [...history, told('failed', 'y')] }, { endedTwice: 1 }],
    [
      'an attempt that began twice',
      { told: [...history, told('start', 'y')] },
      { sharedAttempts: 1 },
    ],
    ['a run without an effect', { effects: effects.slice(1) }, { withoutEffect: 1 }],
    [
      'an effect after a later term',
      { effects: [...effects, told('effect', 'y')] },
      { staleEffects: 1 },
    ],
  ];

  it.each(cases)('sees %s', (_, given, found) => {
    const seen = { runs, told: history, effects, ...given };
    const verdict = verdictOf(['x', 'y'], seen.runs, seen.told, seen.effects);
    expect(violationsOf(verdict)).toEqual({ ...noViolations, ...found });
  });
});
