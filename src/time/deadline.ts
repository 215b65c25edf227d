import { OutcomeUnknownError } from '../errors/index.js';
import type { Runtime } from './runtime.js';

/**
 * The promise's outcome, or an {@link OutcomeUnknownError} after `limitMs`. A coordinator has to keep its time limit by
 * itself; this is for the one that does not, so that a hung call never holds up a renewal.
 */
export function withDeadline<T>(
  runtime: Runtime,
  limitMs: number,
  what: string,
  promise: Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = runtime.setTimer(limitMs, () => {
      reject(new OutcomeUnknownError(`${what} had no answer within ${Math.round(limitMs)} ms`));
    });
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}
