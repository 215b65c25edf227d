import { elapsedMs, type Instant, type Runtime, type Timer } from './runtime.js';

/** Shorter stalls are of no concern to a lease, and ten timers a second cost nothing. */
const defaultEveryMs = 100;
/** Uptime is read in steps of this, so that the later of two readings may seem to be later by as much. */
const uptimeResolutionMs = 10;

/**
 * Looks at the event loop of this thread every `everyMs`, and tells `turned` each time how long it stood still before: by how
 * much the look came late, in milliseconds, suspend included; 0 and a little above while nothing is wrong. A stall that goes
 * on is told when it is over. Does not keep the process alive; cancel the timer that is returned to end it.
 */
export function watchLoop(
  runtime: Runtime,
  turned: (stallMs: number) => void,
  everyMs: number = defaultEveryMs,
): Timer {
  let timer: Timer;
  const arm = () => {
    const from = runtime.now();
    const turn = () => {
      arm();
      turned(Math.max(0, passedMs(from, runtime.now()) - everyMs));
    };
    timer = runtime.setTimer(everyMs, turn, { keepsProcessAlive: false });
  };
  arm();
  return { cancel: () => timer.cancel() };
}

/** As {@link elapsedMs}, but for what only the resolution of uptime adds. */
function passedMs(from: Instant, to: Instant): number {
  const monotonicMs = to.monotonicMs - from.monotonicMs;
  const elapsed = elapsedMs(from, to);
  return elapsed - monotonicMs > 2 * uptimeResolutionMs ? elapsed : monotonicMs;
}
