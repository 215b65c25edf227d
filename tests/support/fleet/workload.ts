import { redisStreams } from '../../../src/redis.js';
import { Topic } from '../../../src/streams/index.js';
import type { ExpectedMessage } from './ledger.js';
import type { SeededRandom } from './random.js';

export interface WorkloadOptions {
  readonly random: SeededRandom;
  readonly keyCount: number;
  readonly messageCount: number;
}

/** Messages of many customers, a few of whom write most of them. */
export class Workload {
  readonly messages: readonly ExpectedMessage[];
  readonly #byKey = new Map<string, ExpectedMessage[]>();
  readonly #random: SeededRandom;

  constructor({ random, keyCount, messageCount }: WorkloadOptions) {
    this.#random = random;
    const keys = Array.from({ length: keyCount }, (_, index) => `customer-${index + 1}`);
    const talkative = keys.slice(0, Math.ceil(keyCount / 10));
    for (let count = 0; count < messageCount; count++) {
      const key = random.pick(random.chance(0.5) ? talkative : keys);
      const ofKey = this.#byKey.get(key) ?? [];
      this.#byKey.set(key, ofKey);
      ofKey.push({ key, seq: ofKey.length + 1, id: `message-${ofKey.length + 1}` });
    }
    this.messages = [...this.#byKey.values()].flat();
  }

  /**
   * Publishes all of it, spread over `durationMs`, the customers interleaved. One in ten is sent once more, now or
   * later, and has to be recognised. Half of the customers number their messages themselves.
   */
  async publish(topic: Topic, durationMs: number): Promise<void> {
    const customers = [...this.#byKey.values()].map(async (messages, index) => {
      const random = this.#random.fork();
      for (const message of messages) {
        await pause((random.between(0.2, 1.8) * durationMs) / messages.length);
        const isNumbered = index % 2 === 0;
        await publishOne(topic, message, isNumbered);
        if (!random.chance(0.1)) continue;
        const again = random.pick(messages.slice(0, message.seq));
        const receipt = await publishOne(topic, again, isNumbered);
        if (!receipt.duplicate || receipt.seq !== again.seq) {
          throw new Error(`the repetition of ${again.key} ${again.id} was not recognised`);
        }
      }
    });
    await Promise.all(customers);
  }
}

export function openTopic(redisUrl: string, namespace: string, shardCount: number) {
  const streams = redisStreams(redisUrl, { namespace, topic: 'messages' });
  return { topic: new Topic(streams, { shardCount }), streams };
}

async function publishOne(topic: Topic, message: ExpectedMessage, isNumbered: boolean) {
  const { key, id, seq } = message;
  return await topic.publish({ key, id, payload: { id }, ...(isNumbered && { seq }) });
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
