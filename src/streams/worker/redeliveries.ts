import type { Runtime } from '../../time/index.js';
import type { StoredMessage } from '../contract.js';
import type { PumpEventSink } from './events.js';
import type { ShardRunner } from './runner.js';

interface Expiry {
  /** Of the new owner. */
  readonly term: number;
  /** When the lease of the former owner expired: Unix time by this process's clock. */
  readonly atMs: number;
}

/**
 * Tells which messages come again after a takeover. A log keeps no count of deliveries, but what its former owner had in
 * hand is the head of it, and that is what the new owner reads first.
 */
export class Redeliveries {
  readonly #runtime: Runtime;
  readonly #events: PumpEventSink;
  /** Per shard that was taken over and has not been read since. */
  readonly #expiries = new Map<number, Expiry>();

  constructor(runtime: Runtime, events: PumpEventSink) {
    this.#runtime = runtime;
    this.#events = events;
  }

  /** This process has the shard in `term`, since the lease of its former owner expired `gapMs` ago. */
  takenOver(shard: number, term: number, gapMs: number): void {
    this.#expiries.set(shard, { term, atMs: this.#runtime.now().wallMs - gapMs });
  }

  /** The log has answered what stands next in it. */
  read({ shard, lease: { term } }: ShardRunner, messages: readonly StoredMessage[]): void {
    // Once per answer of a store: most of the time there is nothing to look for.
    if (this.#expiries.size === 0) return;
    const expiry = this.#expiries.get(shard);
    if (expiry === undefined || expiry.term > term) return;
    this.#expiries.delete(shard);
    if (expiry.term < term) return;
    const again = messages.filter(({ appendedAtMs }) => appendedAtMs < expiry.atMs);
    if (again.length === 0) return;
    this.#events.emit('redelivered', { shard, term, messageCount: again.length });
  }
}
