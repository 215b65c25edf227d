import type { StoredLease, StoredRecord } from '../../coordinators/rules/record.js';
import type { Lease } from '../../leases/index.js';
import { isAlive, remainingMs } from '../../leases/machine.js';
import type { Runtime } from '../../time/index.js';
import type { Bench, Checker } from './checker.js';

interface Believer {
  readonly process: string;
  readonly lease: Lease;
  readonly runtime: Runtime;
}

/**
 * Belief lies inside validity while clocks stay in bounds: no process believes that it holds a name when the store lets the
 * lease end, or another process is given the name. What a process believes is what its lease would say if it were asked
 * now, by its own clocks; it is not asked, since that would wake it.
 */
export function beliefChecker(): Checker {
  const believers = new Set<Believer>();

  const believes = ({ lease, runtime }: Believer) =>
    isAlive(lease.life) && remainingMs(lease.life, runtime.now()) > 0;

  function granted(bench: Bench, next: Believer): void {
    for (const other of believers) {
      if (other.lease.name !== next.lease.name || !believes(other)) continue;
      bench.witness.cover('two believed in one name at once');
      if (bench.isExcused('belief')) continue;
      bench.violated(
        `${next.process} got ${next.lease.name} in term ${next.lease.term} while ${other.process} believed in term ${other.lease.term}`,
      );
    }
    believers.add(next);
  }

  function ended(bench: Bench, name: string, before: StoredLease): void {
    for (const other of believers) {
      const { lease } = other;
      if (lease.name !== name || lease.term !== before.term || !believes(other)) continue;
      if (!lease.holder.equals(before.holder) || bench.isExcused('belief')) continue;
      bench.violated(
        `the store let term ${lease.term} of ${name} end while ${other.process} believed in it for another ${remainingMs(lease.life, other.runtime.now()).toFixed(3)} ms`,
      );
    }
  }

  return {
    name: 'belief',
    attach(bench) {
      const { witness } = bench;
      witness.on('acquired', (believer) => granted(bench, believer));
      witness.on('ended', ({ lease }) => {
        for (const one of believers) if (one.lease === lease) believers.delete(one);
      });
      witness.on('crashed', ({ process }) => {
        for (const one of believers) if (one.process === process) believers.delete(one);
      });
      witness.on('changed', ({ name, before, after }) => {
        if (before?.kind === 'lease' && !isSameTerm(before, after)) ended(bench, name, before);
      });
    },
  };
}

function isSameTerm(before: StoredLease, after: StoredRecord | undefined): boolean {
  return (
    after?.kind === 'lease' && after.term === before.term && after.holder.equals(before.holder)
  );
}
