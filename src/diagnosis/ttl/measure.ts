import { type Coordinator, Holder } from '../../coordinators/index.js';
import { UnreachableError } from '../../errors/index.js';
import { elapsedMs, type Runtime, sleep, watchLoop } from '../../time/index.js';
import type { TtlSample } from './sample.js';

export interface MeasureOptions {
  readonly coordinator: Coordinator;
  readonly runtime: Runtime;
  /** How long to look, in milliseconds. */
  readonly forMs: number;
  /** From the end of one renewal to the next. Default 50. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
}

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
 * meanwhile. The lease is released at the end.
 *
 * @throws {UnreachableError} if it is granted none of its names; and the errors of the store.
 */
export async function measure(options: MeasureOptions): Promise<TtlSample> {
  const { coordinator, runtime, forMs, everyMs = 50, signal } = options;
  const lease = await acquireOne(coordinator, runtime);
  const pausesMs: number[] = [];
  const roundTripsMs: number[] = [];
  let failedCount = 0;
  let silentSince: number | undefined;
  const turned = (stallMs: number) => {
    if (stallMs >= shortestStallMs) pausesMs.push(stallMs);
  };
  const watch = watchLoop(runtime, turned, lookEveryMs);
  const startedAt = runtime.now();
  try {
    while (elapsedMs(startedAt, runtime.now()) < forMs && !signal?.aborted) {
      const sentAt = runtime.now();
      try {
        await coordinator.renew([{ ...lease, ttlMs }], { timeoutMs });
        roundTripsMs.push(elapsedMs(sentAt, runtime.now()));
        if (silentSince !== undefined) pausesMs.push(runtime.now().monotonicMs - silentSince);
        silentSince = undefined;
      } catch {
        failedCount += 1;
        silentSince ??= sentAt.monotonicMs;
      }
      await sleep(runtime, everyMs, signal);
    }
    const tookMs = elapsedMs(startedAt, runtime.now());
    if (silentSince !== undefined) pausesMs.push(runtime.now().monotonicMs - silentSince);
    return { forMs: tookMs, roundTripsMs, failedCount, pausesMs };
  } finally {
    watch.cancel();
    await coordinator.release([lease], { timeoutMs }).catch(() => {});
  }
}

async function acquireOne(coordinator: Coordinator, runtime: Runtime) {
  const holder = Holder.create('tenure-advise', runtime);
  for (let number = 0; number < nameCount; number++) {
    const name = nameOf(number);
    const request = { name, holder, attempt: runtime.randomHex(16), ttlMs };
    const [result] = await coordinator.acquire([request], { timeoutMs });
    if (result?.outcome === 'granted') return { name, holder, term: result.term };
  }
  throw new UnreachableError(
    `all of "${nameOf(0)}" to "${nameOf(nameCount - 1)}" are held: so many measure at once. Wait ${ttlMs / 1000} s.`,
  );
}
