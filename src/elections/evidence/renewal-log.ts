import { errorKindOf } from '../../errors/error-kind.js';
import type { ErrorKind } from '../../errors/kinds.js';
import { elapsedMs, type Instant, isBefore } from '../../time/index.js';
import { type RenewalsSeen, renewalsKept, renewalsShown } from './evidence.js';

interface Renewal {
  readonly endedAt: Instant;
  readonly roundTripMs: number;
  readonly failed: ErrorKind | undefined;
}

/** The last renewals of this process, whatever they were for: they share the way to the store. */
export class RenewalLog {
  readonly #renewals: Renewal[] = [];

  add(endedAt: Instant, roundTripMs: number, error: unknown): void {
    const failed = error === undefined ? undefined : errorKindOf(error);
    this.#renewals.push({ endedAt, roundTripMs, failed });
    if (this.#renewals.length > renewalsKept) this.#renewals.shift();
  }

  seen(): RenewalsSeen {
    const answered = this.#renewals.filter(({ failed }) => failed === undefined);
    const sorted = answered.map(({ roundTripMs }) => roundTripMs).sort((a, b) => a - b);
    const at = (share: number) => rounded(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
    return {
      answeredCount: answered.length,
      failedCount: this.#renewals.length - answered.length,
      quickMs: at(0.1),
      medianMs: at(0.5),
      slowMs: at(0.99),
      largestMs: at(1),
      last: this.#renewals.slice(-renewalsShown).map(({ roundTripMs, failed }) => ({
        ms: rounded(roundTripMs),
        ...(failed !== undefined && { failed }),
      })),
    };
  }

  /** What failed after a moment, by kind. */
  failuresSince(from: Instant): Partial<Record<ErrorKind, number>> {
    const counts: Partial<Record<ErrorKind, number>> = {};
    for (const { endedAt, failed } of this.#renewals) {
      if (failed === undefined || !isBefore(from, endedAt)) continue;
      counts[failed] = (counts[failed] ?? 0) + 1;
    }
    return counts;
  }
}

/** To a tenth: what is smaller is noise, and takes room. */
export function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** How long ago, to a tenth of a millisecond. */
export function agoMs(from: Instant, to: Instant): number {
  return rounded(elapsedMs(from, to));
}
