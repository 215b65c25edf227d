import type { Timer } from './runtime.js';

/** The longest delay Node's timers take; a larger one fires after 1 ms, with a warning. */
export const longestTimerMs = 2 ** 31 - 1;

/** A timer of any length, made of those that `set` can set. */
export function longTimer(
  set: (delayMs: number, callback: () => void) => Timer,
  delayMs: number,
  callback: () => void,
): Timer {
  if (!(delayMs > longestTimerMs)) return set(delayMs, callback);
  const next = () => {
    timer = longTimer(set, delayMs - longestTimerMs, callback);
  };
  let timer = set(longestTimerMs, next);
  return { cancel: () => timer.cancel() };
}
