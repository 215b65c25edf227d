import { type Coordinator, Holder } from '../../coordinators/index.js';
import { requireDuration, requireKnown, requireSignal } from '../../errors/checks.js';
import {
  isTransient,
  OutcomeUnknownError,
  StoreRefusedError,
  UnreachableError,
} from '../../errors/index.js';
import { requireCoordinator } from '../../leases/require-coordinator.js';
import { elapsedMs, type Instant, type Runtime, sleep, watchLoop } from '../../time/index.js';
import { requireRuntime } from '../../time/require-runtime.js';
import type { TtlSample } from './sample.js';

export interface MeasureOptions {
  /** The store to measure. Used, not owned. */
  readonly coordinator: Coordinator;
  /** How long to look, in milliseconds: 1 to 2,592,000,000 (30 days). */
  readonly forMs: number;
  /** From the end of one renewal to the next, in milliseconds: 1 to 60,000. Default 50. */
  readonly everyMs?: number;
  /** Ends it before its time: the sample is shorter then, and nothing is rejected. */
  readonly signal?: AbortSignal;
  /** Clocks and timers. Default: the real ones. */
  readonly runtime?: Runtime;
}

const knownOptions = {
  coordinator: true,
  forMs: true,
  everyMs: true,
  signal: true,
  runtime: true,
} as const;

/** Names of its own, and few of them: a store keeps the last term of each name that was ever held. */
const nameCount = 8;
const nameOf = (number: number) => `tenure/advise/${number}`;
const ttlMs = 30_000;
const timeoutMs = 5_000;
/** A shorter stall is the noise of timers. */
const shortestStallMs = 10;
const lookEveryMs = 20;

/**
 * Renews a lease of its own over and over, and looks how long that takes, and how long the event loop stands still
 * meanwhile. The lease is released at the end. A request without an answer counts as failed, and the time without any as a
 * pause; a lease that expired meanwhile is acquired again.
 *
 * @throws {OptionError} for a bad option. {@link UnreachableError} if it is granted none of its names.
 * {@link StoreRefusedError} if somebody ends its lease. And what trying again does not mend: the store denies it, say.
 */
export async function measure(options: MeasureOptions): Promise<TtlSample> {
  const { coordinator, forMs, everyMs = 50, signal } = checked(options);
  const runtime = requireRuntime(options.runtime);
  const pausesMs: number[] = [];
  const roundTripsMs: number[] = [];
  let failedCount = 0;
  const own = new OwnLease(coordinator, runtime);
  await own.acquire();
  const startedAt = runtime.now();
  let silentSince: Instant | undefined;
  const turned = (stallMs: number) => {
    if (stallMs >= shortestStallMs) pausesMs.push(stallMs);
  };
  const endSilence = () => {
    if (silentSince !== undefined) pausesMs.push(elapsedMs(silentSince, runtime.now()));
    silentSince = undefined;
  };
  const watch = watchLoop(runtime, turned, lookEveryMs);
  try {
    while (elapsedMs(startedAt, runtime.now()) < forMs && !signal?.aborted) {
      const sentAt = runtime.now();
      try {
        roundTripsMs.push(await own.renew());
        endSilence();
      } catch (error) {
        if (!isTransient(error) || isEnded(error)) throw error;
        failedCount += 1;
        silentSince ??= sentAt;
      }
      await sleep(runtime, everyMs, signal);
    }
    const tookMs = elapsedMs(startedAt, runtime.now());
    endSilence();
    return { forMs: tookMs, roundTripsMs, failedCount, pausesMs };
  } finally {
    watch.cancel();
    await own.release();
  }
}

function checked(options: MeasureOptions): MeasureOptions {
  requireKnown('options', options, knownOptions, 'pass { coordinator, forMs }');
  const { coordinator, forMs, everyMs = 50, signal } = options;
  requireCoordinator(coordinator);
  requireDuration('forMs', forMs, 1, 30 * 24 * 3_600_000);
  requireDuration('everyMs', everyMs, 1, 60_000);
  requireSignal(signal);
  return options;
}

const endedCode = 'LEASE_ENDED';

function isEnded(error: unknown): boolean {
  return error instanceof StoreRefusedError && error.storeCode === endedCode;
}

/** The lease that is renewed: under one of a few names, whichever is free. */
class OwnLease {
  readonly #coordinator: Coordinator;
  readonly #runtime: Runtime;
  readonly #holder: Holder;
  #lease: { readonly name: string; readonly term: number } = { name: nameOf(0), term: 0 };
  /** When it was in force last, for certain. */
  #anchor: Instant;

  constructor(coordinator: Coordinator, runtime: Runtime) {
    this.#coordinator = coordinator;
    this.#runtime = runtime;
    this.#holder = Holder.create('tenure-advise', runtime);
    this.#anchor = runtime.now();
  }

  async acquire(): Promise<void> {
    for (let number = 0; number < nameCount; number++) {
      const name = nameOf(number);
      const sentAt = this.#runtime.now();
      const term = await this.#acquire(name);
      if (term === undefined) continue;
      this.#lease = { name, term };
      this.#anchor = sentAt;
      return;
    }
    throw new UnreachableError(
      `all of "${nameOf(0)}" to "${nameOf(nameCount - 1)}" are held: so many measure at once. Wait ${ttlMs / 1000} s.`,
    );
  }

  async #acquire(name: string): Promise<number | undefined> {
    const attempt = this.#runtime.randomHex(16);
    const holder = this.#holder;
    try {
      const request = { name, holder, attempt, ttlMs };
      const [result] = await this.#coordinator.acquire([request], { timeoutMs });
      return result?.outcome === 'granted' ? result.term : undefined;
    } catch (error) {
      // It may have been granted all the same, and nobody would renew it.
      if (error instanceof OutcomeUnknownError)
        await this.#coordinator.release([{ name, holder, attempt }], { timeoutMs }).catch(() => {});
      throw error;
    }
  }

  /** How long the answer took. One that has expired, since nothing could be asked for so long, is acquired again. */
  async renew(): Promise<number> {
    const sentAt = this.#runtime.now();
    const request = { ...this.#lease, holder: this.#holder, ttlMs };
    const [result] = await this.#coordinator.renew([request], { timeoutMs });
    const tookMs = elapsedMs(sentAt, this.#runtime.now());
    const mayHaveExpired = elapsedMs(this.#anchor, this.#runtime.now()) >= ttlMs;
    if (result?.outcome === 'renewed') this.#anchor = sentAt;
    else if (mayHaveExpired) await this.acquire();
    else throw endedBy(this.#lease.name, result?.reason);
    return tookMs;
  }

  async release(): Promise<void> {
    const request = { ...this.#lease, holder: this.#holder };
    await this.#coordinator.release([request], { timeoutMs }).catch(() => {});
  }
}

function endedBy(name: string, reason = 'vanished'): StoreRefusedError {
  return new StoreRefusedError(
    endedCode,
    `the lease "${name}" that was measured with ended before its time (${reason}): somebody revoked or removed it, or the store lost its data. Measure again.`,
  );
}
