import type { EtcdKeyValue } from '../../drivers/etcd/index.js';
import type { StoredCandidate } from '../rules/candidate.js';
import type { Draft } from './draft.js';
import { type CandidateValue, candidateValue, write } from './values.js';
import { leaderOf, type NameView, waitersOf } from './view.js';

/** What becomes of the entries of candidates, and of their keys in the queue that other programs see too. */
export class EntryPlan {
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  async plan(view: NameView, after: readonly StoredCandidate[]): Promise<void> {
    const keyOf = ({ holder }: StoredCandidate) => this.#draft.keys.candidate(view.name, holder);
    const kept = new Set(after.map(keyOf));
    const waiters = waitersOf(view);
    for (const kv of view.candidateKeys) {
      const value = candidateValue(kv.value);
      if (kept.has(kv.key) || value === undefined) continue;
      this.#draft.expect(kv.key, kv);
      this.#draft.delete({ key: kv.key });
      const waiterKey = this.#waiterKey(view, value);
      if (waiterKey !== undefined) this.#draft.delete({ key: waiterKey });
      for (const one of waiters) if (one.holder.equals(value.holder)) this.#leaveQueue(one.kv);
      this.#draft.afterwards(() => {
        this.#draft.options.holdings.forget('candidate', view.name, kv.key);
        this.#draft.options.whereabouts.forget(view.name, value.holder.digest);
      });
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
    const lifeMs = entry.deadlineMs - this.#draft.options.view.facts.wallMs;
    const leaseId = await this.#draft.extended(lifeMs);
    const old = kv === undefined ? undefined : candidateValue(kv.value);
    const hasNamesake = all.some(({ id, digest }) => id === entry.id && digest !== entry.digest);
    const isOnLease = kv?.lease === leaseId;
    const isAsBefore =
      old?.standing === standing &&
      old.preference === preference &&
      old.metadata === metadata &&
      old.ttlMs === lifeMs &&
      isOnLease;
    const { keys, options } = this.#draft;
    const since = old?.standing === standing ? old.since : options.view.revision;
    const isWaiting = standing === 'waiting';
    const queueKey = isWaiting
      ? (old?.queueKey ?? keys.queueKey(view.name, leaseId, holder.digest))
      : undefined;
    const next = {
      holder,
      standing,
      preference,
      ttlMs: lifeMs,
      sinceMs,
      since,
      queueKey,
      metadata,
    };
    // A refresh extends the store lease and writes nothing, unless a namesake is to see that it was one, or a late
    // withdrawal that it came after it.
    if (!isAsBefore || hasNamesake || options.whereabouts.isDoubted(view.name, holder)) {
      this.#draft.expect(key, kv);
      this.#draft.put(key, write(next), leaseId);
    }
    const waiterKey = this.#planWaiter(view, old, next, leaseId, isOnLease);
    this.#planQueueKey(view, entry, queueKey, leaseId);
    this.#draft.afterwards(() => {
      const from = this.#draft.now();
      options.whereabouts.note(view.name, holder, { queueKey, end: waiterKey });
      options.note({
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

  #waiterKey({ name }: NameView, value: CandidateValue | undefined): string | undefined {
    if (value?.standing !== 'waiting') return undefined;
    const { preference, since, holder } = value;
    return this.#draft.keys.waiter(name, preference, since, holder.digest);
  }

  /** The key by which who waits stands in the order in which they are called. */
  #planWaiter(
    view: NameView,
    old: CandidateValue | undefined,
    next: CandidateValue,
    leaseId: string,
    isOnLease: boolean,
  ): string | undefined {
    const former = this.#waiterKey(view, old);
    const key = this.#waiterKey(view, next);
    if (former !== undefined && former !== key) this.#draft.delete({ key: former });
    if (key !== undefined && !(former === key && isOnLease))
      this.#draft.put(key, write({ holder: next.holder }), leaseId);
    return key;
  }

  /** The key in the queue that other programs see too. */
  #planQueueKey(
    view: NameView,
    { holder }: StoredCandidate,
    queueKey: string | undefined,
    leaseId: string,
  ): void {
    const own = waitersOf(view).find((one) => one.holder.equals(holder));
    if (queueKey === undefined) {
      if (own !== undefined) this.#leaveQueue(own.kv);
      return;
    }
    if (own?.kv.lease === leaseId) return;
    const leads = leaderOf(view)?.value;
    if (leads?.holder.equals(holder)) return;
    // Somebody has written over a key that is named for this holder: it is written anew.
    const damaged = view.queue.find(({ kv, value }) => kv.key === queueKey && value === undefined);
    const before = own?.kv ?? damaged?.kv;
    const key = before?.key ?? queueKey;
    this.#draft.expect(key, before);
    this.#draft.put(key, write({ state: 'waits', id: holder.id, holder }), leaseId);
  }

  /** That of who is granted the name becomes the key of the lease, and is not ours to delete. */
  #leaveQueue(kv: EtcdKeyValue): void {
    this.#draft.expect(kv.key, kv);
    this.#draft.delete({ key: kv.key });
  }
}
