import { requireMethods, requireObject } from '../errors/checks.js';
import { isTransient } from '../errors/index.js';
import type { Unsubscribe } from '../events/index.js';
import { Backoff, elapsedMs, type Runtime, sleep } from '../time/index.js';
import type { AcquireOutcome } from './acquisition.js';
import type { Lease } from './lease.js';
import type { AcquireOptions } from './particulars.js';

export interface WaitOptions extends AcquireOptions {
  /** How long to wait for a name that is held, in milliseconds; `Infinity` waits until `signal` aborts. Default 0. */
  readonly waitMs?: number;
  /** Ends the wait: the call rejects with the signal's reason and leaves nothing behind. */
  readonly signal?: AbortSignal;
}

export interface WaiterOptions {
  readonly runtime: Runtime;
  /** Try again this often even if nothing wakes us: a wake may be lost. */
  readonly pollMs: number;
  readonly watch: (wake: () => void) => Unsubscribe;
  readonly attempt: () => Promise<AcquireOutcome | undefined>;
  readonly confirm: (lease: Lease) => Promise<boolean>;
}

/** Waits for one name: tries, sleeps until it may be free (a wake, its expiry, the poll interval), tries again. */
export class Waiter {
  readonly #options: WaiterOptions;
  #wakeUp = new AbortController();

  constructor(options: WaiterOptions) {
    this.#options = options;
  }

  /** @throws the last error of the store if the time ran out without an answer, or `signal`'s reason. */
  async run(waitMs: number, signal: AbortSignal | undefined): Promise<Lease | undefined> {
    const { runtime, watch } = this.#options;
    const startedAt = runtime.now();
    const backoff = new Backoff(runtime, {
      firstMs: this.#options.pollMs / 16,
      limitMs: this.#options.pollMs,
    });
    const wake = () => this.wake();
    const unwatch = watch(wake);
    signal?.addEventListener('abort', wake);
    try {
      for (let first = true; ; first = false) {
        this.#wakeUp = new AbortController();
        signal?.throwIfAborted();
        const tried = await this.#try(first);
        if (signal?.aborted) await tried.lease?.release();
        signal?.throwIfAborted();
        if (tried.lease !== undefined) return tried.lease;
        const leftMs = waitMs - elapsedMs(startedAt, runtime.now());
        if (leftMs <= 0) {
          if (tried.error !== undefined) throw tried.error;
          return undefined;
        }
        const pauseMs =
          tried.error === undefined ? this.#pauseMs(tried.freeInMs) : backoff.nextMs();
        await sleep(runtime, Math.min(leftMs, pauseMs), this.#wakeUp.signal);
      }
    } finally {
      unwatch();
      signal?.removeEventListener('abort', wake);
    }
  }

  /** Tries again now. */
  wake(): void {
    this.#wakeUp.abort();
  }

  async #try(first: boolean): Promise<{ lease?: Lease; freeInMs?: number; error?: unknown }> {
    try {
      const outcome = await this.#options.attempt();
      if (outcome?.outcome === 'failed') throw outcome.error;
      if (outcome?.outcome !== 'granted')
        return outcome === undefined || outcome.current.state === 'suspended'
          ? {}
          : { freeInMs: outcome.current.remainingMs };
      if (first || (await this.#confirmed(outcome.lease))) return { lease: outcome.lease };
      return {};
    } catch (error) {
      if (!isTransient(error)) throw error;
      return { error };
    }
  }

  async #confirmed(lease: Lease): Promise<boolean> {
    try {
      if (await this.#options.confirm(lease)) return true;
      lease.supersede();
    } catch (error) {
      await lease.release();
      throw error;
    }
    return false;
  }

  /** Shortly after the expiry, spread out so that many waiters do not all ask in one moment. */
  #pauseMs(freeInMs: number | undefined): number {
    const { pollMs, runtime } = this.#options;
    const jitterMs = 5 + runtime.random() * 20;
    return Math.min(pollMs, (freeInMs ?? pollMs) + jitterMs);
  }
}

/** @throws {OptionError} for options that are none, as they come from a caller whom no compiler checked. */
export function requireWaitOptions(options: WaitOptions): void {
  const { signal } = requireObject('options', options);
  if (signal === undefined) return;
  const methods = ['throwIfAborted', 'addEventListener', 'removeEventListener'];
  const remedy = 'pass the signal of an AbortController, or leave it out';
  requireMethods('signal', signal, methods, 'is not an AbortSignal', remedy);
}
