import { MemoryCaller } from '../../drivers/memory/index.js';
import { StaleTermError } from '../../errors/index.js';
import type { Fence, FencePromises, FencingToken } from '../../fences/index.js';
import type { MemoryFence } from '../../fences/memory/index.js';
import type { Witness } from '../witness.js';
import type { Machine } from '../world/machine.js';
import type { SimLink } from './link.js';

/** So long a process waits for the resource, in milliseconds. */
const timeoutMs = 2_000;

/** Writes that are sent as one; `get` asks the resource beside them. */
export interface Batch {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown): void;
}

interface Recording {
  readonly scope: string;
  readonly key: string;
  readonly seq: number;
  readonly id: string;
}

class RemoteBatch implements Batch {
  readonly writes = new Map<string, unknown>();
  readonly recordings: Recording[] = [];
  readonly #read: (key: string) => Promise<unknown>;

  constructor(read: (key: string) => Promise<unknown>) {
    this.#read = read;
  }

  get(key: string): Promise<unknown> {
    return this.writes.has(key) ? Promise.resolve(this.writes.get(key)) : this.#read(key);
  }

  set(key: string, value: unknown): void {
    this.writes.set(key, value);
  }
}

export interface RemoteFenceOptions {
  readonly process: Machine;
  readonly link: SimLink;
  readonly witness: Witness;
  /** The fence at the server. All processes share it, as they share the resource behind it. */
  readonly fence: MemoryFence;
}

/**
 * A fence at a resource across the network, of the kind whose resource takes batches: what a process writes travels as one
 * request and is judged when it is executed, once, twice, or after its sender has given up. The fence that judges is the
 * memory fence of tenure.
 */
export class RemoteFence implements Fence<Batch> {
  readonly promises: FencePromises;
  readonly #options: RemoteFenceOptions;
  readonly #caller: MemoryCaller;

  constructor(options: RemoteFenceOptions) {
    const { process, link, fence } = options;
    this.#options = options;
    this.promises = fence.promises;
    // The clock stands still: no request is ever too late for a resource.
    this.#caller = new MemoryCaller({
      what: 'resource',
      runtime: process.runtime,
      link,
      nowMs: () => 0,
    });
  }

  async claim(token: FencingToken): Promise<void> {
    const { fence } = this.#options;
    await this.#judged(token, 'claim', [], (bare) => fence.claim(bare));
  }

  async transaction<Result>(
    token: FencingToken,
    work: (batch: Batch) => Promise<Result>,
  ): Promise<Result> {
    const { fence } = this.#options;
    for (;;) {
      const batch = new RemoteBatch((key) => this.read(key));
      const result = await work(batch);
      const isDone = await this.#judged(token, 'write', [...batch.writes.keys()], (bare) =>
        fence.transaction(bare, async (transaction) => {
          for (const { scope, key, seq, id } of batch.recordings) {
            if (!(await fence.recordOnce(transaction, scope, key, seq, id))) return false;
          }
          for (const [key, value] of batch.writes) transaction.set(key, value);
          return true;
        }),
      );
      if (isDone) return result;
    }
  }

  async recordOnce(
    batch: Batch,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    const recorded = await this.#ask('recorded', () =>
      this.#options.fence.resource.transaction(async (transaction) =>
        transaction.table<string>('effects').peek(JSON.stringify([scope, key, seq])),
      ),
    );
    if (recorded !== undefined) return false;
    if (batch instanceof RemoteBatch) batch.recordings.push({ scope, key, seq, id });
    return true;
  }

  installedTerm(name: string): Promise<number | undefined> {
    return this.#ask('installedTerm', () => this.#options.fence.installedTerm(name));
  }

  /** What is committed under a key. */
  read(key: string): Promise<unknown> {
    return this.#ask('read', async () => this.#options.fence.resource.read(key));
  }

  async close(): Promise<void> {
    this.#caller.close();
  }

  async #judged<Answer>(
    token: FencingToken,
    operation: string,
    keys: readonly string[],
    judge: (bare: FencingToken) => Promise<Answer>,
  ): Promise<Answer> {
    const { name, term, holder } = token;
    try {
      // Only what travels: the lease itself hears of a refusal when its process does.
      const bare = { name, term, holder };
      return await this.#ask(operation, () => this.#watched(bare, keys, () => judge(bare)));
    } catch (error) {
      if (error instanceof StaleTermError) token.supersede?.(error.installedTerm);
      throw error;
    }
  }

  /** Looks at the resource itself before and after, since what the fence says of it is what is to be checked. */
  async #watched<Answer>(
    { name, term, holder }: FencingToken,
    keys: readonly string[],
    judge: () => Promise<Answer>,
  ): Promise<Answer> {
    const { process, witness, fence } = this.#options;
    const look = () => keys.map((key) => fence.resource.read(key));
    const writer = { process: process.id, name, term, holderDigest: holder.digest };
    const before = look();
    try {
      const answer = await judge();
      if (answer !== false) witness.tell('effect', { ...writer, values: look() });
      return answer;
    } catch (error) {
      if (error instanceof StaleTermError)
        witness.tell('refused', { ...writer, changedSomething: !isSame(look(), before) });
      throw error;
    }
  }

  /** What the server does is over before the next event; its outcome travels as it is. */
  async #ask<Answer>(operation: string, execute: () => Promise<Answer>): Promise<Answer> {
    return await this.#caller.call(operation, timeoutMs, () => {
      const outcome = execute();
      outcome.catch(() => {});
      return outcome;
    });
  }
}

const isSame = (one: readonly unknown[], other: readonly unknown[]) =>
  JSON.stringify(one) === JSON.stringify(other);
