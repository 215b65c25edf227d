import type { AcquireRequest } from '../../coordinators/index.js';
import { OutcomeUnknownError } from '../../errors/index.js';
import type { CallRecord, Witness } from '../witness.js';
import type { Checker } from './checker.js';

/** Finds nothing wrong: counts what interesting things happened, so that many green seeds cannot mean that nothing did. */
export function coverageChecker(): Checker {
  /** Attempts of acquisitions whose outcome nobody knows, and those that the store has granted. */
  const unknown = new Set<string>();
  const granted = new Set<string>();
  let lastHolder: string | undefined;

  function called(witness: Witness, { operation, args, outcome }: CallRecord): void {
    if ('value' in outcome) return;
    const { name } = outcome.error as Error;
    witness.cover(`a call failed: ${operation}, ${name}`);
    if (operation !== 'acquire' || !(outcome.error instanceof OutcomeUnknownError)) return;
    for (const { attempt } of args[0] as readonly AcquireRequest[]) {
      if (granted.has(attempt)) witness.cover('an acquisition of unknown outcome had succeeded');
      unknown.add(attempt);
    }
  }

  return {
    name: 'coverage',
    attach({ witness }) {
      witness.on('called', (record) => called(witness, record));
      witness.on('changed', ({ before, after }) => {
        if (after?.kind !== 'lease' || before?.kind === 'lease') return;
        granted.add(after.attempt);
        if (unknown.has(after.attempt))
          witness.cover('an acquisition was executed after its caller had given up');
      });
      witness.on('acquired', ({ process }) => {
        if (lastHolder !== undefined && lastHolder !== process)
          witness.cover('a name went from one process to another');
        lastHolder = process;
      });
    },
  };
}
