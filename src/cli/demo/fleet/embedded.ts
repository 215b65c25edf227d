import { Gate } from '../../embedded/gate.js';
import { gated } from '../../embedded/gated.js';
import type { MessageStores } from '../../stores.js';
import { topicName } from '../settings.js';
import type { Sink } from '../sink.js';
import { ChatWorker } from '../worker.js';
import type { Fleet, TellNews } from './fleet.js';

interface Member {
  readonly worker: ChatWorker;
  readonly gate: Gate;
  disconnect(): Promise<void>;
}

/** Workers inside this process. Each stands behind a gate, so that it can be stopped like a process of its own. */
export class EmbeddedFleet implements Fleet {
  readonly kind = 'workers embedded in this process';
  readonly #stores: MessageStores;
  readonly #sink: Sink;
  readonly #tell: TellNews;
  readonly #members = new Map<string, Member>();

  constructor(stores: MessageStores, sink: Sink, tell: TellNews) {
    this.#stores = stores;
    this.#sink = sink;
    this.#tell = tell;
  }

  async spawn(id: string): Promise<void> {
    const gate = new Gate();
    const coordinator = this.#stores.openCoordinator();
    const streams = this.#stores.openStreams(topicName);
    const worker = new ChatWorker({
      id,
      runtime: gate.runtime,
      coordinator: gated(coordinator, gate),
      streams: gated(streams, gate),
      sink: gated(this.#sink, gate),
      tell: this.#tell,
    });
    const disconnect = async () => {
      await Promise.all([coordinator.close(), streams.close()]);
    };
    this.#members.set(id, { worker, gate, disconnect });
    await worker.start();
  }

  async heldBy(id: string): Promise<readonly number[]> {
    return this.#member(id).worker.heldShards;
  }

  kill(id: string): string {
    const { gate, disconnect } = this.#member(id);
    gate.kill();
    // What the operating system does with the sockets of a dead process.
    void disconnect();
    return 'no timer and no message of it ever again';
  }

  freeze(id: string): string {
    this.#member(id).gate.freeze();
    return 'none of its timers fires, no message gets in or out';
  }

  thaw(id: string): string {
    this.#member(id).gate.thaw();
    return 'all its timers are due at once';
  }

  async close(): Promise<void> {
    for (const { gate } of this.#members.values()) gate.thaw();
    const living = [...this.#members.values()].filter(({ gate }) => !gate.isKilled);
    await Promise.all(living.map(({ worker }) => worker.stop()));
    await Promise.all(living.map(({ disconnect }) => disconnect()));
  }

  #member(id: string): Member {
    const member = this.#members.get(id);
    if (member === undefined) throw new Error(`there is no worker ${id}`);
    return member;
  }
}
