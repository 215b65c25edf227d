import type {
  HandoffRequest,
  Holder,
  ReleaseRequest,
  RenewRequest,
} from '../../coordinators/index.js';
import type { StoredLease } from '../../coordinators/rules/record.js';
import type { CallRecord, SimEvents } from '../witness.js';
import type { Bench, Checker } from './checker.js';

/**
 * In the store's view a name has one owner, and nobody else ends its term: a live lease is not given to another, a renewal never
 * changes a term, and a lease ends by its time, by a fault of the store, or by a request of its own holder for this very term
 * or attempt. What is stale does nothing.
 */
export function ownershipChecker(): Checker {
  /** What its own holder has asked to be ended, and may still arrive. */
  const wanted = new Set<string>();
  /** Since when a term is known to be over. */
  const over = new Map<string, number>();
  /** Of whichever name: hardly any that is renewed is among them. */
  const overTerms = new Set<number>();

  function asked({ operation, args }: Pick<CallRecord, 'operation' | 'args'>): void {
    if (operation !== 'release' && operation !== 'handoff') return;
    for (const request of args[0] as readonly (ReleaseRequest | HandoffRequest)[]) {
      const which = 'attempt' in request ? request.attempt : request.term;
      wanted.add(keyOf(request.name, request.holder, which));
    }
  }

  const isWanted = (name: string, { holder, term, attempt }: StoredLease) =>
    wanted.has(keyOf(name, holder, term)) || wanted.has(keyOf(name, holder, attempt));

  function changed(bench: Bench, { name, before, after, cause }: SimEvents['changed']): void {
    if (before?.kind !== 'lease' || cause !== 'request') return;
    if (after?.kind === 'lease') {
      const isSame = after.holder.equals(before.holder) && after.attempt === before.attempt;
      if (!isSame)
        bench.violated(`${name} was given away while its term ${before.term} was in force`);
      else if (after.term !== before.term)
        bench.violated(`a renewal made term ${after.term} of term ${before.term} of ${name}`);
    } else if (!isWanted(name, before))
      bench.violated(
        `term ${before.term} of ${name} was ended${after === undefined ? '' : ` (${after.kind})`} and its holder had not asked for it`,
      );
  }

  return {
    name: 'ownership',
    attach(bench) {
      bench.witness.on('calling', asked);
      bench.witness.on('changed', (change) => changed(bench, change));
      bench.witness.on('called', (record) => stale(bench, record));
    },
  };

  /** Terms of which a renewal was refused or an end confirmed are over: nobody is told later that it was renewed. */
  function stale(bench: Bench, { operation, args, outcome, sentAtMs, process }: CallRecord): void {
    if (operation !== 'renew' || !('value' in outcome)) return;
    const results = outcome.value as readonly { readonly outcome: string }[];
    for (const [index, { name, holder, term }] of (args[0] as readonly RenewRequest[]).entries()) {
      const isRenewed = results[index]?.outcome === 'renewed';
      if (isRenewed && !overTerms.has(term)) continue;
      const key = keyOf(name, holder, term);
      overTerms.add(term);
      const overAtMs = over.get(key);
      if (!isRenewed) over.set(key, overAtMs ?? bench.nowMs());
      else if (overAtMs !== undefined && overAtMs < sentAtMs && !bench.isExcused('belief'))
        bench.violated(
          `${process} was told that term ${term} of ${name} is over, and then renewed`,
        );
    }
  }
}

const keyOf = (name: string, holder: Holder, which: number | string) =>
  `${name} ${holder.digest} ${which}`;
