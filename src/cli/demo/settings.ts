/** What the whole demonstration agrees on: the production clock, ten times as fast. */
export const ttlMs = 3_000;
export const leaseTiming = { ttlMs, renewEveryMs: ttlMs / 3, attemptTimeoutMs: 500 };
/** The demonstration's own requests to the store: how patient they are proves nothing. */
export const observerCall = { timeoutMs: 5_000 };
/** A crashed worker's shards change hands within the ttl; this is for the watcher to see it. */
export const takeoverToleranceMs = 250;

export const topicName = 'chat';
/** Workers of one group share the shards. */
export const groupName = 'support';

/** Reading one order takes an employee this long; a long look is what a crash interrupts. */
export const workMs = { usual: 250, followed: 700 } as const;
