import type { Coordinator } from '../../coordinators/index.js';
import { isTransient } from '../../errors/index.js';
import { onAbort } from '../../events/index.js';
import { Backoff, type Runtime, withDeadline } from '../../time/index.js';
import { addEvidence } from './book.js';
import { evidenceDocumentOf } from './document.js';
import type { Evidence } from './evidence.js';

export interface EvidenceWriterOptions {
  readonly runtime: Runtime;
  readonly coordinator: Coordinator;
  /** One request may take this long. */
  readonly timeoutMs: number;
}

/** What waits to be written while the store cannot be reached; the oldest are given up. */
const mostWaiting = 50;
const afterFailure = { firstMs: 500, limitMs: 30_000 };

/**
 * Writes evidence in the background, one document after the other, and again as long as the store does not answer. What
 * cannot be written is dropped: nobody waits for it, and no error of it reaches anybody.
 */
export class EvidenceWriter {
  readonly #options: EvidenceWriterOptions;
  readonly #closing = new AbortController();
  #waiting: Evidence[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: EvidenceWriterOptions) {
    this.#options = options;
  }

  add(entry: Evidence): void {
    if (this.#closing.signal.aborted) return;
    this.#waiting.push(entry);
    if (this.#waiting.length > mostWaiting) this.#waiting.shift();
    this.#begin();
  }

  /** What waits is tried once more, and waited for as long as one request may take; then it is given up. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#writing === undefined) return;
    const { runtime, timeoutMs } = this.#options;
    await withDeadline(runtime, timeoutMs, 'writing evidence', this.#writing).catch(() => {});
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
    while (this.#waiting.length > 0) {
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
    try {
      const { wallMs } = runtime.now();
      const call = addEvidence(coordinator, document, together, wallMs, { timeoutMs });
      await withDeadline(runtime, timeoutMs * 3, 'writing evidence', call);
    } catch (error) {
      if (isTransient(error)) return false;
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
