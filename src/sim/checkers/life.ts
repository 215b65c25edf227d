import { type Lease, LeaseEndedError } from '../../leases/index.js';
import { isAlive } from '../../leases/machine.js';
import type { Bench, Checker } from './checker.js';

/**
 * The life of a lease, as its process sees it: it is acquired once and ends once, its signal has aborted by then, and what has
 * ended never becomes held again.
 */
export function lifeChecker(): Checker {
  const living = new Map<Lease, string>();
  /** The latest only: whatever would bring one back is under way when it ends. */
  let over: Lease[] = [];

  function ended(bench: Bench, lease: Lease): void {
    if (!living.delete(lease)) bench.violated(`term ${lease.term} of ${lease.name} ended twice`);
    const { aborted, reason } = lease.signal;
    if (!aborted || !(reason instanceof LeaseEndedError))
      bench.violated(`term ${lease.term} of ${lease.name} ended, and its signal does not say so`);
    over = [...over.slice(-19), lease];
  }

  return {
    name: 'life',
    attach(bench) {
      const { witness } = bench;
      witness.on('acquired', ({ lease, process }) => {
        if (living.has(lease)) bench.violated(`term ${lease.term} was acquired twice`);
        living.set(lease, process);
      });
      witness.on('ended', ({ lease }) => ended(bench, lease));
      witness.on('crashed', ({ process }) => {
        for (const [lease, owner] of living) if (owner === process) living.delete(lease);
      });
      witness.on('called', ({ operation }) => {
        if (operation !== 'renew') return;
        const risen = over.find((lease) => isAlive(lease.life));
        if (risen !== undefined)
          bench.violated(`term ${risen.term} of ${risen.name} had ended and is held again`);
      });
    },
    atEnd(bench) {
      for (const [{ name, term }, process] of living)
        bench.violated(`${process} closed everything and term ${term} of ${name} has not ended`);
    },
  };
}
