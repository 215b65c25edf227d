import type {
  StoredLease,
  StoredLockDelay,
  StoredRecord,
  StoredReservation,
} from '../rules/record.js';
import type { NameChange } from '../rules/snapshot.js';
import type { Draft } from './draft.js';
import { type AfterValue, write } from './values.js';
import { foreignWaitersOf, leaderOf, type NameView, waitersOf } from './view.js';

/** From so many on, waiters that are passed over are removed by ranges. */
const fewWaiters = 2;

/** What becomes of the key of a leader, and of what follows it. */
export class RecordPlan {
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  async plan(
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
    const { offset } = this.#draft.options;
    const leaseId = await this.#draft.extended(lease.ttlMs);
    const own = waitersOf(view).find(({ holder }) => holder.equals(lease.holder));
    if (own !== undefined) this.#draft.expect(own.kv.key, own.kv);
    const key = own?.kv.key ?? this.#draft.keys.queueKey(name, leaseId, lease.attempt);
    // Its time was over, and its end was not written yet.
    const former = leaderOf(view);
    if (former?.value?.state === 'leads') this.#draft.delete({ key: former.kv.key });
    this.#passOver(view, key, own?.kv.createRevision);
    this.#draft.put(key, leadingText(lease, offset), leaseId);
    this.#draft.put(this.#draft.keys.part('held', name), write({ key }), leaseId);
    const guardId = await this.#guard(view, lease);
    this.#draft.afterwards((revision) => {
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
      const queue = this.#draft.keys.queue(view.name);
      this.#draft.delete({ key: queue.key, end: key });
      this.#draft.delete({ key: `${key}\0`, end: queue.end });
      return;
    }
    for (const { kv } of passed) this.#draft.delete({ key: kv.key });
  }

  /** The key that a lock-delay will be, living for longer than the lease by just that. */
  async #guard(view: NameView, lease: StoredLease): Promise<string | undefined> {
    const key = this.#draft.keys.part('after', view.name);
    if (lease.graceMs === 0) {
      if (view.after !== undefined) this.#draft.delete({ key });
      return undefined;
    }
    const guardId = await this.#draft.extended(lease.ttlMs + lease.graceMs);
    this.#draft.put(key, guardText(lease, view, this.#draft.options.offset), guardId);
    return guardId;
  }

  /** A renewal, or what an operator did to a lease. */
  async #planUpdate(view: NameView, lease: StoredLease): Promise<void> {
    const leader = leaderOf(view);
    if (leader?.value?.state !== 'leads') return;
    const { key } = leader.kv;
    const { offset } = leader.value;
    const held = this.#draft.keys.part('held', view.name);
    const text = leadingText(lease, offset);
    if (this.#draft.options.isByHolder) {
      const leaseId = await this.#draft.extended(lease.ttlMs);
      this.#draft.put(key, text, leaseId);
      this.#draft.put(held, write({ key }), leaseId);
      const guardId = await this.#guard(view, lease);
      this.#draft.afterwards((revision) =>
        this.#noteLease(view, lease, key, leaseId, guardId, revision),
      );
      return;
    }
    this.#draft.put(key, text, 'keep');
    // Wakes who watches the group; it lives as long as the lease does.
    this.#draft.put(held, write({ key }), leader.kv.lease);
    if (lease.revocation?.to === undefined) return;
    const wholeMs = lease.ttlMs + lease.graceMs + lease.revocation.reserveMs;
    const single = await this.#draft.single(wholeMs);
    this.#draft.put(
      this.#draft.keys.part('after', view.name),
      guardText(lease, view, offset),
      single,
    );
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
    const from = this.#draft.now();
    const timed = { name: view.name, key, leaseId, from, lifeMs };
    this.#draft.options.note({
      kind: 'lease',
      ...timed,
      ...{ holder, attempt, term, graceMs, guardId, modRevision },
      ...{ seenRevision: modRevision, isLeaving: false },
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
      this.#draft.delete({ key: leader.kv.key });
      this.#draft.delete({ key: this.#draft.keys.part('held', name) });
      this.#draft.options.holdings.leaving(name, leader.kv.key);
      this.#draft.afterwards(() =>
        this.#draft.options.holdings.forget('lease', name, leader.kv.key),
      );
    }
    const key = this.#draft.keys.part('after', name);
    if (after !== undefined) await this.#planAfter(name, key, after);
    else if (view.after !== undefined) this.#draft.delete({ key });
  }

  async #planAfter(
    name: string,
    key: string,
    after: StoredReservation | StoredLockDelay,
  ): Promise<void> {
    const { wallMs } = this.#draft.options.view.facts;
    const lifeMs = Math.max(1, after.deadlineMs - wallMs);
    const value = afterOf(after, lifeMs, wallMs);
    const leaseId = await this.#draft.single(value.delayMs + value.reserveMs);
    this.#draft.put(key, write(value), leaseId);
    this.#draft.afterwards((modRevision) => {
      const from = this.#draft.now();
      this.#draft.options.note({ kind: 'after', name, key, leaseId, from, lifeMs, modRevision });
    });
  }
}

export function isGrant(record: NameChange['record']): boolean {
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
  const own = leaderOf(view) ?? waitersOf(view).find((one) => one.holder.equals(holder));
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
