import type { Effect } from '../witness.js';
import type { Bench, Checker } from './checker.js';

/**
 * A new owner builds on all that its predecessors wrote: the first number that it writes follows the one that stands there.
 * It does if it installs its term before it reads, since then nothing of theirs is written any more.
 */
export function claimedStateChecker(): Checker {
  let last: { readonly term: number; readonly count: number } | undefined;

  function check(bench: Bench, { process, term, values }: Effect): void {
    const [count] = values as readonly number[];
    if (count === undefined) return;
    const standing = last?.count ?? 0;
    if (term !== last?.term && count !== standing + 1)
      bench.violated(`${process} wrote ${count} first in term ${term}, where ${standing} stood`);
    last = { term, count };
  }

  return {
    name: 'claimed-state',
    attach(bench) {
      bench.witness.on('effect', (effect) => check(bench, effect));
    },
  };
}
