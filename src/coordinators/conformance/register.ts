import assert from 'node:assert/strict';
import type { ConformanceCase } from './case.js';
import { conformanceCases } from './cases/index.js';
import type { ConformanceTarget } from './subject.js';

/** The two functions of a test framework that the suite uses; those of vitest, node:test and jest all fit. */
export interface TestFramework {
  describe(title: string, define: () => void): unknown;
  it(title: string, run: () => Promise<void>): unknown;
}

/**
 * Registers every conformance case for one target, as one test each.
 *
 * A case that does not apply is registered as well, with the reason in its title: nothing is skipped in silence.
 */
export function registerCoordinatorConformance(
  target: ConformanceTarget,
  framework: TestFramework,
): void {
  framework.describe(`coordinator conformance: ${target.name}`, () => {
    for (const conformanceCase of conformanceCases) {
      const { id, title } = conformanceCase;
      const reason = whyNotApplicable(conformanceCase, target);
      if (reason === undefined) {
        framework.it(`${id}: ${title}`, () => runConformanceCase(conformanceCase, target));
      } else {
        framework.it(`not applicable: ${id}: ${title} (${reason})`, async () =>
          assert.notEqual(reason.trim(), '', 'a declaration of impossibility gives its reason'),
        );
      }
    }
  });
}

/** The declared reason why a case cannot or need not be run on this target; `undefined` if it must pass. */
export function whyNotApplicable(
  conformanceCase: ConformanceCase,
  target: ConformanceTarget,
): string | undefined {
  for (const need of conformanceCase.needs) {
    const reason = target.impossible[need];
    if (reason !== undefined) return reason;
  }
  return conformanceCase.exemption(target.promises);
}

/** Runs one case on a subject of its own. Rejects if the requirement is not met, or a control it needs is missing. */
export async function runConformanceCase(
  conformanceCase: ConformanceCase,
  target: ConformanceTarget,
): Promise<void> {
  const subject = await target.create();
  try {
    for (const need of conformanceCase.needs) {
      assert.ok(
        subject.controls[need],
        `"${conformanceCase.id}" needs the control "${need}": offer it, or declare it impossible with a reason`,
      );
    }
    await conformanceCase.run(subject);
  } finally {
    await subject.close();
  }
}
