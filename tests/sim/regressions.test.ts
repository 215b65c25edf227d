import { describe, expect, it } from 'vitest';
import { planOf, run } from '../../src/sim/index.js';
import { regressions } from './regressions.js';

describe('A seed that has found something', { timeout: 300_000 }, () => {
  it.each(regressions)(
    'violates nothing any more: $seed, $model, $scenario',
    async ({ seed, found, ...options }) => {
      const { violation } = await run(planOf(seed, options));
      expect(violation, found).toBeUndefined();
    },
  );
});
