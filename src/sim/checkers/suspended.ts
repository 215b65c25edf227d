import type { AcquireRequest, AcquireResult } from '../../coordinators/index.js';
import type { CallRecord } from '../witness.js';
import type { Bench, Checker } from './checker.js';

/**
 * The kill switch holds: once somebody was told that a name is suspended, nobody who asks for it then is granted it, until
 * somebody resumes it, or the store has lost what it knew.
 */
export function suspendedChecker(): Checker {
  /** By name: when it was told. */
  const suspended = new Map<string, number>();
  /** The last resumption that was asked for or executed, of whichever name. */
  let resumedAtMs = Number.NEGATIVE_INFINITY;

  function resumed(bench: Bench): void {
    resumedAtMs = bench.nowMs();
    suspended.clear();
  }

  function called(bench: Bench, { operation, args, outcome, sentAtMs, process }: CallRecord): void {
    if (!('value' in outcome)) return;
    if (operation === 'suspend' && sentAtMs > resumedAtMs) {
      const name = String(args[0]);
      if (!suspended.has(name)) suspended.set(name, bench.nowMs());
      bench.witness.cover('a name was suspended');
    }
    if (operation !== 'acquire') return;
    const results = outcome.value as readonly AcquireResult[];
    for (const [index, { name }] of (args[0] as readonly AcquireRequest[]).entries()) {
      const sinceMs = suspended.get(name) ?? Number.POSITIVE_INFINITY;
      if (sentAtMs <= sinceMs) continue;
      const result = results[index];
      if (result?.outcome === 'granted')
        bench.violated(
          `${process} was granted ${name} in term ${result.term} while it was suspended`,
        );
      else bench.witness.cover('a suspended name was refused');
    }
  }

  return {
    name: 'suspended',
    attach(bench) {
      const { witness } = bench;
      witness.on('calling', ({ operation }) => {
        if (operation === 'resume') resumed(bench);
      });
      witness.on('executed', ({ operation }) => {
        if (operation === 'resume') resumed(bench);
      });
      witness.on('forgot', () => resumed(bench));
      witness.on('called', (record) => called(bench, record));
    },
  };
}
