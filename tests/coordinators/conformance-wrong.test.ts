import { AssertionError } from 'node:assert';
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { conformanceCases, runConformanceCase } from '../../src/testing.js';
import { memoryTarget } from './memory-target.js';
import { wrongCoordinators } from './wrong/index.js';

/** A case that fails because it cannot be set up would prove nothing; so the failure must be one of an expectation. */
describe('the conformance suite rejects a coordinator that', () => {
  for (const wrong of wrongCoordinators) {
    it(`${wrong.mistake} (${wrong.rejectedBy})`, async () => {
      const conformanceCase = conformanceCases.find(({ id }) => id === wrong.rejectedBy);
      if (conformanceCase === undefined) throw new Error(`no case is named ${wrong.rejectedBy}`);
      await expect(runConformanceCase(conformanceCase, memoryTarget(wrong))).rejects.toBeInstanceOf(
        AssertionError,
      );
      await runConformanceCase(conformanceCase, memoryTarget());
    });
  }
});

it('every wrong coordinator in the folder is on the list', () => {
  const files = readdirSync(new URL('./wrong/', import.meta.url));
  expect(wrongCoordinators).toHaveLength(files.length - ['index.ts', 'wrong.ts'].length);
});
