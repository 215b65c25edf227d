import type { SimEvents } from '../witness.js';
import type { Bench, Checker } from './checker.js';

/**
 * In the store's own view: a term that has ended never stands again, and a renewal changes nothing of a lease but its time.
 * A store that lost its data, or took an older state of it, begins anew.
 */
export function recordsChecker(): Checker {
  const ended = new Map<string, Set<number>>();

  function changed(bench: Bench, { name, before, after, cause }: SimEvents['changed']): void {
    if (cause === 'fault') return void ended.delete(name);
    const over = ended.get(name) ?? new Set();
    ended.set(name, over);
    if (before?.kind === 'lease' && (after?.kind !== 'lease' || after.term !== before.term))
      over.add(before.term);
    if (after?.kind !== 'lease') return;
    if (over.has(after.term))
      bench.violated(`term ${after.term} of ${name} stands again after it had ended`);
    if (before?.kind === 'lease' && after.term === before.term && after.attempt !== before.attempt)
      bench.violated(`term ${after.term} of ${name} has become that of another acquisition`);
  }

  return {
    name: 'records',
    attach(bench) {
      bench.witness.on('changed', (event) => changed(bench, event));
    },
  };
}
