import type {
  Deadline,
  EtcdCompare,
  EtcdKeyValue,
  EtcdOperation,
  KeyRange,
} from '../../drivers/etcd/index.js';
import { StoreRefusedError } from '../../errors/index.js';
import type { Instant, Runtime } from '../../time/index.js';
import { type HistoryEntry, historyLifeMs } from '../history.js';
import type { StoredCandidate } from '../rules/candidate.js';
import type {
  StoredLease,
  StoredLockDelay,
  StoredRecord,
  StoredReservation,
} from '../rules/record.js';
import type { NameChange } from '../rules/snapshot.js';
import type { Holding } from './holdings.js';
import type { EtcdKeys } from './keys.js';
import { longestTxn, type View } from './reader.js';
import { StoreLeases } from './store-leases.js';
import { type AfterValue, candidateValue, write } from './values.js';
import { foreignWaitersOf, leaderOf, type NameView, waitersOf } from './view.js';

/** What is to be written if nothing that was read has changed, and what is then in the store by it. */
export interface Plan {
  readonly compares: EtcdCompare[];
  readonly operations: EtcdOperation[];
  /** To be noted once it was written, with the revision in which it was. */
  readonly effects: ((revision: number) => void)[];
}

export interface PlanOptions {
  readonly view: View;
  readonly keys: EtcdKeys;
  readonly leases: StoreLeases;
  readonly runtime: Runtime;
  /** What a renewal writes hangs on our own store lease from then on; what an operator writes stays where it is. */
  readonly isByHolder: boolean;
  /** When the call began: store leases are to be extended after that. */
  readonly since: Instant;
  readonly what: string;
  readonly deadline: Deadline;
  /** The offset of terms that this step needs. */
  readonly offset: number;
  /** The store lease of histories is known to be gone. */
  readonly needsHistoryLease: boolean;
  readonly note: (holding: Holding) => void;
  readonly forget: (kind: Holding['kind'], name: string, key: string) => void;
}

/** Histories of a day share a store lease of this life: one more day, since the last line may be written at its end. */
const historyLeaseAgeMs = 24 * 60 * 60 * 1000;
/** From so many on, waiters that are passed over are removed by ranges. */
const fewWaiters = 16;

export class Planner {
  readonly #options: PlanOptions;
  readonly #plan: Plan = { compares: [], operations: [], effects: [] };
  #historyLease: string | undefined;
  #writesSpace = false;

  constructor(options: PlanOptions) {
    this.#options = options;
  }

  /** @throws {StoreRefusedError} if it is more than a server takes in one transaction. */
  async plan(changes: ReadonlyMap<string, NameChange>): Promise<Plan> {
    const { view, offset } = this.#options;
    const grants = [...changes.values()].some(({ record }) => isGrant(record));
    const hasHistory = [...changes.values()].some(({ history }) => history !== undefined);
    if (hasHistory) await this.#prepareHistory();
    if (grants || this.#writesSpace || offset !== view.space.offset) this.#compareSpace();
    if (this.#writesSpace || offset !== view.space.offset) this.#writeSpace();
    for (const [name, change] of changes) {
      const nameView = view.names.get(name);
      if (nameView !== undefined) await this.#planName(nameView, change);
    }
    const { compares, operations } = this.#plan;
    if (Math.max(compares.length, operations.length) > longestTxn) {
      throw new StoreRefusedError(
        'TOO_MANY_WAITERS',
        `a step would take ${operations.length} operations, and a transaction of etcd takes ${longestTxn}: too many candidates of other programs and of tenure wait for one name.`,
      );
    }
    return this.#plan;
  }

  async #planName(view: NameView, change: NameChange): Promise<void> {
    if (change.candidates !== undefined) await this.#planCandidates(view, change.candidates.after);
    const isMore = change.record ?? change.suspension ?? change.history ?? change.document;
    if (isMore === undefined) return;
    this.#compare(view);
    if (change.record !== undefined)
      await this.#planRecord(view, change.record.before, change.record.after);
    if (change.suspension !== undefined) this.#planSuspension(view, change);
    if (change.history !== undefined) this.#planHistory(view, change);
    if (change.document !== undefined) {
      const key = this.#keys.part('document', view.name);
      this.#put(key, write(change.document.after), '0');
    }
  }

  get #keys(): EtcdKeys {
    return this.#options.keys;
  }

  /** That nothing which was read of the name has changed, and nothing was added. */
  #compare(view: NameView): void {
    const { compares } = this.#plan;
    const { parts, revision } = this.#options.view;
    const { name } = view;
    const single = (part: 'after' | 'suspended' | 'history' | 'document', kv?: EtcdKeyValue) => {
      if (parts.includes(part)) compares.push(this.#is({ key: this.#keys.part(part, name) }, kv));
    };
    if (parts.includes('queue')) {
      compares.push({ range: this.#keys.queue(name), modBelow: revision + 1 });
      const leader = leaderOf(view);
      if (leader !== undefined) compares.push(this.#is({ key: leader.kv.key }, leader.kv));
    }
    single('after', view.after);
    single('suspended', view.suspended);
    single('history', view.historyKey);
    single('document', view.document);
  }

  #is(range: KeyRange, kv: EtcdKeyValue | undefined): EtcdCompare {
    return { range, mod: kv?.modRevision ?? 0 };
  }

  #put(key: string, value: string, lease: string): void {
    this.#plan.operations.push({ kind: 'put', key, value, lease });
  }

  #delete(range: KeyRange): void {
    this.#plan.operations.push({ kind: 'delete', range });
  }

  async #planRecord(
    view: NameView,
    before: StoredRecord | undefined,
    after: StoredRecord | undefined,
  ): Promise<void> {
    if (after?.kind === 'foreign') return;
    if (after?.kind !== 'lease') return await this.#planEnd(view, before, after);
    const isSame = before?.kind === 'lease' && before.attempt === after.attempt;
    if (isSame) return await this.#planUpdate(view, after);
    await this.#planGrant(view, after);
  }

  async #planGrant(view: NameView, lease: StoredLease): Promise<void> {
    const { name } = view;
    const { offset } = this.#options;
    const leaseId = await this.#extended(lease.ttlMs);
    const own = waitersOf(view).find(({ holder }) => holder.equals(lease.holder));
    if (own !== undefined) this.#plan.compares.push(this.#is({ key: own.kv.key }, own.kv));
    const key = own?.kv.key ?? this.#keys.queueKey(name, leaseId, lease.attempt);
    this.#passOver(view, key, own?.kv.createRevision);
    this.#put(key, leadingText(lease, offset), leaseId);
    this.#put(this.#keys.part('held', name), write({ key }), leaseId);
    const guardId = await this.#guard(view, lease);
    this.#plan.effects.push((revision) => {
      const term = (own?.kv.createRevision ?? revision) + offset;
      this.#noteLease(view, { ...lease, term }, key, leaseId, guardId, revision);
    });
  }

  /** Who waits in front of a key that leads would lead in the eyes of others: those queue anew. */
  #passOver(view: NameView, key: string, createRevision = Number.POSITIVE_INFINITY): void {
    const passed = waitersOf(view).filter(
      ({ kv }) => kv.key !== key && kv.createRevision < createRevision,
    );
    const isAlone = foreignWaitersOf(view).length === 0;
    if (passed.length > fewWaiters && isAlone) {
      const queue = this.#keys.queue(view.name);
      this.#delete({ key: queue.key, end: key });
      this.#delete({ key: `${key}\0`, end: queue.end });
      return;
    }
    for (const { kv } of passed) this.#delete({ key: kv.key });
  }

  /** The key that a lock-delay will be, living for longer than the lease by just that. */
  async #guard(view: NameView, lease: StoredLease): Promise<string | undefined> {
    const key = this.#keys.part('after', view.name);
    if (lease.graceMs === 0) {
      if (view.after !== undefined) this.#delete({ key });
      return undefined;
    }
    const guardId = await this.#extended(lease.ttlMs + lease.graceMs);
    this.#put(key, guardText(lease, view, this.#options.offset), guardId);
    return guardId;
  }

  /** A renewal, or what an operator did to a lease. */
  async #planUpdate(view: NameView, lease: StoredLease): Promise<void> {
    const leader = leaderOf(view);
    if (leader?.value?.state !== 'leads') return;
    const { key } = leader.kv;
    const { offset } = leader.value;
    const held = this.#keys.part('held', view.name);
    const text = leadingText(lease, offset);
    if (this.#options.isByHolder) {
      const leaseId = await this.#extended(lease.ttlMs);
      this.#put(key, text, leaseId);
      this.#put(held, write({ key }), leaseId);
      const guardId = await this.#guard(view, lease);
      this.#plan.effects.push((revision) =>
        this.#noteLease(view, lease, key, leaseId, guardId, revision),
      );
      return;
    }
    this.#put(key, text, 'keep');
    // Wakes who watches the group; it lives as long as the lease does.
    this.#put(held, write({ key }), leader.kv.lease);
    if (lease.revocation?.to === undefined) return;
    const wholeMs = lease.ttlMs + lease.graceMs + lease.revocation.reserveMs;
    const single = await this.#single(wholeMs);
    this.#put(this.#keys.part('after', view.name), guardText(lease, view, offset), single);
  }

  #noteLease(
    view: NameView,
    lease: StoredLease,
    key: string,
    leaseId: string,
    guardId: string | undefined,
    modRevision: number,
  ): void {
    const { holder, attempt, term, graceMs, ttlMs: lifeMs } = lease;
    const from = this.#options.runtime.now();
    const place = { name: view.name, key, leaseId, from, lifeMs };
    this.#options.note({
      kind: 'lease',
      ...place,
      ...{ holder, attempt, term, graceMs, guardId, modRevision },
    });
  }

  async #planEnd(
    view: NameView,
    before: StoredRecord | undefined,
    after: StoredReservation | StoredLockDelay | undefined,
  ): Promise<void> {
    const { name } = view;
    const leader = leaderOf(view);
    if (before?.kind === 'lease' && leader !== undefined) {
      this.#delete({ key: leader.kv.key });
      this.#delete({ key: this.#keys.part('held', name) });
      this.#plan.effects.push(() => this.#options.forget('lease', name, leader.kv.key));
    }
    const key = this.#keys.part('after', name);
    if (after !== undefined) await this.#planAfter(name, key, after);
    else if (view.after !== undefined) this.#delete({ key });
  }

  async #planAfter(
    name: string,
    key: string,
    after: StoredReservation | StoredLockDelay,
  ): Promise<void> {
    const { wallMs } = this.#options.view.facts;
    const lifeMs = Math.max(1, after.deadlineMs - wallMs);
    const value = afterOf(after, lifeMs, wallMs);
    const leaseId = await this.#single(value.delayMs + value.reserveMs);
    this.#put(key, write(value), leaseId);
    this.#plan.effects.push((modRevision) => {
      const from = this.#options.runtime.now();
      this.#options.note({ kind: 'after', name, key, leaseId, from, lifeMs, modRevision });
    });
  }

  #planSuspension(view: NameView, { suspension }: NameChange): void {
    const key = this.#keys.part('suspended', view.name);
    if (suspension?.after !== undefined) this.#put(key, write(suspension.after), '0');
    else if (view.suspended !== undefined) this.#delete({ key });
  }

  #planHistory(view: NameView, { record, history }: NameChange): void {
    const granted = isGrant(record) && record?.after?.kind === 'lease' ? record.after : undefined;
    const lines = (history?.after ?? []).map((line) => this.#lineText(view, line, granted));
    const key = this.#keys.part('history', view.name);
    this.#put(key, write({ lines }), this.#historyLease ?? '0');
  }

  /** The number of a term that begins in this same step is the revision of it, which nobody knows yet. */
  #lineText(view: NameView, line: HistoryEntry, granted: StoredLease | undefined): object {
    if (line.kind === 'act' || line.endedAtMs !== undefined) return line;
    if (line.term !== granted?.term) return { ...line, lease: view.history.leases[line.term] };
    const lease = this.#options.leases.current(StoreLeases.seconds(granted.ttlMs));
    const own = waitersOf(view).find(({ holder }) => holder.equals(granted.holder));
    if (own !== undefined)
      return { ...line, term: own.kv.createRevision + this.#options.offset, lease };
    return { ...line, term: null, offset: this.#options.offset, lease };
  }

  async #planCandidates(view: NameView, after: readonly StoredCandidate[]): Promise<void> {
    const keyOf = ({ digest }: StoredCandidate) => this.#keys.candidate(view.name, digest);
    const kept = new Set(after.map(keyOf));
    const waiters = waitersOf(view);
    for (const kv of view.candidateKeys) {
      const value = candidateValue(kv.value);
      if (kept.has(kv.key) || value === undefined) continue;
      this.#plan.compares.push(this.#is({ key: kv.key }, kv));
      this.#delete({ key: kv.key });
      for (const one of waiters)
        if (one.holder.equals(value.holder)) this.#delete({ key: one.kv.key });
      this.#plan.effects.push(() => this.#options.forget('candidate', view.name, kv.key));
    }
    for (const entry of after) {
      const kv = view.candidateKeys.find(({ key }) => key === keyOf(entry));
      // Whatever is not new or refreshed came out of the store as it is.
      if (kv !== undefined && entry.refresh <= kv.modRevision) continue;
      await this.#planEntry(view, entry, keyOf(entry), kv, after);
    }
  }

  async #planEntry(
    view: NameView,
    entry: StoredCandidate,
    key: string,
    kv: EtcdKeyValue | undefined,
    all: readonly StoredCandidate[],
  ): Promise<void> {
    const { holder, standing, preference, sinceMs, metadata } = entry;
    const lifeMs = entry.deadlineMs - this.#options.view.facts.wallMs;
    const leaseId = await this.#extended(lifeMs);
    const old = kv === undefined ? undefined : candidateValue(kv.value);
    const hasNamesake = all.some(({ id, digest }) => id === entry.id && digest !== entry.digest);
    const isAsBefore =
      old?.standing === standing &&
      old.preference === preference &&
      old.metadata === metadata &&
      old.ttlMs === lifeMs &&
      kv?.lease === leaseId;
    // A refresh extends the store lease and writes nothing, unless a namesake is to see that it was one.
    if (!isAsBefore || hasNamesake) {
      const since = old?.standing === standing ? entry.since : undefined;
      const text = write({ holder, standing, preference, ttlMs: lifeMs, sinceMs, since, metadata });
      this.#plan.compares.push(this.#is({ key }, kv));
      this.#put(key, text, leaseId);
    }
    this.#planPlace(view, entry, leaseId);
    this.#plan.effects.push(() => {
      const from = this.#options.runtime.now();
      this.#options.note({
        kind: 'candidate',
        name: view.name,
        key,
        leaseId,
        from,
        lifeMs,
        holder,
      });
    });
  }

  /** The place in the queue that other programs see too. */
  #planPlace(view: NameView, { holder, standing, digest }: StoredCandidate, leaseId: string): void {
    const own = waitersOf(view).find((one) => one.holder.equals(holder));
    const isWaiting = standing === 'waiting';
    if (own !== undefined && !isWaiting) this.#delete({ key: own.kv.key });
    if (!isWaiting || own?.kv.lease === leaseId) return;
    const leads = leaderOf(view)?.value;
    if (leads?.holder.equals(holder)) return;
    const key = own?.kv.key ?? this.#keys.queueKey(view.name, leaseId, digest);
    this.#plan.compares.push(this.#is({ key }, own?.kv));
    this.#put(key, write({ state: 'waits', id: holder.id, holder }), leaseId);
  }

  #extended(durationMs: number): Promise<string> {
    const { leases, since, what, deadline } = this.#options;
    return leases.extended(StoreLeases.seconds(durationMs), since, what, deadline);
  }

  #single(durationMs: number): Promise<string> {
    const { leases, what, deadline } = this.#options;
    return leases.single(durationMs, what, deadline);
  }

  async #prepareHistory(): Promise<void> {
    const { space, facts } = this.#options.view;
    const ageMs = facts.wallMs - space.historyLeaseAtMs;
    this.#historyLease = space.historyLease;
    const isYoung = space.historyLease !== undefined && ageMs >= 0 && ageMs < historyLeaseAgeMs;
    if (isYoung && !this.#options.needsHistoryLease) return;
    this.#historyLease = await this.#single(historyLifeMs + historyLeaseAgeMs);
    this.#writesSpace = true;
  }

  #compareSpace(): void {
    const { view, keys } = this.#options;
    this.#plan.compares.push(this.#is({ key: keys.space }, view.spaceKey));
  }

  #writeSpace(): void {
    const { view, keys, offset } = this.#options;
    const { historyLease, historyLeaseAtMs } = view.space;
    const isNew = this.#writesSpace;
    const value = {
      offset,
      historyLease: isNew ? this.#historyLease : historyLease,
      historyLeaseAtMs: isNew ? view.facts.wallMs : historyLeaseAtMs,
    };
    this.#put(keys.space, write(value), '0');
  }
}

function isGrant(record: NameChange['record']): boolean {
  if (record?.after?.kind !== 'lease') return false;
  return record.before?.kind !== 'lease' || record.before.attempt !== record.after.attempt;
}

function leadingText(lease: StoredLease, offset: number): string {
  const { holder, attempt, ttlMs, grantedAtMs, renewedAtMs, graceMs, metadata, revocation } = lease;
  const times = { ttlMs, grantedAtMs, renewedAtMs, graceMs };
  const who = { id: holder.id, holder, attempt };
  return write({ state: 'leads', ...who, ...times, offset, metadata, revocation });
}

/** What follows the lease if it expires, on a store lease that outlives it by that. */
function guardText(lease: StoredLease, view: NameView, offset: number): string {
  const { graceMs, holder, revocation } = lease;
  const own = waitersOf(view).find((one) => one.holder.equals(holder)) ?? leaderOf(view);
  // Of a key that is just made nobody knows the revision yet: it is that of this text, too.
  const term = own === undefined ? null : own.kv.createRevision + offset;
  const { to, reserveMs = 0 } = revocation ?? {};
  return write({ term, offset, delayMs: graceMs, reserveMs, to, revocation });
}

function afterOf(
  after: StoredReservation | StoredLockDelay,
  lifeMs: number,
  startedAtMs: number,
): AfterValue {
  const { term } = after;
  if (after.kind === 'reservation') {
    const { to } = after;
    return { term, delayMs: 0, reserveMs: lifeMs, to, revocation: undefined, startedAtMs };
  }
  const { revocation } = after;
  const { to, reserveMs = 0 } = revocation ?? {};
  return { term, delayMs: lifeMs, reserveMs, to, revocation, startedAtMs };
}
