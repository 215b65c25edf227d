import type { Cause } from './cause.js';
import type { Ending } from './facts.js';

/** Why one term ended, and by what that is known. */
export interface Verdict {
  readonly cause: Cause;
  /** With the figures; no full stop. */
  readonly because: string;
}

/** An ending with the judgement of it. */
export interface JudgedEnding extends Ending {
  readonly verdict: Verdict;
}
