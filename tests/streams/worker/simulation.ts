import { StaleTermError } from '../../../src/errors/index.js';
import { memoryFence } from '../../../src/fences/memory/index.js';
import type { Pins } from '../../../src/shards/index.js';
import { Topic } from '../../../src/streams/topic.js';
import { type DeliveredMessage, StreamWorker } from '../../../src/streams/worker/index.js';
import { sleep } from '../../../src/time/index.js';
import { World } from './fixture.js';
import { TestProcess } from './process.js';

/** Judges per key what reached the resource: every number once, in order, without a hole. */
export class Witness {
  readonly fence = memoryFence();
  readonly inversions: string[] = [];
  /** Effects that were recognised as done before: what a lost owner had finished and not acknowledged. */
  repeatedCount = 0;
  appliedCount = 0;
  /** Writes of owners that had lost their shard. */
  refusedCount = 0;

  lastSeq(key: string): number {
    return (this.fence.resource.read(key) as number | undefined) ?? 0;
  }

  async apply({ key, seq, id }: DeliveredMessage, token: Parameters<typeof this.fence.claim>[0]) {
    const write = this.fence.transaction(token, async (transaction) => {
      if (!(await this.fence.recordOnce(transaction, 'orders', key, seq, id))) {
        this.repeatedCount += 1;
        return;
      }
      const last = (transaction.get(key) as number | undefined) ?? 0;
      if (seq !== last + 1) this.inversions.push(`${key}: ${seq} after ${last}`);
      transaction.set(key, seq);
      this.appliedCount += 1;
    });
    await write.catch((error: unknown) => {
      if (error instanceof StaleTermError) this.refusedCount += 1;
      throw error;
    });
  }
}

export interface Member {
  readonly process: TestProcess;
  readonly worker: StreamWorker;
  fate: 'running' | 'frozen' | 'crashed' | 'left';
}

export interface SimulationOptions {
  readonly seed: number;
  readonly shardCount?: number;
  readonly ttlMs?: number;
  /** How long a handler takes at most, in milliseconds; most take far less. Default 60. */
  readonly slowestHandlerMs?: number;
}

/** A fleet of workers on one topic, a witness at the resource, and counts of what happened. */
export class Simulation {
  readonly world: World;
  readonly witness = new Witness();
  readonly members: Member[] = [];
  readonly counts = new Map<string, number>();
  readonly shardCount: number;
  readonly #options: SimulationOptions;
  #nextId = 0;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.world = new World(options.seed);
    this.shardCount = options.shardCount ?? 16;
  }

  get running(): Member[] {
    return this.members.filter(({ fate }) => fate === 'running');
  }

  publisher(pins?: Pins): { topic: Topic; process: TestProcess } {
    const process = this.world.process(`publisher-${this.#nextId++}`);
    const { runtime, shardCount } = { runtime: this.world.runtime, shardCount: this.shardCount };
    const topic = new Topic(process.store, {
      runtime,
      shardCount,
      timeoutMs: 20_000,
      attemptTimeoutMs: 200,
      ...(pins !== undefined && { pins }),
    });
    return { topic, process };
  }

  /** A new process joins the fleet; it is started in the background. */
  join(pins?: (process: TestProcess) => Promise<Pins>): Promise<Member> {
    return this.#join(pins);
  }

  async #join(pinsOf: ((process: TestProcess) => Promise<Pins>) | undefined): Promise<Member> {
    const { runtime } = this.world;
    const process = new TestProcess(runtime, this.world.coordinator, this.world.streams, {
      id: `worker-${this.#nextId++}`,
      ttlMs: this.#options.ttlMs ?? 3_000,
    });
    const pins = await pinsOf?.(process);
    const topic = new Topic(process.store, {
      runtime: process.runtime,
      shardCount: this.shardCount,
      ...(pins !== undefined && { pins }),
    });
    const worker = new StreamWorker({
      topic,
      leases: process.leases,
      group: 'orders',
      fence: this.witness.fence,
      retry: { firstMs: 20, limitMs: 500 },
      abandonedAfterMs: 2_000,
      drainTimeoutMs: 5_000,
      handler: async (message, { lease }) => {
        const slowness = runtime.random() ** 4;
        // It does not heed the signal on purpose: a late write has to be refused, not avoided.
        await sleep(process.runtime, slowness * (this.#options.slowestHandlerMs ?? 60));
        if (runtime.random() < 0.01) throw new Error('a bad moment');
        await this.witness.apply(message, lease);
      },
    });
    this.#count(worker);
    const member: Member = { process, worker, fate: 'running' };
    this.members.push(member);
    worker.start().catch(() => {});
    return member;
  }

  crash(member: Member): void {
    member.fate = 'crashed';
    member.process.crash();
  }

  freeze(member: Member, durationMs: number): void {
    member.fate = 'frozen';
    member.process.freeze();
    this.world.runtime.setTimer(durationMs, () => {
      member.fate = 'running';
      member.process.thaw();
    });
  }

  async leave(member: Member): Promise<void> {
    member.fate = 'left';
    await member.worker.stop();
    await member.process.leases.close();
  }

  count(what: string): number {
    return this.counts.get(what) ?? 0;
  }

  #count(worker: StreamWorker): void {
    const bump = (what: string, by = 1) => this.counts.set(what, this.count(what) + by);
    worker.events.on('shardsClaimed', ({ shards }) => bump('claimed', shards.length));
    worker.events.on('shardLost', () => bump('lost'));
    worker.events.on('shardDrained', () => bump('drained'));
    worker.events.on('shardRefused', ({ by }) => bump(`refused by ${by}`));
    worker.events.on('handlerFailed', () => bump('handler failed'));
    worker.events.on('storeFailed', () => bump('store failed'));
    worker.events.on('handlerAbandoned', () => bump('abandoned'));
  }
}
