import { StoreRefusedError } from '../../errors/index.js';
import type { AcquireRequest, AcquireResult } from '../contract.js';
import { grant, obstacleTo } from '../rules/operations.js';
import type { SnapshotLedger } from '../rules/snapshot.js';
import { highestTerm } from '../term.js';
import type { EtcdKeys } from './keys.js';
import { foreignSpace } from './plan.js';
import type { View } from './reader.js';
import { foreignWaitersOf, type NameView, type Queued, waitersOf } from './view.js';

/** How long somebody who stands in front of candidates of other programs is waited for before the next look. */
const turnMs = 1_000;

/**
 * Who of some is granted the name, in one step.
 *
 * The term is the revision that creates the key. That of a waiting key is known; that of a new one is the revision of the
 * step, so until it was executed a grant carries the lowest that it can be.
 */
export class Granting {
  readonly #requests: readonly AcquireRequest[];
  #results: { readonly request: AcquireRequest; readonly obstacle: AcquireResult | undefined }[] =
    [];

  constructor(requests: readonly AcquireRequest[]) {
    this.#requests = requests;
  }

  execute(ledger: SnapshotLedger, view: View): AcquireResult[] {
    const { wallMs } = view.facts;
    this.#results = this.#requests.map((request) => {
      const names = view.names.get(request.name) as NameView;
      const obstacle = obstacleTo(ledger, request, wallMs) ?? turnOfOther(request, names, view);
      return { request, obstacle };
    });
    const offset = this.offset(view);
    if (view.revision + 1 + offset > highestTerm) {
      throw new StoreRefusedError(
        'TERMS_EXHAUSTED',
        `no term is left after ${view.revision + view.space.offset}: an absurd "above" took them. Use a new namespace.`,
      );
    }
    for (const { request, obstacle } of this.#results) {
      if (obstacle !== undefined) continue;
      const revision = queuedOf(request, view)?.kv.createRevision ?? view.revision + 1;
      grant(ledger, request, revision + offset, wallMs);
    }
    return this.answers(view.revision + 1, view);
  }

  /** What makes every term higher than what was seen at the resource; it never falls. */
  offset(view: View): number {
    return this.#results.reduce((highest, { request, obstacle }) => {
      if (obstacle !== undefined || request.above === undefined) return highest;
      const revision = queuedOf(request, view)?.kv.createRevision ?? view.revision + 1;
      return Math.max(highest, request.above + 1 - revision);
    }, view.space.offset);
  }

  answers(revision: number, view: View): AcquireResult[] {
    const offset = this.offset(view);
    return this.#results.map(({ request, obstacle }) => {
      if (obstacle !== undefined) return obstacle;
      const created = queuedOf(request, view)?.kv.createRevision ?? revision;
      return { outcome: 'granted', term: created + offset };
    });
  }
}

function queuedOf({ name, holder }: AcquireRequest, view: View): Queued | undefined {
  const names = view.names.get(name);
  return names && waitersOf(names).find((one) => one.holder.equals(holder));
}

/** In front of a candidate of another program nobody can be put: only who stands there already. */
function turnOfOther(
  { name, holder }: AcquireRequest,
  names: NameView,
  view: View,
): AcquireResult | undefined {
  const [foreign] = foreignWaitersOf(names);
  if (foreign === undefined) return undefined;
  const waiters = waitersOf(names);
  const own = waiters.find((one) => one.holder.equals(holder));
  if (own !== undefined && own.kv.createRevision < foreign.kv.createRevision) return undefined;
  const [first] = waiters;
  if (first === undefined) return undefined;
  const term = first.kv.createRevision + view.space.offset;
  const current = { state: 'reserved', name, to: first.holder.id, term, remainingMs: turnMs };
  return { outcome: 'held', current: current as never };
}

/** Nobody is granted a term while what they are counted from is not ours. */
export function noTermFor(requests: readonly AcquireRequest[], keys: EtcdKeys): AcquireResult[] {
  return requests.map(() => ({ outcome: 'corrupt', detail: foreignSpace(keys.space) }));
}
