import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import { livesOf, type Mark, overlapsOf, Scene, storeNames, type Wrapper } from './harness.js';

const roundCount = 20;
const roundTtlMs = 1_200;
const isGrandchild = (mark: Mark) => mark.role === 'grandchild';

/** One seed, one sequence; given by hand to repeat a run. */
const seed = Number(process.env.TENURE_RUN_SEED ?? Math.floor(Math.random() * 2 ** 32));

describe.each(storeNames)(
  'two wrappers on %s, of which the leader is killed again and again',
  (store) => {
    it(`never have commands at the same time (seed ${seed})`, { timeout: 300_000 }, async () => {
      const scene = new Scene(store);
      const chance = new VirtualRuntime({ seed });
      const wrappers = new Map<string, Wrapper>();
      let count = 0;
      const start = () => {
        const id = `w${count++}`;
        // Half of them have commands that do not stop when they are asked to.
        const words = chance.random() < 0.5 ? ['stubborn'] : [];
        wrappers.set(id, scene.pulse(id, ['--ttl', `${roundTtlMs}ms`], words));
      };
      start();
      start();
      let term = 0;
      for (let round = 0; round < roundCount; round++) {
        const leader = await scene.marked((mark) => isGrandchild(mark) && mark.term > term);
        term = leader.term;
        await sleep(chance.random() * roundTtlMs);
        const wrapper = wrappers.get(leader.wrapper);
        wrappers.delete(leader.wrapper);
        // A third of them stand still for a while first, as a busy machine has it.
        const isFrozen = chance.random() < 0.33;
        if (isFrozen) wrapper?.signal('SIGSTOP');
        start();
        if (isFrozen) await sleep(chance.random() * roundTtlMs);
        wrapper?.signal('SIGKILL');
      }
      await scene.marked((mark) => isGrandchild(mark) && mark.term > term);
      const lives = livesOf(scene.marks);
      expect(overlapsOf(lives)).toEqual([]);
      expect(new Set(lives.map((life) => life.term)).size).toBeGreaterThan(roundCount);
      // A child and its grandchild are alive together, so marks that show no overlap at all would be wrong.
      expect(lives.length).toBeGreaterThanOrEqual(roundCount * 2);
    });
  },
);

describe('what the marks say', () => {
  const mark = (pid: number, term: number, atMs: number): Mark => ({
    wrapper: 'w',
    role: 'child',
    pid,
    term,
    atMs,
    what: 'alive',
  });

  it.each([
    ['one after the other', [mark(1, 1, 0), mark(1, 1, 10), mark(2, 2, 11), mark(2, 2, 20)], 0],
    [
      'of one term at the same time',
      [mark(1, 1, 0), mark(1, 1, 10), mark(2, 1, 5), mark(2, 1, 20)],
      0,
    ],
    [
      'of two terms at the same time',
      [mark(1, 1, 0), mark(1, 1, 10), mark(2, 2, 9), mark(2, 2, 20)],
      1,
    ],
    ['one within the other', [mark(1, 1, 0), mark(1, 1, 30), mark(2, 2, 9), mark(2, 2, 20)], 1],
  ])('is right about two processes %s', (_what, marks, count) => {
    expect(overlapsOf(livesOf(marks))).toHaveLength(count);
  });
});
