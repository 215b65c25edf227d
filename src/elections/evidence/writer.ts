import type { Coordinator } from '../../coordinators/index.js';
import { isTransient } from '../../errors/index.js';
import { onAbort } from '../../events/index.js';
import { Backoff, type Runtime, withDeadline } from '../../time/index.js';
import { addEvidence } from './book.js';
import { evidenceDocumentOf, identityOf } from './document.js';
import type { Evidence } from './evidence.js';

export interface EvidenceWriterOptions {
  readonly runtime: Runtime;
  readonly coordinator: Coordinator;
  /** One request may take this long. */
  readonly timeoutMs: number;
  /** Told what is refused for good, and so dropped: about which name, and why. */
  readonly onRefused?: (name: string, error: unknown) => void;
}

/** What waits to be written while the store cannot be reached; the oldest are given up. */
const mostWaiting = 50;
const afterFailure = { firstMs: 500, limitMs: 30_000 };

/**
 * Writes evidence in the background, one document after the other, and again as long as the store does not answer. Nobody
 * waits for it. What is refused for good is dropped, and told.
 */
export class EvidenceWriter {
  readonly #options: EvidenceWriterOptions;
  readonly #closing = new AbortController();
  /** After it nothing more is sent. */
  readonly #givenUp = new AbortController();
  #waiting: Evidence[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: EvidenceWriterOptions) {
    this.#options = options;
  }

  add(entry: Evidence): void {
    if (this.#closing.signal.aborted) return;
    const identity = identityOf(entry);
    this.#waiting = [...this.#waiting.filter((one) => identityOf(one) !== identity), entry];
    if (this.#waiting.length > mostWaiting) this.#waiting.shift();
    this.#begin();
  }

  /** What waits is tried once more, and waited for as long as one request may take; then it is given up. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#writing === undefined) return;
    const { runtime, timeoutMs } = this.#options;
    await withDeadline(runtime, timeoutMs, 'writing evidence', this.#writing).catch(() => {});
    this.#givenUp.abort();
  }

  #begin(): void {
    if (this.#waiting.length === 0 || this.#writing !== undefined) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
      if (!this.#closing.signal.aborted) this.#begin();
    });
  }

  async #write(): Promise<void> {
    const backoff = new Backoff(this.#options.runtime, afterFailure);
    const { signal } = this.#closing;
    // What happens in one moment is written together.
    await Promise.resolve();
    while (this.#waiting.length > 0 && !this.#givenUp.signal.aborted) {
      const wasClosing = signal.aborted;
      if (await this.#writeOne()) backoff.reset();
      else if (wasClosing) return;
      else await this.#pause(backoff.nextMs());
    }
  }

  /** `false` if it has to be tried again. */
  async #writeOne(): Promise<boolean> {
    const { runtime, coordinator, timeoutMs } = this.#options;
    const [first] = this.#waiting;
    if (first === undefined) return true;
    const document = evidenceDocumentOf(first.name);
    const together = this.#waiting.filter(({ name }) => evidenceDocumentOf(name) === document);
    const { signal } = this.#givenUp;
    try {
      const { wallMs } = runtime.now();
      const call = { timeoutMs };
      const adding = addEvidence(coordinator, document, together, wallMs, call, signal);
      await withDeadline(runtime, timeoutMs * 3, 'writing evidence', orAborted(adding, signal));
    } catch (error) {
      if (isTransient(error)) return false;
      for (const name of new Set(together.map((entry) => entry.name)))
        this.#options.onRefused?.(name, error);
    }
    this.#waiting = this.#waiting.filter((entry) => !together.includes(entry));
    return true;
  }

  /** Does not keep the process alive: evidence is not worth that. */
  #pause(forMs: number): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        timer.cancel();
        stopListening();
        resolve();
      };
      const timer = this.#options.runtime.setTimer(forMs, done, { keepsProcessAlive: false });
      const stopListening = onAbort(this.#closing.signal, done);
    });
  }
}

/** Its outcome, or none as soon as it is given up: then no timer is left of it. */
function orAborted(adding: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, resolve);
    adding.then(resolve, reject).finally(stopListening);
  });
}
