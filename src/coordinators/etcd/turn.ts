import { type Call, calledCount } from '../candidates.js';
import type { Holder } from '../holder.js';
import { SnapshotLedger } from '../rules/snapshot.js';
import { describeName } from '../rules/standing.js';
import type { EtcdKeys } from './keys.js';
import type { View } from './reader.js';
import { afterValue } from './values.js';
import { foreignWaitersOf, leaderOf, type NameView, snapshotOf, waitersOf } from './view.js';

/** What somebody who waits has to watch until something of it happens. */
export interface Outlook {
  readonly watched: ReadonlySet<string>;
  /** It is called with the first, and watches what they do. */
  readonly isFirst: boolean;
  /** The name is, or will be, reserved for its id. */
  readonly isNamed: boolean;
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
  const isOwn = (one: Holder) => one.equals(holder);
  const position = whoMayHave(names, view, holder).findIndex(isOwn);
  const isCalled = position >= 0 && position < calledCount;
  const leader = leaderOf(names);
  const isForeign = leader !== undefined && leader.value === undefined;
  const predecessor = names.before.get(holder.digest);
  // Who is one of the first is preceded by the leader alone: the others are called with it.
  const isFirst =
    names.first.some(isOwn) ||
    predecessor === undefined ||
    (foreignWaitersOf(names).length > 0 && inFrontOfOthers(names).some(isOwn));
  const turn = isForeign ? leader.kv.key : keys.part('held', name);
  const watched = new Set([
    keys.part('after', name),
    keys.part('suspended', name),
    isFirst ? turn : predecessor,
  ]);
  const { after } = names;
  const isNamed =
    after !== undefined && afterValue(after.value, after.modRevision)?.to === holder.id;
  const call = isCalled ? { holder, call: { name, position } } : undefined;
  return { outlook: { watched, isFirst, isNamed, isForeign }, call };
}

/** In front of a candidate of another program, only those have a chance who came before it. */
function inFrontOfOthers(names: NameView): Holder[] {
  const [foreign] = foreignWaitersOf(names);
  return waitersOf(names)
    .filter(({ kv }) => foreign === undefined || kv.createRevision < foreign.kv.createRevision)
    .map((one) => one.holder);
}

/** Who may be granted the name now, as far as it concerns `holder`, in the order in which they are called. */
function whoMayHave(names: NameView, view: View, holder: Holder): readonly Holder[] {
  const { name } = names;
  const { wallMs } = view.facts;
  const ledger = new SnapshotLedger(new Map([[name, snapshotOf(names, view.facts)]]), { wallMs });
  if (ledger.foreignText(name) !== undefined) return [];
  const current = describeName(ledger, name, wallMs);
  const [foreign] = foreignWaitersOf(names);
  const inFront = inFrontOfOthers(names);
  if (current === undefined) return foreign === undefined ? names.first : inFront;
  const isReserved = current.state === 'reserved' && current.to === holder.id;
  if (!isReserved) return [];
  return foreign === undefined ? [holder] : inFront.filter((one) => one.equals(holder));
}
