import type { Runtime } from '../time/index.js';

/** What several questions for the time, one after the other, told about the way to a store and about its clock. */
export interface Soundings {
  readonly count: number;
  readonly medianMs: number;
  readonly worstMs: number;
  /** How far the store's clock is ahead of this machine's; absent if the store tells no time. */
  readonly clock?: ClockOffset;
}

export interface ClockOffset {
  readonly offsetMs: number;
  /** The offset may be off by this much: half of the quickest round trip, and what the store rounds. */
  readonly uncertaintyMs: number;
}

const soundingCount = 9;

/**
 * @param ask resolves with the store's wall clock (Unix ms) as it was read on the way, or `undefined` if it tells none.
 */
export async function sound(
  runtime: Runtime,
  ask: () => Promise<number | undefined>,
  resolutionMs = 1,
): Promise<Soundings> {
  const tripsMs: number[] = [];
  let clock: ClockOffset | undefined;
  for (let number = 0; number < soundingCount; number++) {
    const sent = runtime.now();
    const toldMs = await ask();
    const tripMs = runtime.now().monotonicMs - sent.monotonicMs;
    tripsMs.push(tripMs);
    const uncertaintyMs = tripMs / 2 + resolutionMs;
    // The quickest answer says most exactly when it was written.
    if (toldMs !== undefined && uncertaintyMs < (clock?.uncertaintyMs ?? Number.POSITIVE_INFINITY))
      clock = { offsetMs: toldMs - (sent.wallMs + tripMs / 2), uncertaintyMs };
  }
  const sorted = tripsMs.sort((one, other) => one - other);
  return {
    count: soundingCount,
    medianMs: sorted[Math.floor(soundingCount / 2)] ?? 0,
    worstMs: sorted.at(-1) ?? 0,
    ...(clock !== undefined && { clock }),
  };
}
