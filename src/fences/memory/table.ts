/** A stored value in a box of its own, so that "is it still the one I read?" is a comparison of identities. */
export interface Entry<Value> {
  readonly value: Value;
}

/**
 * One transaction's view of a table: its own writes over the committed ones. Nothing is visible to others until
 * `apply`, which the transaction calls for all of its tables in one synchronous step.
 */
export class TableView<Value> {
  readonly #committed: Map<string, Entry<Value>>;
  readonly #written = new Map<string, Entry<Value> | undefined>();
  readonly #read = new Map<string, Entry<Value> | undefined>();

  constructor(committed: Map<string, Entry<Value>>) {
    this.#committed = committed;
  }

  /** Reads, and makes the commit depend on it: {@link firstConflict} reports a key that changed since. */
  get(key: string): Value | undefined {
    if (this.#written.has(key)) return this.#written.get(key)?.value;
    const entry = this.#committed.get(key);
    if (!this.#read.has(key)) this.#read.set(key, entry);
    return entry?.value;
  }

  /** Reads without making the commit depend on it. */
  peek(key: string): Value | undefined {
    return (this.#written.has(key) ? this.#written : this.#committed).get(key)?.value;
  }

  /** What is committed now, whatever this transaction wrote. */
  peekCommitted(key: string): Value | undefined {
    return this.#committed.get(key)?.value;
  }

  set(key: string, value: Value): void {
    this.#written.set(key, { value });
  }

  delete(key: string): void {
    this.#written.set(key, undefined);
  }

  /** A key that was read here and changed by another transaction since, or `undefined`. */
  firstConflict(): string | undefined {
    for (const [key, entry] of this.#read) {
      if (this.#committed.get(key) !== entry) return key;
    }
    return undefined;
  }

  apply(): void {
    for (const [key, entry] of this.#written) {
      if (entry === undefined) this.#committed.delete(key);
      else this.#committed.set(key, entry);
    }
  }
}
