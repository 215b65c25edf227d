import type { Coordinator } from '../../coordinators/index.js';
import { errorKindOf } from '../../errors/error-kind.js';
import {
  ClosedError,
  isTransient,
  OutcomeUnknownError,
  RecordCorruptError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../errors/index.js';
import { onAbort } from '../../events/index.js';
import { Backoff, type Runtime, withDeadline } from '../../time/index.js';
import { addEvidence } from './book.js';
import { evidenceDocumentOf, identityOf, mostDispensable } from './document.js';
import type { Evidence } from './evidence.js';

export interface EvidenceWriterOptions {
  readonly runtime: Runtime;
  readonly coordinator: Coordinator;
  /** One request may take this long. */
  readonly timeoutMs: number;
  /** Told what is not taken as it is: about which name, and why. It is told at each try. */
  readonly onRefused?: (name: string, error: unknown) => void;
}

/** What waits to be written while the store cannot be reached, or does not take it; of more, what tells least is given up. */
const mostWaiting = 250;
const afterSilence = { firstMs: 500, limitMs: 30_000 };
/** Who refuses changes that by hand. It doubles: what is mended is noticed before it has lasted twice as long. */
const afterRefusal = { firstMs: 500, limitMs: 300_000 };

/**
 * Writes evidence in the background, one document after the other, and again until the store takes it: a password that is
 * wrong, a right that is missing or something foreign in its place may be put right, as an outage ends. Nobody waits for it.
 */
export class EvidenceWriter {
  readonly #options: EvidenceWriterOptions;
  readonly #closing = new AbortController();
  /** After it nothing more is sent. */
  readonly #givenUp = new AbortController();
  readonly #silence: Backoff;
  readonly #refusal: Backoff;
  #waiting: Evidence[] = [];
  #writing: Promise<void> | undefined;
  /** Ends the pause. */
  #wake = () => {};
  /** Only some documents cannot be written. */
  #isOfDocuments = false;

  constructor(options: EvidenceWriterOptions) {
    const { runtime } = options;
    this.#options = options;
    this.#silence = new Backoff(runtime, afterSilence);
    this.#refusal = new Backoff(runtime, afterRefusal);
  }

  add(entry: Evidence): void {
    if (this.#closing.signal.aborted) return;
    const identity = identityOf(entry);
    this.#waiting = [...this.#waiting.filter((one) => identityOf(one) !== identity), entry];
    if (this.#waiting.length > mostWaiting) this.#waiting.splice(mostDispensable(this.#waiting), 1);
    if (this.#isOfDocuments) this.#wake();
    this.#begin();
  }

  /** The store has answered again, to whomever: what waits is tried now. */
  reached(): void {
    this.#wake();
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
    const { signal } = this.#closing;
    // What happens in one moment is written together.
    await Promise.resolve();
    while (this.#waiting.length > 0 && !this.#givenUp.signal.aborted) {
      const wasClosing = signal.aborted;
      const failures = await this.#writeAll();
      if (failures.length > 0 && wasClosing) return;
      if (failures.length > 0) await this.#pause(this.#pauseMs(failures));
    }
    this.#silence.reset();
    this.#refusal.reset();
  }

  /** Each document once, as far as the store can be asked at all. */
  async #writeAll(): Promise<unknown[]> {
    const failures: unknown[] = [];
    const documents = new Set(this.#waiting.map(({ name }) => evidenceDocumentOf(name)));
    for (const document of documents) {
      const together = this.#waiting.filter(({ name }) => evidenceDocumentOf(name) === document);
      if (this.#givenUp.signal.aborted || together.length === 0) continue;
      try {
        await this.#writeOne(document, together);
      } catch (error) {
        if (!passes(error)) this.#tell(together, error);
        if (!(error instanceof ClosedError)) {
          failures.push(error);
          if (isOfAll(error)) break;
          continue;
        }
      }
      this.#waiting = this.#waiting.filter((entry) => !together.includes(entry));
    }
    return failures;
  }

  async #writeOne(document: string, together: readonly Evidence[]): Promise<void> {
    const { runtime, coordinator, timeoutMs } = this.#options;
    const { signal } = this.#givenUp;
    const { wallMs } = runtime.now();
    const call = { timeoutMs };
    const adding = addEvidence(coordinator, document, together, wallMs, call, signal);
    await withDeadline(runtime, timeoutMs * 3, 'writing evidence', orAborted(adding, signal));
  }

  #tell(entries: readonly Evidence[], error: unknown): void {
    for (const name of new Set(entries.map((entry) => entry.name)))
      this.#options.onRefused?.(name, error);
  }

  #pauseMs(failures: readonly unknown[]): number {
    this.#isOfDocuments = failures.every((error) => error instanceof RecordCorruptError);
    return failures.every(isTransient) ? this.#silence.nextMs() : this.#refusal.nextMs();
  }

  /** Does not keep the process alive: evidence is not worth that. */
  async #pause(forMs: number): Promise<void> {
    if (this.#closing.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        timer.cancel();
        stopListening();
        resolve();
      };
      const timer = this.#options.runtime.setTimer(forMs, done, { keepsProcessAlive: false });
      const stopListening = onAbort(this.#closing.signal, done);
      this.#wake = done;
    });
    this.#wake = () => {};
  }
}

/** Whether it is over by itself, as a rule. */
function passes(error: unknown): boolean {
  return isTransient(error) && !['denied', 'other'].includes(errorKindOf(error));
}

/** Whether another document would meet the same. */
function isOfAll(error: unknown): boolean {
  return [UnreachableError, OutcomeUnknownError, StoreMisconfiguredError].some(
    (kind) => error instanceof kind,
  );
}

/** Its outcome, or none as soon as it is given up: then no timer is left of it. */
function orAborted(adding: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, resolve);
    adding.then(resolve, reject).finally(stopListening);
  });
}
