import { describe, expect, it } from 'vitest';
import {
  explain,
  type Fault,
  type Plant,
  parseSchedule,
  planOf,
  run,
} from '../../src/sim/index.js';

/** Does not know of time that a suspended machine did not notice. */
const sleepy: Plant = {
  name: 'uptime ignored',
  runtime: (runtime) => ({
    ...runtime,
    now: () => {
      const { monotonicMs, wallMs } = runtime.now();
      return { monotonicMs, uptimeMs: monotonicMs, wallMs };
    },
  }),
};

const choice = { model: 'linearizable', scenario: 'election' };
const { processIds } = planOf(1, choice);

const noise = processIds.flatMap((machine, index): Fault[] => [
  { kind: 'drift', machine, atMs: 0, rate: 1 + index / 1_000 },
  { kind: 'step-wall', machine, atMs: 1_000 * index, byMs: 20 },
  {
    ...{ kind: 'delay', machine, direction: 'both', atMs: 2_000, forMs: 50 },
    ...{ share: 0.5, seed: index },
  },
]);
const suspends = processIds.map(
  (machine): Fault => ({ kind: 'suspend', machine, atMs: 8_000, forMs: 12_000 }),
);
const plan = planOf(1, { ...choice, schedule: [...noise, ...suspends] });

describe('A run that fails', { timeout: 300_000 }, () => {
  it('is shrunk to the faults that it takes, and says how to see it again', async () => {
    const failed = await run(plan, { plant: sleepy });
    expect(failed.violation?.checker).toBe('belief');

    const { shrunk, trace, summary } = await explain(failed, { plant: sleepy });

    expect(shrunk.plan.schedule.map(({ kind }) => kind)).toEqual(['suspend']);
    expect(shrunk.violation?.checker).toBe('belief');
    expect(trace.at(-1)).toContain('belief violated');
    expect(summary.join('\n')).toContain(JSON.stringify(shrunk.plan.schedule));
  });

  it('is the same run when its schedule is read again', async () => {
    const failed = await run(plan, { plant: sleepy });
    const schedule = parseSchedule(JSON.stringify(failed.plan.schedule));
    const again = await run(planOf(1, { ...choice, schedule }), { plant: sleepy });
    expect(again.hash).toBe(failed.hash);
  });

  it('does not fail without the bug', async () => {
    expect((await run(plan)).violation).toBeUndefined();
  });
});

describe('A schedule', () => {
  it.each([
    ['{', 'is no JSON'],
    ['{}', 'is no list'],
    ['[1]', 'is no object'],
    ['[{"kind":"flood"}]', 'a kind that there is not'],
    ['[{"kind":"__proto__"}]', 'a kind that there is not'],
    ['[{"kind":"pause","machine":"p1","atMs":1}]', 'needs forMs'],
    ['[{"kind":"drift","machine":"p1","atMs":1,"rate":"fast"}]', 'needs rate'],
  ])('is refused: %s', (text, why) => {
    expect(() => parseSchedule(text)).toThrow(why);
  });
});
