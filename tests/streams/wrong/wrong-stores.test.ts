import { AssertionError } from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { runConformanceCase } from '../../../src/conformance/index.js';
import { streamConformanceCases } from '../../../src/streams/conformance/index.js';
import { altered } from '../../support/altered.js';
import { memoryStreamTarget } from '../stores/memory-target.js';
import { wrongLog } from './wrong-log.js';
import { wrongMoves } from './wrong-moves.js';
import { wrongOwnership } from './wrong-ownership.js';
import { wrongPublishing } from './wrong-publishing.js';

/** Each case below is one guard, proved by a store that breaks it. */
describe('the stream conformance suite rejects a store that', () => {
  const wrongStores = [...wrongPublishing, ...wrongOwnership, ...wrongLog, ...wrongMoves];
  for (const { flaw, rejectedBy, wrap } of wrongStores) {
    it(`${flaw} (${rejectedBy})`, async () => {
      const conformanceCase = streamConformanceCases.find(({ id }) => id === rejectedBy);
      if (conformanceCase === undefined) throw new Error(`there is no case ${rejectedBy}`);
      const run = runConformanceCase(conformanceCase, memoryStreamTarget(wrap));
      await expect(run).rejects.toBeInstanceOf(AssertionError);
    });
  }

  it('but not for being wrapped', async () => {
    const target = memoryStreamTarget((honest) => altered(honest, {}));
    for (const conformanceCase of streamConformanceCases) {
      await runConformanceCase(conformanceCase, target);
    }
  });
});
