/* What bounds the records and keys on the server. Scripts and this client count with the same numbers. */

const dayMs = 24 * 60 * 60 * 1000;

/**
 * How much longer than its own ttl a record may live before that counts as tampering, or a clock that was stepped back.
 * Room for a clock that is being slewed.
 */
export const ttlSlackMs = 1_000;

/** The last term outlives the moment at which the server's clock passes it by this much; from then on the clock serves. */
export const termLifeMs = 30 * dayMs;

/** How long after its last refresh a name stays in its group's index, in ttls: longer than any lease lives unrefreshed. */
export const indexTtls = 8;
/** After how many ttls a renewal refreshes the entry in the index. */
export const indexRefreshTtls = 4;
