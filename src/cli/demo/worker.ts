import type { Coordinator } from '../../coordinators/index.js';
import { isTransient, StaleTermError } from '../../errors/index.js';
import { type Lease, Leases } from '../../leases/index.js';
import { shardLeaseName } from '../../shards/index.js';
import type { StreamStore } from '../../streams/contract.js';
import { Topic } from '../../streams/topic.js';
import { type DeliveredMessage, StreamWorker } from '../../streams/worker/index.js';
import { type Runtime, sleep } from '../../time/index.js';
import { type Line, replyTo } from './lines.js';
import type { MessageFacts, News } from './news.js';
import { groupName, leaseTiming, ttlMs, workMs } from './settings.js';
import type { WorkerSink } from './sink.js';

/** What one worker needs, in this process or in one of its own. */
export interface WorkerTools {
  readonly id: string;
  readonly runtime: Runtime;
  readonly coordinator: Coordinator;
  readonly streams: StreamStore;
  readonly sink: WorkerSink;
  readonly tell: (news: News) => void;
}

/** One employee of the shop: owns some shards and answers their customers. */
export class ChatWorker {
  readonly #tools: WorkerTools;
  readonly #leases: Leases;
  readonly #worker: StreamWorker<Line>;

  constructor(tools: WorkerTools) {
    const { id, runtime, coordinator, streams, sink } = tools;
    this.#tools = tools;
    this.#leases = new Leases(coordinator, { ...leaseTiming, id, runtime });
    this.#worker = new StreamWorker<Line>({
      topic: new Topic(streams, { runtime }),
      leases: this.#leases,
      group: groupName,
      // Whoever ends the demonstration waits for no longer.
      drainTimeoutMs: 3_000,
      abortGraceMs: 1_000,
      fence: sink,
      handler: (message, { lease }) => this.#answer(message, lease),
    });
  }

  /** Resolves when it is a member and has claimed its first shards. */
  start(): Promise<void> {
    return this.#worker.start();
  }

  /** The shards it believes to own at this moment. */
  get heldShards(): number[] {
    const prefix = shardLeaseName(groupName, 0).slice(0, -1);
    const held = this.#leases.live.filter(
      ({ name, state }) => state === 'held' && name.startsWith(prefix),
    );
    return held.map(({ name }) => Number(name.slice(prefix.length)));
  }

  async stop(): Promise<void> {
    await this.#worker.stop();
    await this.#leases.close();
  }

  /**
   * On purpose the worst of handlers: it never looks at its lease or its signal, so that only the fence stands between
   * a worker that was frozen and the customer's record.
   */
  async #answer(message: DeliveredMessage<Line>, lease: Lease): Promise<void> {
    const { id, runtime, sink, tell } = this.#tools;
    const { key: customer, seq, shard, payload } = message;
    const { number, text, isFollowed } = payload;
    const facts: MessageFacts = { customer, seq, number, text, shard, term: lease.term };
    const begunAtMs = runtime.now().wallMs;
    tell({ type: 'began', worker: id, message: facts });
    await sleep(runtime, isFollowed ? workMs.followed : workMs.usual);
    const awakening = await this.#lookAround(lease);
    try {
      const finishedAtMs = runtime.now().wallMs;
      const reply = replyTo(text);
      const outcome = await sink.write(
        { name: lease.name, term: lease.term, holder: lease.holder },
        message.id,
        { ...facts, reply, worker: id, begunAtMs, finishedAtMs },
      );
      tell({ type: outcome, worker: id, message: facts });
    } catch (error) {
      if (error instanceof StaleTermError)
        tell({ type: 'refused', worker: id, message: facts, words: error.message, awakening });
      throw error;
    }
  }

  /**
   * If the lease ended while the handler worked: what the clock says, and what the store answers to a renewal. The
   * library itself would not even ask; this asks in its stead, so that the refusal can be seen.
   */
  async #lookAround(lease: Lease): Promise<string | undefined> {
    if (lease.endReason === undefined) return undefined;
    const { coordinator } = this.#tools;
    const request = { name: lease.name, holder: lease.holder, term: lease.term, ttlMs };
    // A connection that slept for so long may be given up in this very moment; the next one answers.
    for (let tries = 3; ; tries--) {
      try {
        const [result] = await coordinator.renew([request], { timeoutMs: ttlMs });
        return result?.outcome === 'not-yours' ? `refused: ${result.reason}` : 'granted';
      } catch (error) {
        if (tries === 0 || !isTransient(error)) return 'not answered';
      }
    }
  }
}
