import { setMaxListeners } from 'node:events';
import { shardOf } from '../../shards/index.js';
import type { Topic } from '../../streams/topic.js';
import { realRuntime, sleep } from '../../time/index.js';
import { type Line, lineOf, linesPerRound } from './lines.js';

const customers = [
  'mira',
  'jonas',
  'aisha',
  'pavel',
  'lucia',
  'kenji',
  'amara',
  'oskar',
  'priya',
  'tomas',
  'noor',
  'felix',
] as const;

/** The one whose conversation is shown: of the lower half of the shards, which is what a second worker is given. */
export const followed = customers.find((name) => shardOf(name) < 128) ?? customers[0];

const usualPauseMs = 900;
const followedPauseMs = 1_100;

/** A message that the log has accepted. */
export interface Published {
  readonly customer: string;
  readonly seq: number;
  readonly number: number;
}

/** How many messages of each shard the log has not yet seen handled. */
export type Backlog = ReadonlyMap<number, number>;

/** Where customers write to: appends each line to the topic, one customer's after the other. */
export class Gateway {
  readonly published: Published[] = [];
  readonly #topic: Topic;
  readonly #stopping = new AbortController();
  #number = 0;
  #conversations: Promise<void> = Promise.resolve();

  constructor(topic: Topic) {
    this.#topic = topic;
    // Every customer's pause listens to it, and Node warns from the eleventh on.
    setMaxListeners(customers.length * 2, this.#stopping.signal);
  }

  get customerCount(): number {
    return customers.length;
  }

  open(): void {
    const all = Promise.all(customers.map((customer) => this.#converse(customer)));
    this.#conversations = all.then(() => {});
    // Whoever closes the gateway hears of it; until then it must not end the process.
    this.#conversations.catch(() => {});
  }

  /** Lets every customer finish what they are about. @throws what publishing threw. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#conversations;
  }

  /** What the log has not yet seen handled. */
  async backlog(): Promise<Backlog> {
    const { shards } = await this.#topic.backlog();
    return new Map(shards.map(({ shard, count }) => [shard, count]));
  }

  async #converse(customer: string): Promise<void> {
    const { signal } = this.#stopping;
    const isFollowed = customer === followed;
    const pauseMs = isFollowed ? followedPauseMs : usualPauseMs;
    if (!isFollowed) await sleep(realRuntime, Math.random() * pauseMs, signal);
    for (let index = 0; !signal.aborted || index % linesPerRound !== 0; index++) {
      await this.#publish(customer, { number: ++this.#number, text: lineOf(index), isFollowed });
      await sleep(realRuntime, pauseMs, signal);
    }
  }

  async #publish(customer: string, line: Line): Promise<void> {
    const { number } = line;
    const { seq } = await this.#topic.publish({
      key: customer,
      id: `line-${number}`,
      payload: line,
    });
    this.published.push({ customer, seq, number });
  }
}
