import { requireKnown } from '../../errors/checks.js';
import { Emitter, type Unsubscribe } from '../../events/index.js';
import { elapsedMs, type Instant, type Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import { calledCount } from '../candidates.js';
import type { StoredDocument } from '../contract.js';
import type { Holder } from '../holder.js';
import { validateName } from '../names.js';
import type { Revocation } from '../record.js';
import { whoMayHave } from '../rules/calls.js';
import { Candidates } from './candidates.js';
import { Histories } from './histories.js';
import { type Expiry, Records } from './records.js';
import { type Called, type Wake, Watchers } from './watchers.js';

export interface MemoryStoreOptions {
  /** Where the store's clocks and timers come from. Default: those of this process. */
  readonly runtime?: Runtime;
}

/**
 * The shared state behind memory coordinators: what a server is to its clients.
 *
 * One store is one namespace. It lives as long as somebody refers to it, opens nothing and needs no closing. Coordinators
 * made from one store exclude each other; those of two stores, or of two processes, know nothing of each other.
 */
export class MemoryStore {
  readonly runtime: Runtime;
  /** @internal The records; expired ones are gone only after {@link expire}. */
  readonly records = new Records();
  /** @internal The names that nobody may be granted, whatever else stands under them. */
  readonly suspensions = new Map<string, Revocation>();
  /** @internal */
  readonly candidates = new Candidates();
  /** @internal */
  readonly histories: Histories;
  /** @internal */
  readonly documents = new Map<string, StoredDocument>();
  /** @internal The highest term granted in this namespace; 0 before the first. */
  lastTerm = 0;
  readonly #startedAt: Instant;
  readonly #watchers: Watchers;
  readonly #connections = new Emitter<{ lost: undefined }>({ lost: true });

  constructor(options: MemoryStoreOptions = {}) {
    this.runtime = requireRuntime(requireKnown('options', options, { runtime: true }).runtime);
    this.#startedAt = this.runtime.now();
    this.histories = new Histories({
      nowMs: () => this.elapsedMs(),
      isInUse: (name) => this.records.get(name) !== undefined || this.suspensions.has(name),
    });
    this.#watchers = new Watchers(
      this.runtime,
      () => this.records.nextExpiryMs - this.elapsedMs(),
      () => this.expire(),
    );
  }

  /** Milliseconds since the store was made, time in suspend included. Every deadline is on this clock. */
  elapsedMs(): number {
    return elapsedMs(this.#startedAt, this.runtime.now());
  }

  /** @internal The Unix time of the store. */
  wallMs(): number {
    return this.runtime.now().wallMs;
  }

  /** Removes what has expired by now, tells who waited for it, and returns the time this was judged by. */
  expire(): number {
    const nowMs = this.elapsedMs();
    this.candidates.expire(nowMs);
    const expiries = this.records.expire(nowMs);
    for (const expiry of expiries) this.#noteExpiry(expiry);
    this.#watchers.rearm();
    return nowMs;
  }

  /** @internal Calls `wake` at once when a name of the group became free. */
  watch(group: string, wake: Wake): Unsubscribe {
    return this.#watchers.watch(group, wake);
  }

  /** @internal Calls `called` at once when a name became free that this holder waits for as one of the first. */
  onCalled(holder: Holder, called: Called): Unsubscribe {
    return this.#watchers.onCalled(holder, called);
  }

  /** @internal Calls `lost` when the store restarts: what was connected to it is not any more. */
  onConnectionLost(lost: () => void): Unsubscribe {
    return this.#connections.on('lost', lost);
  }

  /** @internal What stands under a name has become another thing, and is not free: wakes who watches its group. */
  altered(name: string): void {
    this.#watchers.wake(name);
  }

  /** @internal A name has no owner any more: wakes who watches its group, and calls the first who may have it. */
  vacated(name: string): void {
    this.#watchers.wake(name);
    const first = whoMayHave(this, name, this.elapsedMs()).slice(0, calledCount);
    this.#watchers.call(
      name,
      first.map(({ holder }) => holder),
    );
  }

  /** @internal After an operation: follows the deadlines that moved. */
  followDeadlines(): void {
    this.#watchers.rearm();
  }

  /** For tests: somebody deletes what is stored under a name. The namespace's highest term stays known. */
  deleteRecord(name: string): void {
    this.records.delete(validateName(name));
    this.vacated(name);
    this.followDeadlines();
  }

  /** For tests: somebody writes a text of their own under a name. Our operations refuse it and leave it alone. */
  overwriteRecord(name: string, text: string): void {
    this.records.set(validateName(name), { kind: 'foreign', text });
    this.followDeadlines();
  }

  /** For tests: the foreign text under a name, or `undefined` if there is none. */
  foreignText(name: string): string | undefined {
    const record = this.records.get(name);
    return record?.kind === 'foreign' ? record.text : undefined;
  }

  /**
   * For tests: the store restarts. Without its data it also forgets the highest term; rule T's floor, the wall clock,
   * then keeps terms rising, unless that clock was set back or `above` had put terms ahead of it.
   */
  restart(options: { readonly keepData: boolean }): void {
    if (!requireKnown('options', options, { keepData: true }).keepData) {
      this.records.clear();
      this.suspensions.clear();
      this.candidates.clear();
      this.histories.clear();
      this.documents.clear();
      this.lastTerm = 0;
    }
    this.#connections.emit('lost', undefined);
    this.#watchers.wakeAll();
    this.#watchers.rearm();
  }

  #noteExpiry({ name, before, after }: Expiry): void {
    if (before.kind === 'lease') {
      const endReason = before.revocation === undefined ? 'expired' : 'revoked';
      // On the wall clock as it was when the deadline was set; nobody may have looked since.
      this.histories.close(name, before.term, endReason, before.renewedAtMs + before.ttlMs);
    }
    if (after?.kind !== 'lock-delay') this.vacated(name);
  }
}
