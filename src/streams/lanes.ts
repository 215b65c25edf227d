import type { EncodedMessage } from './outgoing.js';

/** One publish under way: from the caller's call until its promise settles. */
export interface PendingPublish {
  readonly message: EncodedMessage;
  /** The caller's budget, in milliseconds from its call. */
  readonly timeoutMs: number;
  /** When the caller's budget ends, on the monotonic clock. */
  readonly deadlineMs: number;
  readonly resolve: (receipt: Receipt) => void;
  readonly reject: (error: unknown) => void;
  isSettled: boolean;
  /** It is in a request that has no answer yet. */
  isInFlight: boolean;
  /** What stands in the way of success so far; tells which error the caller gets when the budget is spent. */
  obstacle: Obstacle | undefined;
  /** How many requests found the key sealed. */
  movedCount: number;
}

/**
 * - `unknown`: a request had no answer, so the message may have been appended. Only an answer clears it.
 * - `moving`: the key is sealed. `failed`: the store could not be reached or refused, so nothing was appended.
 */
export type Obstacle =
  | { readonly kind: 'unknown'; readonly cause: unknown }
  | { readonly kind: 'moving' }
  | { readonly kind: 'failed'; readonly cause: unknown };

/** What became of a published message. */
export interface Receipt {
  /** The message's number among those of its key. */
  readonly seq: number;
  /** It had been accepted before (by an earlier try of this very call, perhaps), so nothing was appended now. */
  readonly duplicate: boolean;
  readonly shard: number;
}

export interface Shipment {
  readonly shard: number;
  readonly pending: PendingPublish;
}

interface Lane {
  waiting: PendingPublish[];
  isInFlight: boolean;
}

/**
 * The publishes of each key in the order of their calls. A key is in at most one request at a time, so that no later
 * message overtakes one that has to be sent again.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  /** Keys that have something to send and are not in flight, oldest first. */
  readonly #ready = new Set<string>();
  readonly #unanswered = new Map<string, number>();

  get hasReady(): boolean {
    return this.#ready.size > 0;
  }

  add(pending: PendingPublish): void {
    const { key } = pending.message;
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = { waiting: [], isInFlight: false };
      this.#lanes.set(key, lane);
    }
    lane.waiting.push(pending);
    if (!lane.isInFlight) this.#ready.add(key);
  }

  /** The next batch: keys in turn, each in order, as far as the limits go. Give every key back with {@link free}. */
  takeBatch(route: (key: string) => number, limitCount: number, limitLength: number): Shipment[] {
    const batch: Shipment[] = [];
    let length = 0;
    for (const key of this.#ready) {
      if (batch.length >= limitCount || length >= limitLength) break;
      this.#ready.delete(key);
      const lane = this.#unsettled(key);
      if (lane === undefined) continue;
      lane.isInFlight = true;
      const shard = this.#unanswered.get(key) ?? route(key);
      for (const pending of lane.waiting) {
        if (batch.length >= limitCount || length >= limitLength) break;
        batch.push({ shard, pending });
        length += pending.message.payload.length;
      }
    }
    return batch;
  }

  /** A request with this key had no answer: that shard alone can say whether it knows the messages, so ask it again. */
  unanswered(key: string, shard: number): void {
    this.#unanswered.set(key, shard);
  }

  answered(key: string): void {
    if (this.#unanswered.size > 0) this.#unanswered.delete(key);
  }

  /** The key may travel again, with what is not settled first. */
  free(key: string): void {
    const lane = this.#unsettled(key);
    if (lane === undefined) return;
    lane.isInFlight = false;
    this.#ready.add(key);
  }

  #unsettled(key: string): Lane | undefined {
    const lane = this.#lanes.get(key);
    if (lane === undefined) return undefined;
    if (lane.waiting.some(({ isSettled }) => isSettled))
      lane.waiting = lane.waiting.filter(({ isSettled }) => !isSettled);
    if (lane.waiting.length > 0) return lane;
    this.#lanes.delete(key);
    this.#unanswered.delete(key);
    return undefined;
  }
}
