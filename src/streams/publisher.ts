import { isTransient, OptionError, OutcomeUnknownError } from '../errors/index.js';
import { Backoff, type Runtime, sleep } from '../time/index.js';
import type { PublishResult, StreamStore } from './contract.js';
import { Lanes, type PendingPublish, type Receipt, type Shipment } from './lanes.js';
import type { EncodedMessage } from './outgoing.js';
import { PublishDeadlines } from './publish-deadlines.js';
import {
  budgetSpent,
  executedTooLate,
  foreignLog,
  leftUnknown,
  notAsked,
  sequenceGap,
} from './publish-errors.js';

export interface PublisherOptions {
  readonly runtime: Runtime;
  readonly store: StreamStore;
  readonly attemptTimeoutMs: number;
  /** Makes sure that the store counts the shards as `route` does, or throws. */
  readonly agree: () => Promise<void>;
  readonly route: (key: string) => number;
  readonly refreshRoutes: () => Promise<void>;
  /** The store has answered a request. */
  readonly answered: (results: readonly PublishResult[]) => void;
}

/** Two requests under way: one is built while the other travels. More would only make them smaller. */
const parallelRequests = 2;
/** Publishes that are called within so many turns of the microtask queue travel together. */
const gatherTurns = 3;
const largestBatchCount = 512;
const largestBatchLength = 1024 * 1024;
/** A key that stays sealed is tried again at growing intervals, since moves take as long as one message may. */
const movingRetry = { firstMs: 20, limitMs: 500 };

/**
 * Turns single publishes into few requests, and tries again what may be tried again, each in its caller's budget.
 *
 * Trying again is safe because the store recognises an id it has seen; order survives because the messages of one key
 * are in one request at a time.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #lanes = new Lanes();
  readonly #deadlines: PublishDeadlines;
  readonly #backoff: Backoff;
  #requestCount = 0;
  #isGathering = false;
  #isResting = false;
  #hasAgreed = false;
  #refreshing: Promise<void> | undefined;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#deadlines = new PublishDeadlines(options.runtime, (pending) => giveUp(pending));
    this.#backoff = new Backoff(options.runtime, { firstMs: 50, limitMs: 2_000 });
  }

  submit(message: EncodedMessage, timeoutMs: number): Promise<Receipt> {
    return new Promise((resolve, reject) => {
      const deadlineMs = this.#options.runtime.now().monotonicMs + timeoutMs;
      const pending: PendingPublish = {
        message,
        timeoutMs,
        deadlineMs,
        resolve,
        reject,
        isSettled: false,
        isInFlight: false,
        obstacle: undefined,
        movedCount: 0,
      };
      this.#deadlines.add(pending);
      this.#lanes.add(pending);
      this.#proceed();
    });
  }

  #proceed(): void {
    const isFree = !this.#isGathering && !this.#isResting && this.#requestCount < parallelRequests;
    if (isFree && this.#lanes.hasReady) void this.#launch();
  }

  async #launch(): Promise<void> {
    this.#isGathering = true;
    for (let turn = 0; turn < gatherTurns; turn++) await undefined;
    this.#isGathering = false;
    const { route } = this.#options;
    const batch = this.#lanes.takeBatch(route, largestBatchCount, largestBatchLength);
    if (batch.length === 0) return;
    this.#requestCount += 1;
    this.#proceed();
    const mayBeSent = await this.#agree(batch);
    // Those whose budget ended meanwhile were told that nothing was sent.
    const unsettled = batch.filter(({ pending }) => !pending.isSettled);
    if (mayBeSent && unsettled.length > 0) await this.#send(unsettled);
    this.#requestCount -= 1;
    this.#free(batch);
    this.#proceed();
  }

  /** Before the first request. Resolves to whether the batch may be sent. Never rejects. */
  async #agree(batch: readonly Shipment[]): Promise<boolean> {
    if (this.#hasAgreed) return true;
    try {
      await this.#options.agree();
      this.#hasAgreed = true;
    } catch (error) {
      // Whatever became of that request: no message was in it.
      this.#failed(batch, error instanceof OutcomeUnknownError ? notAsked(error) : error);
    }
    return this.#hasAgreed;
  }

  /** Resolves to whether the store answered. Never rejects. */
  async #send(batch: readonly Shipment[]): Promise<boolean> {
    const { store, attemptTimeoutMs } = this.#options;
    const requests = batch.map(({ shard, pending }) => ({ shard, ...pending.message }));
    const timeoutMs = Math.min(attemptTimeoutMs, this.#longestBudgetMs(batch));
    for (const { pending } of batch) pending.isInFlight = true;
    try {
      const results = await store.publish(requests, { timeoutMs });
      for (const [index, shipment] of batch.entries()) this.#settle(shipment, results[index]);
      this.#backoff.reset();
      this.#options.answered(results);
      return true;
    } catch (error) {
      if (error instanceof OptionError && batch.length > 1) return this.#sendSingly(batch);
      this.#failed(batch, error);
      return false;
    }
  }

  /** The store refused the batch for one message in it, which must not take the others with it. */
  async #sendSingly(batch: readonly Shipment[]): Promise<boolean> {
    for (const shipment of batch) {
      // Behind one without an answer nothing follows, or it might overtake a message of its own key.
      if (!(await this.#send([shipment])) && !shipment.pending.isSettled) return false;
    }
    return true;
  }

  #settle({ shard, pending }: Shipment, result: PublishResult | undefined): void {
    pending.isInFlight = false;
    if (result !== undefined) this.#lanes.answered(pending.message.key);
    if (pending.isSettled) return;
    switch (result?.outcome) {
      case 'appended':
      case 'duplicate':
        pending.resolve({ seq: result.seq, duplicate: result.outcome === 'duplicate', shard });
        break;
      case 'gap':
        pending.reject(sequenceGap(pending.message, result.lastSeq));
        break;
      case 'corrupt':
        rejectFinally(pending, foreignLog(pending.message, result.detail));
        break;
      case 'moved':
        pending.movedCount += 1;
        pending.obstacle = { kind: 'moving' };
        return;
      default:
        pending.obstacle ??= { kind: 'failed', cause: executedTooLate(pending.message) };
        this.#rest();
        return;
    }
    this.#done(pending);
  }

  #failed(batch: readonly Shipment[], error: unknown): void {
    const isUnknown = error instanceof OutcomeUnknownError;
    const mayPass = isTransient(error);
    for (const { shard, pending } of batch) {
      pending.isInFlight = false;
      if (isUnknown) this.#lanes.unanswered(pending.message.key, shard);
      if (pending.isSettled) continue;
      if (!mayPass) {
        rejectFinally(pending, error);
        this.#done(pending);
      } else if (pending.obstacle?.kind !== 'unknown') {
        pending.obstacle = { kind: isUnknown ? 'unknown' : 'failed', cause: error };
      }
    }
    if (mayPass) this.#rest();
  }

  #done(pending: PendingPublish): void {
    pending.isSettled = true;
    this.#deadlines.delete(pending);
  }

  /** The keys of a request that has ended may travel again; those that are being moved, after a look at the pins. */
  #free(batch: readonly Shipment[]): void {
    const movedCounts = new Map<string, number>();
    for (const { pending } of batch) {
      const { key } = pending.message;
      const isMoving = !pending.isSettled && pending.obstacle?.kind === 'moving';
      movedCounts.set(key, Math.max(movedCounts.get(key) ?? 0, isMoving ? pending.movedCount : 0));
    }
    for (const [key, movedCount] of movedCounts) {
      if (movedCount > 0) void this.#awaitMove(key, movedCount);
      else this.#lanes.free(key);
    }
  }

  async #awaitMove(key: string, movedCount: number): Promise<void> {
    const { runtime, refreshRoutes } = this.#options;
    // Without fresh pins the old ones are tried again: the budget ends it.
    this.#refreshing ??= refreshRoutes()
      .catch(() => {})
      .finally(() => {
        this.#refreshing = undefined;
      });
    await this.#refreshing;
    if (movedCount > 1) {
      const { firstMs, limitMs } = movingRetry;
      const longestMs = Math.min(limitMs, firstMs * 2 ** (movedCount - 2));
      await sleep(runtime, longestMs * (0.5 + runtime.random() / 2));
    }
    this.#lanes.free(key);
    this.#proceed();
  }

  #rest(): void {
    if (this.#isResting) return;
    this.#isResting = true;
    this.#options.runtime.setTimer(this.#backoff.nextMs(), () => {
      this.#isResting = false;
      this.#proceed();
    });
  }

  #longestBudgetMs(batch: readonly Shipment[]): number {
    const nowMs = this.#options.runtime.now().monotonicMs;
    const latestMs = Math.max(...batch.map(({ pending }) => pending.deadlineMs));
    return Math.max(1, Math.ceil(latestMs - nowMs));
  }
}

/** Sent and not answered is not the same as not sent: who is told the wrong one publishes twice, or never. */
function giveUp(pending: PendingPublish): void {
  pending.isSettled = true;
  const { message, timeoutMs, isInFlight } = pending;
  const obstacle = isInFlight ? ({ kind: 'unknown', cause: undefined } as const) : pending.obstacle;
  pending.reject(budgetSpent(message, timeoutMs, obstacle));
}

/** Trying again makes no sense. But an earlier try may have succeeded, which no later error takes back. */
function rejectFinally(pending: PendingPublish, error: unknown): void {
  const isUnknown = pending.obstacle?.kind === 'unknown';
  pending.reject(isUnknown ? leftUnknown(pending.message, error) : error);
}
