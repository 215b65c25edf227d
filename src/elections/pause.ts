import type { EndReason } from '../leases/index.js';
import { Backoff, type Runtime } from '../time/index.js';

export interface PauseOptions {
  /** The pause that grows begins with this one, and the short one is this. Each is drawn from its upper half. */
  readonly firstPauseMs: number;
  /** No pause is longer; a term that was held for longer makes the next growing one short again. */
  readonly longestPauseMs: number;
}

/** What is usual, in milliseconds. */
export const defaultPauses: PauseOptions = { firstPauseMs: 1_000, longestPauseMs: 60_000 };

/** How a term ended, for who led in it. */
export interface PastTerm {
  /** Why its lease ended. */
  readonly reason: EndReason | undefined;
  /** For how long it was held. */
  readonly heldMs: number;
  /** Its work threw, or returned, though nobody had told it to stop. */
  readonly failed?: boolean;
}

/** `growing`: longer each time it happens again. `short`: the same each time. */
export type PauseKind = 'none' | 'short' | 'growing';

/** How long who led in a term leaves the name to others before it campaigns again. */
export function pauseKind({ reason, failed = false }: PastTerm): PauseKind {
  // A fence knows better than the store: until that is mended, the next term will not be better off.
  if (failed || reason === 'superseded') return 'growing';
  // The store makes it wait, until its own record has expired.
  if (reason === 'expired' || reason === 'unreachable') return 'none';
  // Who gave the name up, or had it taken away, does not snatch it back.
  return 'short';
}

/** The pauses of one process between its terms of one name. */
export class Pauses {
  readonly #runtime: Runtime;
  readonly #options: PauseOptions;
  readonly #backoff: Backoff;

  constructor(runtime: Runtime, options: PauseOptions = defaultPauses) {
    const { firstPauseMs: firstMs, longestPauseMs: limitMs } = options;
    this.#runtime = runtime;
    this.#options = options;
    this.#backoff = new Backoff(runtime, { firstMs, limitMs });
  }

  /** Milliseconds from the end of a term, and of its work, to the next campaign. To be asked once for each term. */
  afterMs(past: PastTerm): number {
    const { firstPauseMs, longestPauseMs } = this.#options;
    if (past.heldMs > longestPauseMs) this.#backoff.reset();
    switch (pauseKind(past)) {
      case 'none':
        return 0;
      case 'short':
        return firstPauseMs * (0.5 + this.#runtime.random() / 2);
      case 'growing':
        return this.#backoff.nextMs();
    }
  }
}
