/** The limit of a call that a test expects an answer to: so long that no busy machine makes it fail. */
export const call = { timeoutMs: 30_000 };
