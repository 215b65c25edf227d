import type { EtcdKeyValue } from '../../drivers/etcd/index.js';
import type { StoredCandidate } from '../rules/candidate.js';
import type { Draft } from './draft.js';
import { candidateValue, write } from './values.js';
import { leaderOf, type NameView, waitersOf } from './view.js';

/** What becomes of the entries of candidates, and of their places in the queue that other programs see too. */
export class EntryPlan {
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  async plan(view: NameView, after: readonly StoredCandidate[]): Promise<void> {
    const keyOf = ({ digest }: StoredCandidate) => this.#draft.keys.candidate(view.name, digest);
    const kept = new Set(after.map(keyOf));
    const waiters = waitersOf(view);
    for (const kv of view.candidateKeys) {
      const value = candidateValue(kv.value);
      if (kept.has(kv.key) || value === undefined) continue;
      this.#draft.expect(kv.key, kv);
      this.#draft.delete({ key: kv.key });
      for (const one of waiters) if (one.holder.equals(value.holder)) this.#leavePlace(one.kv);
      this.#draft.afterwards(() =>
        this.#draft.options.holdings.forget('candidate', view.name, kv.key),
      );
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
      this.#draft.expect(key, kv);
      this.#draft.put(key, text, leaseId);
    }
    this.#planPlace(view, entry, leaseId);
    this.#draft.afterwards(() => {
      const from = this.#draft.now();
      this.#draft.options.note({
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
    if (own !== undefined && !isWaiting) this.#leavePlace(own.kv);
    if (!isWaiting || own?.kv.lease === leaseId) return;
    const leads = leaderOf(view)?.value;
    if (leads?.holder.equals(holder)) return;
    const key = own?.kv.key ?? this.#draft.keys.queueKey(view.name, leaseId, digest);
    this.#draft.expect(key, own?.kv);
    this.#draft.put(key, write({ state: 'waits', id: holder.id, holder }), leaseId);
  }

  /** The place of who is granted the name becomes the key of the lease: that is not ours to delete. */
  #leavePlace(kv: EtcdKeyValue): void {
    this.#draft.expect(kv.key, kv);
    this.#draft.delete({ key: kv.key });
  }
}
