import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Model, step } from './memory-model.js';

it('keeps its promises in whatever order holders, operators and time do what they can', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const model = new Model();
      await model.run(steps);
      for (const each of model.seen) seen.add(each);
    }),
    { numRuns: 600 },
  );
  // A property over cases in which nothing happens proves nothing.
  expect([...seen].sort()).toEqual([
    'ended: expired',
    'ended: handed-off',
    'ended: not yet',
    'ended: released',
    'ended: revoked',
    'granted',
    'kept out: held',
    'kept out: lock-delay',
    'kept out: reserved',
    'kept out: suspended',
    'repeated attempt',
    'resumed: free',
    'resumed: held',
    'resumed: lock-delay',
    'resumed: reserved',
    'revoke',
    'revoke for a successor',
    'revoked',
    'stale: superseded',
    'stale: vanished',
    'stands: free',
    'stands: held',
    'stands: lock-delay',
    'stands: reserved',
    'stands: suspended',
    'took what was reserved',
  ]);
}, 60_000);
