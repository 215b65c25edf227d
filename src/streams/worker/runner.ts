import { traced, traces } from '../../events/index.js';
import type { Lease } from '../../leases/index.js';
import type { OwnedShard } from '../../shards/index.js';
import { Backoff, type BackoffOptions, type Runtime, type Timer } from '../../time/index.js';
import type { StoredMessage } from '../contract.js';
import { AcknowledgementQueue } from './acknowledgements.js';
import type { Breather } from './breather.js';
import type { MessageReference, PumpEventSink } from './events.js';
import { type HandlerTimes, Stopwatch } from './handler-times.js';
import { Intake } from './intake.js';
import { deliver, type HandlerContext, type MessageHandler } from './message.js';
import { Pause } from './pause.js';
import { staleTermOf } from './stale.js';

/** What all runners of a worker share. */
export interface RunnerEnvironment {
  readonly runtime: Runtime;
  readonly events: PumpEventSink;
  readonly handler: MessageHandler<never>;
  readonly prefetchCount: number;
  readonly retry: BackoffOptions;
  readonly breather: Breather;
  readonly times: HandlerTimes;
  readonly abandonedAfterMs: number;
  /** This shard has something to send, or room for more messages. */
  due(runner: ShardRunner): void;
  /** A fence has refused what the handler wrote: the lease is over. */
  refused(runner: ShardRunner, installedTerm: number): void;
}

/**
 * Handles the messages of one shard for one term, one after the other.
 *
 * A message begins when the one before it has ended and the lease is held. One that fails is tried again in place, so
 * nothing overtakes it. Messages that were not begun are forgotten on drain or loss: they are still in the log.
 */
export class ShardRunner {
  readonly shard: number;
  readonly lease: Lease;
  readonly intake: Intake;
  readonly acknowledgements = new AcknowledgementQueue();
  /** Resolves once nothing of this runner runs any more and, if it was drained, the log knows what was finished. */
  readonly ended: Promise<void>;
  /** Resolves with {@link ended}, or when its handler, which outlived the lease, was reported and left behind. */
  readonly givenUp: Promise<void>;
  readonly #environment: RunnerEnvironment;
  readonly #context: HandlerContext;
  readonly #backoff: Backoff;
  readonly #pause: Pause;
  #resolveEnded: () => void = () => {};
  #resolveGivenUp: () => void = () => {};
  /** A handler of an earlier term of this shard runs in this process: until that is over, ours counts as running too. */
  #hasPredecessor = false;
  #phase: 'waiting' | 'running' | 'draining' | 'ended' = 'waiting';
  /** The message that was begun, across its retries. */
  #current: StoredMessage | undefined;
  #attempt = 1;
  #isLooping = false;
  #isHandling = false;
  /** The message that was begun comes from a log that is no more. */
  #isCurrentForgotten = false;
  #abandonment: Timer | undefined;
  #finishedCount = 0;

  /** @param predecessor resolves when no handler of an earlier term of this shard, in this process, is waited for. */
  constructor(owned: OwnedShard, environment: RunnerEnvironment, predecessor?: Promise<void>) {
    this.shard = owned.shard;
    this.lease = owned.lease;
    this.intake = new Intake(environment.prefetchCount);
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.givenUp = new Promise((resolve) => {
      this.#resolveGivenUp = resolve;
    });
    this.#environment = environment;
    this.#context = { lease: owned.lease, signal: owned.lease.signal };
    this.#backoff = new Backoff(environment.runtime, environment.retry);
    this.#pause = new Pause(environment.runtime);
    if (predecessor !== undefined) void this.#awaitPredecessor(predecessor);
  }

  /** Whether messages are still to be begun here. */
  get isOpen(): boolean {
    return this.#phase === 'waiting' || this.#phase === 'running';
  }

  /** Whether requests to the log may still be made for it. */
  get isAlive(): boolean {
    return this.#phase !== 'ended' && this.lease.endReason === undefined;
  }

  /** The message that was begun and has not ended, with the number of its attempt. */
  get current(): (MessageReference & { readonly attempt: number }) | undefined {
    const message = this.#current;
    return message === undefined
      ? undefined
      : { ...this.#reference(message), attempt: this.#attempt };
  }

  /** Every message that was read is finished, and the log knows it. */
  get hasNothing(): boolean {
    return this.#current === undefined && this.intake.count === 0 && this.acknowledgements.isEmpty;
  }

  /** Grows with every finished message. */
  get finishedCount(): number {
    return this.#finishedCount;
  }

  /** Its term is installed: messages may begin, as soon as no predecessor's handler runs any more. */
  start(): void {
    if (this.#phase === 'waiting') this.#phase = 'running';
    this.proceed();
  }

  /** There are new messages, or the lease may be held again. */
  proceed(): void {
    this.#pause.endIf('uncertain');
    if (this.#isLooping || this.#hasPredecessor) return;
    if (this.#phase === 'running' && this.intake.count > 0) void this.#loop();
  }

  /** Begins no other message. Resolves as {@link ended}. */
  drain(): Promise<void> {
    if (this.isOpen) this.#phase = 'draining';
    this.intake.clear();
    this.#pause.end();
    // Also if its log was left alone for a while.
    if (!this.acknowledgements.isEmpty) this.#environment.due(this);
    this.settle();
    return this.ended;
  }

  /** The lease is gone: forgets everything. A handler that still runs is reported if it ignores the aborted signal. */
  end(): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.intake.clear();
    this.acknowledgements.clear();
    this.#pause.end();
    if (this.#isHandling) this.#watchAbandoned();
    this.settle();
  }

  /** The log knows about more finished messages than before: a drain may be complete. */
  settle(): void {
    if (this.#isLooping || this.#hasPredecessor || this.isOpen) return;
    if (this.#phase === 'draining' && !this.acknowledgements.isEmpty) return;
    this.#abandonment?.cancel();
    this.#resolveEnded();
    this.#resolveGivenUp();
    // The record of a lost lease stays until its work has stopped: that is now, and lets a successor begin.
    if (this.lease.endReason !== undefined) void this.lease.release();
  }

  /**
   * The log has lost its state and is read from its head again. It may use old positions anew, so nothing that was read
   * before is acknowledged: what was handled and is still there comes again.
   */
  restart(): void {
    this.intake.restart();
    this.acknowledgements.clear();
    this.#isCurrentForgotten = this.#current !== undefined;
    // What a drain was waiting for may have gone with the log.
    this.settle();
  }

  async #awaitPredecessor(predecessor: Promise<void>): Promise<void> {
    this.#hasPredecessor = true;
    await predecessor;
    this.#hasPredecessor = false;
    this.proceed();
    this.settle();
  }

  async #loop(): Promise<void> {
    const { breather } = this.#environment;
    const handler = this.#environment.handler as MessageHandler;
    const stopwatch = new Stopwatch(breather, this.#environment.times);
    this.#isLooping = true;
    while (this.#mayBegin()) {
      const breath = breather.next();
      stopwatch.looked();
      if (breath !== undefined) {
        await breath;
        stopwatch.rested();
        if (!this.#mayBegin()) break;
      }
      const { state } = this.lease;
      if (state === 'uncertain') {
        await this.#pause.begin('uncertain');
        continue;
      }
      this.#current ??= this.intake.take();
      const message = this.#current;
      if (state !== 'held' || message === undefined) break;
      try {
        this.#isHandling = true;
        stopwatch.begun();
        if (traces.message.hasSubscribers) await this.#handleTraced(handler, message);
        else await handler(deliver(message, this.shard, this.#attempt), this.#context);
        this.#isHandling = false;
        stopwatch.returned();
        this.#finished(message);
      } catch (error) {
        this.#isHandling = false;
        stopwatch.threw();
        await this.#failed(message, error);
      }
    }
    stopwatch.over();
    this.#isLooping = false;
    this.#current = undefined;
    this.settle();
  }

  #handleTraced(handler: MessageHandler, message: StoredMessage): Promise<unknown> {
    const { key, seq, id, appendedAtMs } = message;
    const attempt = this.#attempt;
    const { shard, lease } = this;
    const context = { shard, term: lease.term, key, seq, id, attempt, appendedAtMs };
    return traced(traces.message, context, async () =>
      handler(deliver(message, shard, attempt), this.#context),
    );
  }

  #mayBegin(): boolean {
    return this.#phase === 'running';
  }

  #finished(message: StoredMessage): void {
    this.#current = undefined;
    if (this.#attempt > 1) this.#backoff.reset();
    this.#attempt = 1;
    // What ends after the loss counts for nothing: the successor begins with this message.
    const isForgotten = this.#isCurrentForgotten;
    this.#isCurrentForgotten = false;
    if (isForgotten || this.#phase === 'ended' || this.#context.signal.aborted) return;
    this.#finishedCount += 1;
    this.acknowledgements.add(message.position);
    this.#environment.due(this);
  }

  async #failed(message: StoredMessage, error: unknown): Promise<void> {
    const stale = staleTermOf(this.lease, error);
    const isOver = this.#phase === 'ended' || this.#context.signal.aborted;
    // A fence ends the lease that it refuses before the handler throws; that is reported all the same.
    const isRefused = stale !== undefined && (!isOver || this.lease.installedTerm !== undefined);
    if (isRefused) return this.#environment.refused(this, stale.installedTerm);
    if (isOver) return;
    const retryInMs = this.#backoff.nextMs();
    const attempt = this.#attempt++;
    const reference = this.#reference(message);
    this.#environment.events.emit('handlerFailed', { ...reference, attempt, error, retryInMs });
    // A listener may have stopped us; a pause that began now would be waited for by the drain.
    if (this.#mayBegin()) await this.#pause.begin('retry', retryInMs);
  }

  /** From the end of the lease a handler has this long to heed its signal, before it is reported and left behind. */
  #watchAbandoned(): void {
    const { runtime, abandonedAfterMs: runningMs, events } = this.#environment;
    const message = this.#current;
    if (message === undefined) return;
    this.#abandonment = runtime.setTimer(runningMs, () => {
      const reference = this.#reference(message);
      events.emit('handlerAbandoned', { ...reference, term: this.lease.term, runningMs });
      this.#resolveGivenUp();
    });
  }

  #reference({ key, seq, id }: StoredMessage): MessageReference {
    return { shard: this.shard, key, seq, id };
  }
}
