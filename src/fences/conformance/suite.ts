import type { TestFramework } from '../../conformance/index.js';
import { batchCases } from './batches.js';
import { checkedEffectCases, effectCases } from './effects.js';
import { inputCases } from './inputs.js';
import { checkedRaceCases, raceCases } from './races.js';
import { refusalCases } from './refusals.js';
import type { BatchFenceCase, BatchFenceSubject, FenceCase, FenceSubject } from './subject.js';
import { checkedTermCases, termCases } from './terms.js';

const commonCases: readonly BatchFenceCase[] = [
  ...termCases,
  ...raceCases,
  ...effectCases,
  ...refusalCases,
  ...inputCases,
];

/**
 * Every requirement on a fence at a resource with interactive transactions. Each case uses names of its own, so a resource
 * may be shared and reused.
 */
export const fenceCases: readonly FenceCase[] = [
  ...commonCases,
  ...checkedTermCases,
  ...checkedRaceCases,
  ...checkedEffectCases,
];

/** Every requirement on a fence at a resource that executes batches. */
export const batchFenceCases: readonly BatchFenceCase[] = [...commonCases, ...batchCases];

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
  register(title, fenceCases, open, framework);
}

/** The same for a fence that is given batches. */
export function registerBatchFenceConformance<Transaction>(
  title: string,
  open: () => Promise<BatchFenceSubject<Transaction>>,
  framework: TestFramework,
): void {
  register(title, batchFenceCases, open, framework);
}

function register<Subject extends { close(): Promise<void> }>(
  title: string,
  cases: readonly {
    readonly id: string;
    readonly title: string;
    run(subject: Subject): Promise<void>;
  }[],
  open: () => Promise<Subject>,
  framework: TestFramework,
): void {
  framework.describe(title, () => {
    for (const one of cases) {
      framework.it(`${one.title} [${one.id}]`, async () => {
        const subject = await open();
        try {
          await one.run(subject);
        } finally {
          await subject.close();
        }
      });
    }
  });
}
