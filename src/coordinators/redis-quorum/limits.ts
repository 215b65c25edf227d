/* What bounds the records and requests of a quorum. Every client of a namespace counts with the same numbers. */

/** How much one node's clock may run faster or slower than ours while a lease lasts: a hundredth. */
export const driftShare = 0.01;
/** And a constant for the grain of clocks and timers. */
export const driftMs = 2;

/** What one node may take for one request: a tenth of the ttl in question, within these; or what an option says. */
export const usualNodeTimeoutMs = 200;
export const smallestNodeTimeoutMs = 100;
export const largestNodeTimeoutMs = 1_000;

/**
 * A claim that its client neither turns into a lease nor takes back ends by itself after this: four times what the call may
 * take that makes it, so that who lost the answers can ask again; within these, and never longer than the lease. So a client that dies between the two steps of a grant
 * keeps a name from others for a moment, and not for a ttl.
 */
export function claimMs(ttlMs: number, timeoutMs: number): number {
  return Math.min(ttlMs, longestClaimMs, Math.max(shortestClaimMs, 4 * timeoutMs));
}
const shortestClaimMs = 1_000;
const longestClaimMs = 10_000;

/** The longest a lease may last here unless an option says otherwise: how long a quorum that lost its memory grants nothing. */
export const usualLargestTtlMs = 10 * 60 * 1000;

/** After a majority has answered, the others are waited for this long at most: their answers make the picture whole. */
export const lingerMs = 20;
export const shortestLingerMs = 2;

/**
 * Votes of one question count together if no more than this lies between sending the first and hearing the last of them: as
 * long as a node may take.
 */
export const votesTogetherMs = 1_000;

/** How long after a node was found without its memory everything that counts with its votes from before is at the others. */
export const settleMs = votesTogetherMs + 100;

/** What a lease is worth to its holder, from before the first request was sent. */
export function validityMs(ttlMs: number, elapsedMs: number): number {
  return ttlMs - elapsedMs - (ttlMs * driftShare + driftMs);
}

/** What was asked for; else a tenth of the ttl, within reason. */
export function nodeTimeoutFor(ttlMs: number, optionMs: number | undefined): number {
  if (optionMs !== undefined) return optionMs;
  return Math.min(usualNodeTimeoutMs, Math.max(smallestNodeTimeoutMs, ttlMs / 10));
}
