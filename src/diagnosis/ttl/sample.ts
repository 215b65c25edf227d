import type { HistoryEntry } from '../../coordinators/index.js';
import type { Evidence } from '../../elections/index.js';
import { keptFromMs, toldFromMs } from '../kept.js';
import { inStoreTime, timesOf } from '../store-time.js';

/** What was seen of a store and of a process in some time. All in milliseconds. */
export interface TtlSample {
  /** For how long it was looked. */
  readonly forMs: number;
  /** Round trips of requests that were answered. */
  readonly roundTripsMs: readonly number[];
  /** Requests that had no answer. */
  readonly failedCount: number;
  /**
   * Times in which no renewal can have succeeded: the event loop stood still, the process was stopped, the machine was
   * suspended, or the store did not answer.
   */
  readonly pausesMs: readonly number[];
}

/**
 * What the leaders of an election have recorded: the pause that each loss came from, over all the time that the history
 * tells of and everything that was recorded is kept of. Pure. `undefined` if nothing was recorded.
 */
export function recordedSample(
  history: readonly HistoryEntry[],
  evidence: readonly Evidence[],
  nowMs: number,
): TtlSample | undefined {
  const source = inStoreTime({ name: '', history, evidence }, nowMs);
  const told = source.evidence.flatMap((entry) =>
    entry.kind === 'loss' && pauseReasons.includes(entry.reason) ? entry : [],
  );
  const firstMs = Math.max(
    Math.min(...timesOf(source.history), ...told.map(({ atMs, heldMs }) => atMs - heldMs)),
    keptFromMs(source.history) ?? 0,
    toldFromMs(source) ?? 0,
  );
  const losses = told.filter(({ atMs }) => atMs >= firstMs);
  if (losses.length === 0 || firstMs >= source.nowMs) return undefined;
  return {
    forMs: source.nowMs - firstMs,
    roundTripsMs: losses.flatMap(({ renewals }) => renewals.last.flatMap(answered)),
    // What failed before a loss is in its pause, and renewals at other times are not recorded.
    failedCount: 0,
    pausesMs: losses.map(({ machine, sinceRenewedMs, renewEveryMs }) =>
      Math.max(machine.longestStall.forMs, machine.suspendedMs, sinceRenewedMs - renewEveryMs),
    ),
  };
}

/** Ends that a longer ttl could have spared. */
const pauseReasons: readonly string[] = ['expired', 'unreachable', 'stalled'];

function answered({ ms, failed }: { readonly ms: number; readonly failed?: string }): number[] {
  return failed === undefined ? [ms] : [];
}
