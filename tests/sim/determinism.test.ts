import { describe, expect, it } from 'vitest';
import { planOf, run } from '../../src/sim/index.js';

describe('A run of the simulator', { timeout: 300_000 }, () => {
  it('is the same for the same seed, byte for byte', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const lines: string[] = [];
      const first = await run(planOf(seed), { onLine: (line) => lines.push(line) });
      const second = await run(planOf(seed));
      expect(second.hash).toBe(first.hash);
      expect(second.lineCount).toBe(lines.length);
    }
  });

  it('takes the same course when nobody asks for its hash or its lines', async () => {
    const first = await run(planOf(1));
    const second = await run(planOf(1), { isHashed: false });
    expect(second).toEqual({ ...first, plan: second.plan, hash: '' });
    expect(first.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is another one for another seed', async () => {
    const hashes = new Set<string>();
    for (let seed = 1; seed <= 5; seed++) hashes.add((await run(planOf(seed))).hash);
    expect(hashes.size).toBe(5);
  });
});
