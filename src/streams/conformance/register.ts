import assert from 'node:assert/strict';
import type { StreamConformanceCase } from './case.js';
import { streamConformanceCases } from './cases/index.js';
import type { StreamTarget } from './subject.js';

/** The two functions of a test framework that the suite uses; those of vitest, node:test and jest all fit. */
export interface StreamTestFramework {
  describe(title: string, define: () => void): unknown;
  it(title: string, run: () => Promise<void>): unknown;
}

/**
 * Registers every stream conformance case for one target, as one test each.
 *
 * A case that does not apply is registered as well, with the reason in its title: nothing is skipped in silence.
 */
export function registerStreamConformance(
  target: StreamTarget,
  framework: StreamTestFramework,
): void {
  framework.describe(`stream conformance: ${target.name}`, () => {
    for (const conformanceCase of streamConformanceCases) {
      const { id, title, needs } = conformanceCase;
      const reason = needs.map((need) => target.impossible[need]).find((why) => why !== undefined);
      if (reason === undefined) {
        framework.it(`${id}: ${title}`, () => runStreamConformanceCase(conformanceCase, target));
      } else {
        framework.it(`not applicable: ${id}: ${title} (${reason})`, async () =>
          assert.notEqual(reason.trim(), '', 'a declaration of impossibility gives its reason'),
        );
      }
    }
  });
}

/** Runs one case on a subject of its own. Rejects if the requirement is not met, or a control it needs is missing. */
export async function runStreamConformanceCase(
  conformanceCase: StreamConformanceCase,
  target: StreamTarget,
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
