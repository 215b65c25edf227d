import { MemoryStore } from '../../../src/coordinators/memory/index.js';
import { type OwnedShard, shardLeaseName } from '../../../src/shards/index.js';
import { MemoryStreams } from '../../../src/streams/memory/index.js';
import { Topic, type TopicOptions } from '../../../src/streams/topic.js';
import { Breather } from '../../../src/streams/worker/breather.js';
import type { PumpEvents } from '../../../src/streams/worker/events.js';
import type { MessageHandler } from '../../../src/streams/worker/message.js';
import { StreamWork, type StreamWorkOptions } from '../../../src/streams/worker/work.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import { TestProcess } from './process.js';

export type WorkOverrides = Partial<StreamWorkOptions>;

export interface RecordedEvent {
  readonly name: keyof PumpEvents;
  readonly event: PumpEvents[keyof PumpEvents];
}

/** A process whose shards a test hands out by itself. */
export class TestWorker {
  readonly process: TestProcess;
  readonly work: StreamWork;
  readonly events: RecordedEvent[] = [];
  readonly owned = new Map<number, OwnedShard>();

  constructor(process: TestProcess, handler: MessageHandler<never>, overrides: WorkOverrides) {
    this.process = process;
    const { runtime, leases, store } = process;
    this.work = new StreamWork({
      runtime,
      leases,
      store,
      handler,
      events: {
        listenerCount: () => 0,
        emit: (name, event) => {
          this.events.push({ name, event });
        },
      },
      breather: new Breather(runtime),
      fence: undefined,
      prefetchCount: 32,
      maxBufferedCount: 8_192,
      retry: { firstMs: 100, limitMs: 30_000 },
      callTimeoutMs: 200,
      idleReadEveryMs: 5_000,
      stalledAfterMs: 60_000,
      abandonedAfterMs: 5_000,
      agree: async () => {},
      ...overrides,
    });
    this.work.start();
    // As the owner of shards does: a lost lease drops its shard.
    leases.events.on('lost', ({ lease }) => {
      for (const owned of this.owned.values()) if (owned.lease === lease) this.#lost(owned);
    });
  }

  /** Acquires the leases of these shards, waiting for them if need be, and begins the work. */
  async claim(...shards: number[]): Promise<OwnedShard[]> {
    const claimed: OwnedShard[] = [];
    for (const shard of shards) {
      const lease = await this.process.leases.acquire(shardLeaseName('group', shard), {
        waitMs: 60_000,
      });
      if (lease === undefined) throw new Error(`shard ${shard} is held by somebody else`);
      claimed.push({ shard, lease });
    }
    for (const owned of claimed) this.owned.set(owned.shard, owned);
    await this.work.begin(claimed);
    return claimed;
  }

  /** Drains the shards and gives them back, as a graceful move does. */
  async giveBack(...shards: number[]): Promise<void> {
    await Promise.all(
      shards.map(async (shard) => {
        const owned = this.owned.get(shard);
        if (owned === undefined) return;
        await this.work.drain(owned);
        this.owned.delete(shard);
        await owned.lease.release();
      }),
    );
  }

  async stop(): Promise<void> {
    await this.giveBack(...this.owned.keys());
    await this.work.stop();
    await this.process.leases.close();
  }

  eventsOf<Name extends keyof PumpEvents>(name: Name): PumpEvents[Name][] {
    return this.events
      .filter((recorded) => recorded.name === name)
      .map(({ event }) => event as PumpEvents[Name]);
  }

  #lost(owned: OwnedShard): void {
    this.owned.delete(owned.shard);
    this.work.drop(owned);
  }
}

/** A coordinator, the logs of one topic, and any number of processes, all under one virtual clock. */
export class World {
  readonly runtime: VirtualRuntime;
  readonly coordinator: MemoryStore;
  readonly streams: MemoryStreams;

  constructor(seed = 1) {
    this.runtime = new VirtualRuntime({ seed });
    this.coordinator = new MemoryStore({ runtime: this.runtime });
    this.streams = new MemoryStreams({ runtime: this.runtime });
  }

  process(id: string): TestProcess {
    return new TestProcess(this.runtime, this.coordinator, this.streams, { id });
  }

  topic(options: Partial<TopicOptions> = {}): Topic {
    const { store, runtime } = this.process(`publisher-${this.runtime.randomHex(2)}`);
    return new Topic(store, { runtime, ...options });
  }

  worker(id: string, handler: MessageHandler<never>, overrides: WorkOverrides = {}): TestWorker {
    return new TestWorker(this.process(id), handler, overrides);
  }
}
