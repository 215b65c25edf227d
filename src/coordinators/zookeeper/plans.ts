import type { NodeOperation } from '../../drivers/zookeeper/index.js';
import type { StoredCandidate } from '../rules/candidate.js';
import type { StoredLease, StoredRecord } from '../rules/record.js';
import type { NameChange } from '../rules/snapshot.js';
import { encodeCandidate, type LoadedCandidate } from './entries.js';
import type { LoadedName } from './loading.js';
import type { ZooKeeperPaths } from './paths.js';
import { tagOf } from './places.js';
import type { LeaseSession, Sessions } from './sessions.js';
import type { SnapshotOfName } from './snapshots.js';
import { encodeLease, encodeState, type LeaseState, type NameState } from './state.js';
import type { TendedNode } from './tended.js';

/** What has to be written for one name, all of it or nothing. */
export interface Plan {
  readonly index: number;
  readonly name: string;
  readonly operations: readonly NodeOperation[];
  /** Whose connection it has to go over, since nodes are made that go with it; `undefined`: the control connection. */
  readonly session: LeaseSession | undefined;
  /** The term that the rules foretold, if it grants. */
  readonly foretold: number | undefined;
  /** Whether the name's own node is to be made. */
  readonly isNew: boolean;
  /** Nodes that are ours from then on, or were renewed. */
  readonly tends: readonly Omit<TendedNode, 'deadlineMs'>[];
  /** Paths of nodes that are gone then. */
  readonly ends: readonly string[];
}

export interface PlanInput {
  readonly index: number;
  readonly loaded: LoadedName;
  readonly seen: SnapshotOfName;
  readonly change: NameChange;
  /** What is added to the number of a granting transaction. */
  readonly termBase: number;
  readonly nowMs: number;
  /** What the place of an entry that is made now is counted by. */
  readonly knownZxid: number;
}

/** Turns what the rules made of a name into operations on nodes, each under the condition that it is as it was read. */
export class Planner {
  readonly #paths: ZooKeeperPaths;
  readonly #sessions: Sessions;
  readonly #limits: { readonly smallestTtlMs: number; readonly largestTtlMs: number };

  constructor(
    paths: ZooKeeperPaths,
    sessions: Sessions,
    limits: { readonly smallestTtlMs: number; readonly largestTtlMs: number },
  ) {
    this.#paths = paths;
    this.#sessions = sessions;
    this.#limits = limits;
  }

  plan(input: PlanInput): Plan {
    const { loaded, seen, change, index } = input;
    const draft = new Draft();
    const { name } = loaded;
    const isRenewal = isOnlyRenewed(change.record);
    const isWritten =
      seen.isUnsettled ||
      change.suspension !== undefined ||
      change.history !== undefined ||
      (change.record !== undefined && !isRenewal);
    const after = change.record === undefined ? seen.snapshot.record : change.record.after;
    let foretold: number | undefined;
    if (isWritten) foretold = this.#write(input, after, draft);
    else if (isRenewal) this.#renew(input, after as StoredLease, draft);
    if (change.candidates !== undefined)
      this.#enlist(input, change.candidates.after, draft, isWritten);
    const { operations, session, tends, ends } = draft;
    const isNew = loaded.stat === undefined;
    return { index, name, operations, session, foretold, isNew, tends, ends };
  }

  /** The name's own node is written: a grant, an end, an act, or what followed an end that nobody had written down. */
  #write(input: PlanInput, after: StoredRecord | undefined, draft: Draft): number | undefined {
    const { loaded, seen, change, termBase } = input;
    const { name } = loaded;
    const before = loaded.state.lease;
    const isGrant =
      after?.kind === 'lease' &&
      (before === undefined || loaded.leaseNode === undefined || loaded.isOverdue === true);
    const isSameLease = after?.kind === 'lease' && !isGrant;
    const session = isGrant ? this.#sessions.ofTtl(after.ttlMs) : undefined;
    const suspension =
      change.suspension === undefined ? seen.snapshot.suspension : change.suspension.after;
    const history = change.history?.after ?? seen.snapshot.history;
    const state: NameState = {
      ...(after?.kind === 'lease' && {
        lease: leaseState(after, session?.nonce ?? before?.session ?? ''),
      }),
      ...((after?.kind === 'lock-delay' || after?.kind === 'reservation') && { after }),
      suspension,
      history,
    };
    const granted = isGrant ? { foretold: after.term, base: termBase } : undefined;
    draft.operations.push(...this.#put(loaded, encodeState(state, granted)));
    if (before !== undefined && loaded.leaseNode !== undefined && !isSameLease) {
      const path = this.#paths.lease(name, before.attempt);
      const { version } = loaded.leaseNode.stat;
      // Whoever renewed an overdue lease meanwhile has it still.
      const condition = loaded.isOverdue === true ? { version } : {};
      draft.operations.push({ kind: 'delete', path, ...condition });
      draft.ends.push(path);
    }
    if (!isGrant || session === undefined) return undefined;
    draft.session = session;
    this.#createLease(loaded, after, session, draft, 0);
    return after.term;
  }

  #createLease(
    loaded: LoadedName,
    lease: StoredLease,
    session: LeaseSession,
    draft: Draft,
    nameVersion: number | undefined,
  ): void {
    const { name, stat } = loaded;
    const { ttlMs, metadata, attempt, holder, term } = lease;
    const path = this.#paths.lease(name, attempt);
    draft.operations.push({ kind: 'create', path, data: encodeLease(lease), ephemeral: true });
    draft.tends.push({
      kind: 'lease',
      name,
      path,
      session,
      ttlMs,
      modifiedZxid: undefined,
      holder,
      term,
      nameVersion: stat === undefined ? nameVersion : stat.version + 1,
      metadata,
    });
  }

  /** Only the lease's own node is written, unless it does not go with a session of ours that lives long enough. */
  #renew({ loaded }: PlanInput, after: StoredLease, draft: Draft): void {
    const { name, stat, leaseNode, state } = loaded;
    if (stat === undefined || leaseNode === undefined || state.lease === undefined) return;
    const path = this.#paths.lease(name, after.attempt);
    const own = this.#sessions.owning(leaseNode.stat.ephemeralOwner);
    if (own !== undefined && own.ttlMs >= after.ttlMs) {
      const { ttlMs, metadata, holder, term } = after;
      // Over its connection: what the ensemble hears there is what keeps the session.
      draft.session = own;
      draft.operations.push({ kind: 'check', path: this.#paths.name(name), version: stat.version });
      draft.operations.push({ kind: 'set', path, data: encodeLease(after) });
      draft.tends.push({
        kind: 'lease',
        name,
        path,
        session: own,
        ttlMs,
        modifiedZxid: undefined,
        holder,
        term,
        nameVersion: stat.version,
        metadata,
      });
      return;
    }
    const session = this.#sessions.ofTtl(after.ttlMs);
    const { suspension, history } = state;
    const moved = { lease: leaseState(after, session.nonce), suspension, history };
    draft.session = session;
    draft.operations.push(...this.#put(loaded, encodeState(moved)), { kind: 'delete', path });
    this.#createLease(loaded, after, session, draft, undefined);
  }

  #put({ name, stat, sweptVersion }: LoadedName, data: Buffer): NodeOperation[] {
    const path = this.#paths.name(name);
    if (stat !== undefined) return [{ kind: 'set', path, data, version: stat.version }];
    const create: NodeOperation = { kind: 'create', path, data };
    if (sweptVersion === undefined) return [create];
    return [{ kind: 'delete', path, version: sweptVersion }, create];
  }

  #enlist(
    input: PlanInput,
    after: readonly StoredCandidate[],
    draft: Draft,
    isWritten: boolean,
  ): void {
    const { loaded, seen } = input;
    const before = seen.snapshot.candidates ?? [];
    if (loaded.stat === undefined && !isWritten)
      draft.operations.push(...this.#put(loaded, encodeState({})));
    for (const gone of before.filter((one) => !after.some(isOfHolderOf(one))))
      this.#remove(loaded, gone.digest, draft);
    for (const entry of after) if (!before.includes(entry)) this.#enroll(input, entry, draft);
  }

  #enroll(input: PlanInput, entry: StoredCandidate, draft: Draft): void {
    const { loaded, nowMs } = input;
    const { name } = loaded;
    const { digest, standing, preference, since, sinceMs } = entry;
    const stored = loaded.candidates.read.find((one) => one.place.digest === digest);
    const ttlMs = entry.deadlineMs - nowMs;
    const isSame = stored?.place.standing === standing && stored.entry.since === since;
    if (stored !== undefined && isSame && stored.place.preference === preference) {
      this.#refresh(loaded, entry, stored, ttlMs, draft);
      return;
    }
    const { smallestTtlMs, largestTtlMs } = this.#limits;
    const session = this.#sessions.ofTtl(Math.min(largestTtlMs, Math.max(smallestTtlMs, ttlMs)));
    this.#remove(loaded, digest, draft);
    // A place of its own: whoever begins to wait anew stands behind those who waited meanwhile.
    const kept = isSame ? { since: stored.place.since } : { since: input.knownZxid };
    const place = { standing, preference, digest, tag: tagOf(entry.id), ...kept };
    const path = this.#paths.candidate(name, place);
    const rest = { ttlMs, session: session.nonce, ...(isSame && { sinceMs }) };
    const data = encodeCandidate(entry, rest);
    draft.operations.push({ kind: 'create', path, data, ephemeral: true });
    draft.session = session;
    draft.tends.push({ kind: 'candidate', name, path, session, ttlMs, modifiedZxid: undefined });
  }

  #refresh(
    { name }: LoadedName,
    entry: StoredCandidate,
    { path, stat, session: nonce }: LoadedCandidate,
    ttlMs: number,
    draft: Draft,
  ): void {
    const isOlder = entry.sinceMs !== stat.createdAtMs;
    const rest = { ttlMs, session: nonce, ...(isOlder && { sinceMs: entry.sinceMs }) };
    draft.operations.push({ kind: 'set', path, data: encodeCandidate(entry, rest) });
    const session = this.#sessions.byNonce(nonce);
    if (session !== undefined)
      draft.tends.push({ kind: 'candidate', name, path, session, ttlMs, modifiedZxid: undefined });
  }

  /** All nodes of the holder's entry. */
  #remove({ candidates: { read, leftovers } }: LoadedName, digest: string, draft: Draft): void {
    const stored = read.filter(({ place }) => place.digest === digest);
    const left = leftovers.filter((one) => one.digest === digest);
    for (const { path } of [...stored, ...left]) {
      draft.operations.push({ kind: 'delete', path });
      draft.ends.push(path);
    }
  }
}

class Draft {
  readonly operations: NodeOperation[] = [];
  readonly tends: Omit<TendedNode, 'deadlineMs'>[] = [];
  readonly ends: string[] = [];
  session: LeaseSession | undefined;
}

function isOfHolderOf({ holder }: StoredCandidate): (other: StoredCandidate) => boolean {
  return (other) => other.holder.equals(holder);
}

function leaseState(
  { holder, attempt, term, graceMs, grantedAtMs, revocation }: StoredLease,
  session: string,
): LeaseState {
  return { holder, attempt, term, graceMs, grantedAtMs, session, revocation };
}

function isOnlyRenewed(change: NameChange['record']): boolean {
  if (change?.before?.kind !== 'lease' || change.after?.kind !== 'lease') return false;
  const { before, after } = change;
  return before.attempt === after.attempt && before.revocation === after.revocation;
}
