export { Backoff, type BackoffOptions } from './backoff.js';
export { withDeadline, within } from './deadline.js';
export { watchLoop } from './loop-watch.js';
export { realRuntime } from './real.js';
export {
  elapsedMs,
  type Instant,
  isBefore,
  type Runtime,
  type Timer,
  type TimerOptions,
  wallStepMs,
} from './runtime.js';
export { ServerClock } from './server-clock.js';
export { sleep } from './sleep.js';
export { clockOriginMs, runtimeWithOrigin } from './thread-clock.js';
