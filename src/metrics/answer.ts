import { errorKindOf } from '../errors/error-kind.js';
import { elapsedMs, type Instant, type Runtime } from '../time/index.js';
import type { Site } from './site.js';

/** Several who collect within this time share one answer of the store. */
const sharedForMs = 5_000;

/** What a store answers to a question that is asked in collections; nothing once it did not answer. */
export class SharedAnswer<Value> {
  readonly #runtime: Runtime;
  readonly #site: Site;
  readonly #ask: () => Promise<Value>;
  #value: Value | undefined;
  #askedAt: Instant | undefined;

  constructor(site: Site, runtime: Runtime, ask: () => Promise<Value>) {
    this.#site = site;
    this.#runtime = runtime;
    this.#ask = ask;
  }

  get value(): Value | undefined {
    return this.#value;
  }

  /** Never rejects. */
  async refresh(): Promise<void> {
    if (!this.#site.asksStore) return;
    const now = this.#runtime.now();
    if (this.#askedAt !== undefined && elapsedMs(this.#askedAt, now) < sharedForMs) return;
    this.#askedAt = now;
    try {
      this.#value = await this.#ask();
    } catch (error) {
      this.#value = undefined;
      const { storeErrors } = this.#site.instruments;
      storeErrors.add({ operation: 'collect', kind: errorKindOf(error) });
    }
  }
}
