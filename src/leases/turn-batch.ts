interface Entry<Item, Result> {
  readonly item: Item;
  resolve(result: Result | PromiseLike<Result>): void;
  reject(error: unknown): void;
}

/** So many travel together at most: a script holds up the server for as long as it runs. */
const largestCount = 256;

/**
 * Makes one request of what is asked for within one turn of the microtask queue. It costs no time: everything asked for
 * by code that runs now is gathered before anything could have been answered.
 *
 * @param keyOf what may stand only once in a request; a second item of one key goes into the next.
 * @param send answers by index; its rejection is everybody's.
 */
export class TurnBatch<Item, Result> {
  readonly #keyOf: (item: Item) => string;
  readonly #send: (items: Item[]) => Promise<readonly Result[]>;
  #open: Map<string, Entry<Item, Result>> | undefined;

  constructor(keyOf: (item: Item) => string, send: (items: Item[]) => Promise<readonly Result[]>) {
    this.#keyOf = keyOf;
    this.#send = send;
  }

  add(item: Item): Promise<Result> {
    const key = this.#keyOf(item);
    const batch = this.#openFor(key);
    return new Promise((resolve, reject) => batch.set(key, { item, resolve, reject }));
  }

  #openFor(key: string): Map<string, Entry<Item, Result>> {
    const open = this.#open;
    if (open !== undefined && open.size < largestCount && !open.has(key)) return open;
    const batch = new Map<string, Entry<Item, Result>>();
    this.#open = batch;
    queueMicrotask(() => void this.#flush(batch));
    return batch;
  }

  async #flush(batch: Map<string, Entry<Item, Result>>): Promise<void> {
    if (this.#open === batch) this.#open = undefined;
    const entries = [...batch.values()];
    try {
      const results = await this.#send(entries.map(({ item }) => item));
      for (const [index, { resolve }] of entries.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of entries) reject(error);
    }
  }
}
