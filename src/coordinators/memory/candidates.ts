import type { EnrollRequest } from '../candidates.js';
import type { Holder } from '../holder.js';
import { compareCandidates } from '../order.js';
import type { StoredCandidate } from '../rules/candidate.js';

/** Who waits for which name, or says that it is there. */
export class Candidates {
  readonly #byName = new Map<string, Map<string, StoredCandidate>>();
  #enrollmentCount = 0;
  /** No entry ends earlier; it may be too early, since refreshes move ends away. */
  #earliestDeadlineMs = Number.POSITIVE_INFINITY;

  /** @returns whether another holder of the same id has refreshed its entry since this one last did. */
  enroll(request: EnrollRequest, nowMs: number, wallMs: number): boolean {
    const { name, holder, standing, preference, metadata } = request;
    this.#enrollmentCount += 1;
    const entries = this.#byName.get(name) ?? new Map<string, StoredCandidate>();
    this.#byName.set(name, entries);
    const before = entries.get(holder.wire);
    const stands =
      before?.standing === standing ? before : { since: this.#enrollmentCount, sinceMs: wallMs };
    const deadlineMs = nowMs + request.ttlMs;
    this.#earliestDeadlineMs = Math.min(this.#earliestDeadlineMs, deadlineMs);
    entries.set(holder.wire, {
      holder,
      id: holder.id,
      digest: holder.digest,
      standing,
      preference,
      since: stands.since,
      sinceMs: stands.sinceMs,
      deadlineMs,
      refresh: this.#enrollmentCount,
      metadata,
    });
    return before !== undefined && [...entries.values()].some(isLaterNamesake(before));
  }

  withdraw(name: string, holder: Holder): void {
    const entries = this.#byName.get(name);
    entries?.delete(holder.wire);
    if (entries?.size === 0) this.#byName.delete(name);
  }

  /** Who waits in the order in which they are called, then the rest. */
  of(name: string): StoredCandidate[] {
    return [...(this.#byName.get(name)?.values() ?? [])].sort(compareCandidates);
  }

  waitingFor(name: string): StoredCandidate[] {
    return this.of(name).filter(({ standing }) => standing === 'waiting');
  }

  placeOf(name: string, holder: Holder): number | undefined {
    const index = this.waitingFor(name).findIndex((one) => one.holder.equals(holder));
    return index < 0 ? undefined : index;
  }

  /** Removes every entry that was not refreshed in time. */
  expire(nowMs: number): void {
    if (nowMs < this.#earliestDeadlineMs) return;
    this.#earliestDeadlineMs = Number.POSITIVE_INFINITY;
    for (const [name, entries] of [...this.#byName]) {
      for (const { holder, deadlineMs } of [...entries.values()]) {
        if (deadlineMs <= nowMs) this.withdraw(name, holder);
        else this.#earliestDeadlineMs = Math.min(this.#earliestDeadlineMs, deadlineMs);
      }
    }
  }

  clear(): void {
    this.#byName.clear();
    this.#earliestDeadlineMs = Number.POSITIVE_INFINITY;
  }

  /** @internal How many names have an entry. */
  get nameCount(): number {
    return this.#byName.size;
  }
}

function isLaterNamesake(own: StoredCandidate): (other: StoredCandidate) => boolean {
  return ({ id, digest, refresh }) =>
    id === own.id && digest !== own.digest && refresh > own.refresh;
}
