import type { Instant } from '../../time/index.js';

/** Until when a call settles. */
export interface Deadline {
  readonly from: Instant;
  readonly timeoutMs: number;
}
