import { describe, expect, it } from 'vitest';
import { planOf, run } from '../../src/sim/index.js';

describe('A run of the simulator', { timeout: 60_000 }, () => {
  it('is the same for the same seed, byte for byte', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const lines: string[] = [];
      const first = await run(planOf(seed), { onLine: (line) => lines.push(line) });
      const second = await run(planOf(seed));
      expect(second.hash).toBe(first.hash);
      expect(second.lineCount).toBe(lines.length);
    }
  });

  it('is another one for another seed', async () => {
    const hashes = new Set<string>();
    for (let seed = 1; seed <= 5; seed++) hashes.add((await run(planOf(seed))).hash);
    expect(hashes.size).toBe(5);
  });
});
