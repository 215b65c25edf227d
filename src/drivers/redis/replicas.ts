import { replyCode } from './errors.js';
import type { Link } from './link.js';

/** How many replicas must have what was written before it counts, and how long that may take. */
export interface Confirmation {
  /** From 1. */
  readonly replicas: number;
  readonly replicaTimeoutMs: number;
}

/** What a script returned, and what is missing of its confirmation. */
export interface Written {
  readonly value: unknown;
  /** What is missing, as a part of a sentence; `undefined`: nothing, enough replicas have it. */
  readonly shortfall: Promise<string | undefined>;
}

/**
 * Asks how many replicas have what this server had written when it executed the last command on this link. That need not
 * have written itself: what a request that is repeated finds, counts as well. On a link without a command it would count
 * for nothing. Never rejects.
 */
export async function shortfallOf(
  link: Link,
  { replicas, replicaTimeoutMs }: Confirmation,
  nowMs: number,
  deadlineMs: number,
): Promise<string | undefined> {
  // Half of what is left, so that there is time to undo what was not confirmed; 0 would mean without an end.
  const halfMs = Math.floor((deadlineMs - nowMs) / 2);
  const timeoutMs = Math.max(1, Math.min(Math.ceil(replicaTimeoutMs), halfMs));
  try {
    const reply = await link.call('wait', [replicas, timeoutMs], 'WAIT', deadlineMs);
    const count = Number(reply);
    if (count >= replicas) return undefined;
    return `${count} of ${replicas} replicas had it within ${timeoutMs} ms`;
  } catch (error) {
    const code = replyCode(error);
    if (code === 'NOPERM') return 'WAIT is denied: give its user the right +wait';
    return `WAIT was not answered${code === undefined ? '' : ` but with ${code}`}`;
  }
}
