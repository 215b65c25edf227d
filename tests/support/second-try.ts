/**
 * A test that ran out of patience is tried once more: a wait for what a server or a process does by itself that was in vain says more
 * of a busy machine than of the code, and what is really broken is in vain twice. No other failure is forgiven: a wrong value, a
 * second leader or a stale write is red at once. The run names at its end what was tried again, so that it can be mended.
 */
export const secondTry = {
  count: 1,
  condition: /did not come about within|no answer (?:came within|for) \d+ ms|^Test timed out in/,
};
