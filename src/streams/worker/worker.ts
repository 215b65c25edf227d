import type { Known } from '../../errors/checks.js';
import { ClosedError, isTransient } from '../../errors/index.js';
import { Emitter, type EventSource, type Unsubscribe } from '../../events/index.js';
import type { EndReason, Leases } from '../../leases/index.js';
import { WorkWarning } from '../../leases/work-warning.js';
import {
  type FailedStep,
  type OwnedShard,
  ShardWorker,
  type ShardWorkerEvents,
  type ShardWorkerOptions,
} from '../../shards/index.js';
import type { Topic } from '../topic.js';
import { Breather } from './breather.js';
import type { MessageReference, PumpEvents } from './events.js';
import type { MessageHandler } from './message.js';
import { resolvePumpOptions, type StreamWorkerOptions } from './options.js';
import { StreamWork } from './work.js';

export interface StreamWorkerEvents extends PumpEvents {
  /** These shards are ours; their terms are about to be claimed at the fence and installed in the log. */
  shardsClaimed: { readonly shards: readonly OwnedShard[] };
  /** The shard's last message was finished and the log knows it; the shard was given back, to `to` if it is known. */
  shardDrained: { readonly shard: number; readonly term: number; readonly to: string | undefined };
  /** The lease ended against our will. What was not acknowledged is delivered again, to the next owner. */
  shardLost: { readonly shard: number; readonly term: number; readonly reason: EndReason };
  /** The coordinator's terms had fallen below what the fence or the log has seen; the shard's are above it again. */
  termHealed: { readonly shard: number; readonly above: number; readonly term: number };
  /** Owning shards failed at something, and it will be tried again. */
  shardsFailed: { readonly error: unknown; readonly during: FailedStep };
}

const eventNames: Known<StreamWorkerEvents> = {
  ...{ handled: true, handlerFailed: true, handlersEnded: true, handlerAbandoned: true },
  ...{
    shardStalled: true,
    shardRefused: true,
    logReset: true,
    logCorrupt: true,
    storeFailed: true,
  },
  ...{ shardsClaimed: true, shardDrained: true, shardLost: true, shardsFailed: true },
  ...{ termHealed: true, redelivered: true },
};

/** A shard as its worker sees it. */
export interface ShardActivity {
  readonly shard: number;
  readonly term: number;
  /** How many messages this worker has finished in it under this term. */
  readonly finishedCount: number;
  /** The message whose handling was begun, or `undefined` if the shard is idle. */
  readonly current: (MessageReference & { readonly attempt: number }) | undefined;
}

/**
 * Handles the messages of a topic on however many processes share its group: in order per key, serial inside a shard,
 * parallel across shards.
 *
 * Delivery is at least once. What a lost owner had not acknowledged comes again, so a handler either may run twice or
 * records what it did: `fence.recordOnce` inside the transaction of the effect makes it effectively once. A message
 * that fails is tried again until it succeeds and holds up its shard meanwhile; nothing is skipped.
 */
export class StreamWorker<Payload = unknown> implements AsyncDisposable {
  readonly topic: Topic;
  readonly leases: Leases;
  readonly #emitter = new Emitter<StreamWorkerEvents>(eventNames);
  readonly #work: StreamWork;
  readonly #shards: ShardWorker;
  #unsubscribe: Unsubscribe[] = [];
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  /** @throws {OptionError} for a wrong value, by name. */
  constructor(options: StreamWorkerOptions<Payload>) {
    const pumpOptions = resolvePumpOptions(options);
    const { topic, leases } = options;
    this.topic = topic;
    this.leases = leases;
    this.#work = new StreamWork({
      ...pumpOptions,
      leases,
      runtime: leases.runtime,
      store: topic.store,
      events: this.#emitter,
      handler: options.handler as MessageHandler<never>,
      breather: new Breather(leases.runtime),
      fence: options.fence,
      agree: () => topic.agree(),
    });
    this.#shards = new ShardWorker(shardWorkerOptions(options, this.#work), {
      listen: "worker.events.on('shardsFailed', ...)",
      isHeard: () => this.#emitter.listenerCount('shardsFailed') > 0,
    });
    this.#passOn();
    this.#warn();
  }

  get events(): EventSource<StreamWorkerEvents> {
    return this.#emitter;
  }

  /** What owning shards tells beside that: takeovers, plans, the state of this member. */
  get shardEvents(): EventSource<ShardWorkerEvents> {
    return this.#shards.events;
  }

  /** The name that its fleet shares. */
  get group(): string {
    return this.#shards.group;
  }

  /** What this worker is doing in each of its shards. */
  get shards(): ShardActivity[] {
    return [...this.#work.pump.runners].map(({ shard, lease, finishedCount, current }) => ({
      shard,
      term: lease.term,
      finishedCount,
      current,
    }));
  }

  /**
   * Joins the group: from now on this worker takes its share of the shards. Calling it again changes nothing.
   *
   * @throws {ClosedError} after `stop`; {@link OptionError} if the store knows the topic with another shard count; what
   * `ShardWorker.start` throws.
   */
  start(): Promise<void> {
    if (this.#stopping !== undefined) return Promise.reject(new ClosedError('the stream worker'));
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /**
   * Leaves the group: finishes the message each shard is at, tells the log, gives the shards to the others. Work that
   * does not end within `drainTimeoutMs` is aborted. Never throws; every call returns the same promise.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #start(): Promise<void> {
    this.#work.start();
    try {
      await this.#agree();
      await this.#shards.start();
    } catch (error) {
      this.#starting = undefined;
      await this.#work.stop();
      throw error;
    }
  }

  /** So that a wrong shard count is told to who starts the worker. Every beginning of a shard asks again. */
  async #agree(): Promise<void> {
    try {
      await this.topic.agree();
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
  }

  async #stop(): Promise<void> {
    await this.#shards.stop();
    await this.#work.stop();
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
  }

  #warn(): void {
    const emitter = this.#emitter;
    const warning = new WorkWarning({
      code: 'TENURE_HANDLER_FAILED',
      who: `the handler of the group "${this.group}"`,
      listen: "worker.events.on('handlerFailed', ...)",
    });
    // Metrics count how long handlers take that fail, too.
    const isHeard = () =>
      emitter.listenerCount('handlerFailed') + emitter.listenerCount('handlersEnded') > 0;
    emitter.overhear('handlerFailed', ({ error }) => {
      if (!isHeard()) warning.failed(error, 'is called again with the same message after a pause');
    });
  }

  #passOn(): void {
    const { events } = this.#shards;
    const emitter = this.#emitter;
    this.#unsubscribe = [
      events.on('claimed', (event) => emitter.emit('shardsClaimed', event)),
      events.on('takenOver', ({ shard, term, gapMs }) =>
        this.#work.redeliveries.takenOver(shard, term, gapMs),
      ),
      events.on('handedOff', (event) => emitter.emit('shardDrained', event)),
      events.on('released', ({ shard, term }) =>
        emitter.emit('shardDrained', { shard, term, to: undefined }),
      ),
      events.on('termHealed', (event) => emitter.emit('termHealed', event)),
      events.on('lost', (event) => emitter.emit('shardLost', event)),
      this.#shards.overhear('error', (event) => emitter.emit('shardsFailed', event)),
    ];
  }
}

function shardWorkerOptions<Payload>(
  options: StreamWorkerOptions<Payload>,
  work: StreamWork,
): ShardWorkerOptions {
  const { topic, leases, group, sweepEveryMs, reserveMs, drainTimeoutMs, abortGraceMs } = options;
  return {
    leases,
    group,
    work,
    shardCount: topic.shardCount,
    ...(topic.pins !== undefined && { pins: topic.pins }),
    ...(sweepEveryMs !== undefined && { sweepEveryMs }),
    ...(reserveMs !== undefined && { reserveMs }),
    ...(drainTimeoutMs !== undefined && { drainTimeoutMs }),
    ...(abortGraceMs !== undefined && { abortGraceMs }),
  };
}
