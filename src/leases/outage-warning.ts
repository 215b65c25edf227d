import { redactSecrets } from '../errors/index.js';
import type { Leases } from './leases.js';

/** Of several who ask one store, one tells. */
type Asking = Pick<Leases, 'coordinator' | 'runtime' | 'timing'>;

export interface OutageWarningOptions {
  /** Who asks the store, as the subject of a sentence. */
  readonly who: string;
  /** What would hear of it, as a piece of code. */
  readonly listen: string;
  /** Whether anybody listens. */
  readonly isHeard: () => boolean;
}

const told = new WeakSet<object>();
const patienceMs = 10_000;
/** A wait asks twice, to look and to take, and a busy process a little later. */
const spareMs = 1_000;

/**
 * Says once, as a process warning, that a store has given no usable answer for ten seconds, if nobody listens to the failures: who
 * has mistyped an address would else see a process that waits for ever, as one that waits for its turn does.
 */
export class OutageWarning {
  readonly #by: Asking;
  readonly #options: OutageWarningOptions;
  #since: { readonly firstMs: number; readonly goesOnUntilMs: number } | undefined;

  constructor(by: Asking, options: OutageWarningOptions) {
    this.#by = by;
    this.#options = options;
  }

  /** A request failed, and comes again in `retryInMs`. What was answered between two failures needs not be told. */
  failed(error: unknown, retryInMs: number): void {
    const { coordinator, runtime, timing } = this.#by;
    const atMs = runtime.now().monotonicMs;
    const { firstMs = atMs, goesOnUntilMs = atMs } = this.#since ?? {};
    const beganMs = atMs <= goesOnUntilMs ? firstMs : atMs;
    const nextMs = atMs + retryInMs + 2 * timing.attemptTimeoutMs + spareMs;
    this.#since = { firstMs: beganMs, goesOnUntilMs: nextMs };
    if (atMs - beganMs < patienceMs || this.#options.isHeard() || told.has(coordinator)) return;
    told.add(coordinator);
    this.#tell(error, atMs - beganMs);
  }

  #tell(error: unknown, forMs: number): void {
    const { who, listen } = this.#options;
    const why = redactSecrets(error instanceof Error ? error.message : String(error));
    process.emitWarning(
      `${who} has had no usable answer of its store for ${Math.round(forMs / 1_000)} s, and goes on trying: ${why.replace(/\.$/, '')}. Nobody listens to that: use ${listen}, or logEvents of tenure/log.`,
      { type: 'TenureStoreWarning', code: 'TENURE_STORE_UNREACHED' },
    );
  }
}
