import { type Call, calledCount } from '../candidates.js';
import type { Holder } from '../holder.js';
import { whoMayHave } from '../rules/calls.js';
import { SnapshotLedger } from '../rules/snapshot.js';
import type { EtcdKeys } from './keys.js';
import type { View } from './reader.js';
import { foreignWaitersOf, leaderOf, type NameView, snapshotOf, waitersOf } from './view.js';

/** What somebody who waits has to watch until something of it happens. */
export interface Outlook {
  readonly watched: ReadonlySet<string>;
  /** A candidate of another program leads. */
  readonly isForeign: boolean;
}

export interface CallTo {
  readonly holder: Holder;
  readonly call: Call;
}

/** Where `holder` stands in the queue of the name: what it watches, and whether it may have the name now. */
export function judge(
  view: View,
  name: string,
  holder: Holder,
  keys: EtcdKeys,
): { readonly outlook: Outlook; readonly call: CallTo | undefined } {
  const names = view.names.get(name) as NameView;
  const { wallMs } = view.facts;
  const ledger = new SnapshotLedger(new Map([[name, snapshotOf(names, view.facts)]]), { wallMs });
  const isOwn = (one: { readonly holder: Holder }) => one.holder.equals(holder);
  const free = inTurn(names, whoMayHave(ledger, name, wallMs));
  const position = free.findIndex(isOwn);
  const isCalled = position >= 0 && position < calledCount;
  const queue = ledger.candidates.waitingFor(name);
  const place = queue.findIndex(isOwn);
  const leader = leaderOf(names);
  const isForeign = leader !== undefined && leader.value === undefined;
  const watched = new Set([keys.part('after', name), keys.part('suspended', name)]);
  const predecessor = queue[place - 1];
  // Who is one of the first is preceded by the leader alone: the others are called with it.
  if (place >= calledCount && predecessor !== undefined)
    watched.add(keys.candidate(name, predecessor.digest));
  else watched.add(isForeign ? leader.kv.key : keys.part('held', name));
  const call = isCalled ? { holder, call: { name, position } } : undefined;
  return { outlook: { watched, isForeign }, call };
}

/** In front of a candidate of another program, only those have a chance who came before it. */
function inTurn<One extends { readonly holder: Holder }>(
  names: NameView,
  waiting: readonly One[],
): readonly One[] {
  const [foreign] = foreignWaitersOf(names);
  if (foreign === undefined) return waiting;
  const inFront = waitersOf(names).filter(
    ({ kv }) => kv.createRevision < foreign.kv.createRevision,
  );
  return waiting.filter((one) => inFront.some((place) => place.holder.equals(one.holder)));
}
