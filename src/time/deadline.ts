import { outcomeUnknown } from '../errors/unanswered.js';
import type { Runtime } from './runtime.js';

/**
 * The promise's outcome, or after `limitMs` the error that `late` makes.
 *
 * @param onLate takes a value that came after that, so that nothing is left open.
 */
export async function within<Value>(
  runtime: Runtime,
  limitMs: number,
  promise: Promise<Value>,
  late: () => Error,
  onLate: (value: Value) => void = () => {},
): Promise<Value> {
  return await new Promise<Value>((resolve, reject) => {
    let isLate = false;
    const timer = runtime.setTimer(limitMs, () => {
      isLate = true;
      reject(late());
    });
    promise.then(
      (value) => {
        timer.cancel();
        if (isLate) onLate(value);
        else resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}

/**
 * The promise's outcome, or an {@link OutcomeUnknownError} after `limitMs`. A coordinator has to keep its time limit by
 * itself; this is for the one that does not, so that a hung call never holds up a renewal.
 */
export async function withDeadline<Value>(
  runtime: Runtime,
  limitMs: number,
  what: string,
  promise: Promise<Value>,
): Promise<Value> {
  const words = `${what} had no answer within ${Math.round(limitMs)} ms`;
  return await within(runtime, limitMs, promise, () => outcomeUnknown('timeout', words));
}
