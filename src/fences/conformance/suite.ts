import type { TestFramework } from '../../conformance/index.js';
import { effectCases } from './effects.js';
import { inputCases } from './inputs.js';
import { raceCases } from './races.js';
import { refusalCases } from './refusals.js';
import type { FenceCase, FenceSubject } from './subject.js';
import { termCases } from './terms.js';

/** Every requirement on a fence. Each case uses names of its own, so a resource may be shared and reused. */
export const fenceCases: readonly FenceCase[] = [
  ...termCases,
  ...raceCases,
  ...effectCases,
  ...refusalCases,
  ...inputCases,
];

/**
 * Registers the whole suite with a test framework:
 *
 * ```ts
 * import { describe, it } from 'vitest';
 * registerFenceConformance('my fence', openSubject, { describe, it });
 * ```
 *
 * @param open makes a fresh subject for each case; the suite closes it.
 */
export function registerFenceConformance<Transaction>(
  title: string,
  open: () => Promise<FenceSubject<Transaction>>,
  framework: TestFramework,
): void {
  framework.describe(title, () => {
    for (const one of fenceCases) {
      framework.it(`${one.title} [${one.id}]`, async () => await runCase(one, open));
    }
  });
}

async function runCase<Transaction>(
  one: FenceCase,
  open: () => Promise<FenceSubject<Transaction>>,
): Promise<void> {
  const subject = await open();
  try {
    await one.run(subject);
  } finally {
    await subject.close();
  }
}
