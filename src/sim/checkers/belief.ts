import type { StoredLease, StoredRecord } from '../../coordinators/rules/record.js';
import type { Lease } from '../../leases/index.js';
import { isAlive, remainingMs } from '../../leases/machine.js';
import type { Instant, Runtime } from '../../time/index.js';
import type { SimEvents } from '../witness.js';
import type { Bench, Checker } from './checker.js';

interface Believer {
  readonly process: string;
  readonly lease: Lease;
  readonly runtime: Runtime;
}

interface Validity {
  readonly term: number;
  readonly holderDigest: string;
  /** True time, if no clock runs faster or slower. */
  readonly untilMs: number;
}

/**
 * Belief lies inside validity while clocks stay in bounds: no process believes that it holds a name for longer than the store
 * keeps it, or when the store lets the lease end, or when another process is given the name. What a process believes is what its lease would say if it were asked
 * now, by its own clocks; it is not asked, since that would wake it.
 */
export function beliefChecker(): Checker {
  const believers = new Set<Believer>();
  /** By name; not of what a fault of the store has changed. */
  const valid = new Map<string, Validity>();

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

  function changed(bench: Bench, { name, before, after, cause }: SimEvents['changed']): void {
    if (before?.kind === 'lease' && !isSameTerm(before, after)) ended(bench, name, before);
    valid.delete(name);
    if (after?.kind !== 'lease' || cause !== 'request') return;
    const { term, holder, ttlMs } = after;
    valid.set(name, { term, holderDigest: holder.digest, untilMs: bench.nowMs() + ttlMs });
  }

  /** Bounds on clocks are narrower than the margin that a lease leaves them, so they need no allowance here. */
  function judgeLengths(bench: Bench): void {
    const nowMs = bench.nowMs();
    // Many believers are of one process, and read one clock.
    let runtime: Runtime | undefined;
    let now: Instant | undefined;
    for (const one of believers) {
      const { lease, process } = one;
      const validity = valid.get(lease.name);
      if (validity?.term !== lease.term || validity.holderDigest !== lease.holder.digest) continue;
      if (!isAlive(lease.life)) continue;
      if (now === undefined || runtime !== one.runtime) now = one.runtime.now();
      runtime = one.runtime;
      const validMs = validity.untilMs - nowMs;
      const believedMs = remainingMs(lease.life, now);
      if (believedMs <= Math.max(0, validMs) || bench.isExcused('belief')) continue;
      bench.violated(
        `${process} believes in term ${lease.term} of ${lease.name} for another ${believedMs.toFixed(3)} ms, and the store keeps it for ${validMs.toFixed(3)} ms`,
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
      witness.on('changed', (event) => changed(bench, event));
      witness.on('executed', () => judgeLengths(bench));
    },
  };
}

function isSameTerm(before: StoredLease, after: StoredRecord | undefined): boolean {
  return (
    after?.kind === 'lease' && after.term === before.term && after.holder.equals(before.holder)
  );
}
