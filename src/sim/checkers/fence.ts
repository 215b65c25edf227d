import type { Effect } from '../witness.js';
import type { Bench, Checker } from './checker.js';

/**
 * At the resource, whatever befell the store and the clocks: terms of what is applied never fall, a term has one holder, and
 * what was refused has changed nothing.
 */
export function fenceChecker(): Checker {
  const last = new Map<string, Effect>();

  function check(bench: Bench, effect: Effect): void {
    const { name, term, holderDigest, process } = effect;
    const before = last.get(name);
    last.set(name, effect);
    if (before === undefined) return;
    if (term < before.term)
      bench.violated(
        `${process} wrote for ${name} in term ${term} after ${before.process} had in term ${before.term}`,
      );
    if (term === before.term && holderDigest !== before.holderDigest)
      bench.violated(`${process} and ${before.process} both wrote for ${name} in term ${term}`);
  }

  return {
    name: 'fence',
    attach(bench) {
      bench.witness.on('effect', (effect) => check(bench, effect));
      bench.witness.on('refused', ({ process, name, term, changedSomething }) => {
        bench.witness.cover('a stale write was refused');
        if (changedSomething)
          bench.violated(
            `a write of ${process} for ${name} in term ${term} was refused and applied`,
          );
      });
    },
  };
}
