import { requireObject } from '../../errors/checks.js';
import { Emitter, type Unsubscribe } from '../../events/index.js';
import { elapsedMs, type Instant, type Runtime } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { StoredDocument } from '../contract.js';
import { validateName } from '../names.js';
import { Records } from './records.js';
import { type Wake, Watchers } from './watchers.js';

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
  /** @internal */
  readonly documents = new Map<string, StoredDocument>();
  /** @internal The highest term granted in this namespace; 0 before the first. */
  lastTerm = 0;
  readonly #startedAt: Instant;
  readonly #watchers: Watchers;
  readonly #connections = new Emitter<{ lost: undefined }>();

  constructor(options: MemoryStoreOptions = {}) {
    this.runtime = requireRuntime(requireObject('options', options).runtime);
    this.#startedAt = this.runtime.now();
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

  /** Removes what has expired by now, wakes who waited for it, and returns the time this was judged by. */
  expire(): number {
    const nowMs = this.elapsedMs();
    const expired = this.records.expire(nowMs);
    for (const name of expired) this.#watchers.wake(name);
    this.#watchers.rearm();
    return nowMs;
  }

  /** @internal Calls `wake` at once when a name of the group became free. */
  watch(group: string, wake: Wake): Unsubscribe {
    return this.#watchers.add(group, wake);
  }

  /** @internal Calls `lost` when the store restarts: what was connected to it is not any more. */
  onConnectionLost(lost: () => void): Unsubscribe {
    return this.#connections.on('lost', lost);
  }

  /** @internal After an operation: wakes the watchers of `freed` names and follows the deadlines that moved. */
  changed(freed: readonly string[]): void {
    for (const name of freed) this.#watchers.wake(name);
    this.#watchers.rearm();
  }

  /** For tests: somebody deletes what is stored under a name. The namespace's highest term stays known. */
  deleteRecord(name: string): void {
    this.records.delete(validateName(name));
    this.changed([name]);
  }

  /** For tests: somebody writes a text of their own under a name. Our operations refuse it and leave it alone. */
  overwriteRecord(name: string, text: string): void {
    this.records.set(validateName(name), { kind: 'foreign', text });
    this.changed([]);
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
    if (!options.keepData) {
      this.records.clear();
      this.documents.clear();
      this.lastTerm = 0;
    }
    this.#connections.emit('lost', undefined);
    this.#watchers.wake(undefined);
    this.#watchers.rearm();
  }
}
