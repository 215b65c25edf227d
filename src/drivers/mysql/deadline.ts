import type { Runtime } from '../../time/index.js';

/** No answer came in time. What that means depends on what was asked: see `classifyMysqlError`. */
export class NoAnswerError extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${Math.round(timeoutMs)} ms`);
    this.name = 'NoAnswerError';
  }
}

/**
 * `promise`, or a {@link NoAnswerError} after `timeoutMs`. The client library would wait for ever on a server that is
 * frozen, or behind a network that drops packets.
 *
 * @param onLate takes a value that came after the deadline, so that nothing is left checked out.
 */
export async function withDeadline<Value>(
  runtime: Runtime,
  timeoutMs: number,
  promise: Promise<Value>,
  onLate: (value: Value) => void = () => {},
): Promise<Value> {
  return await new Promise<Value>((resolve, reject) => {
    let isLate = false;
    const timer = runtime.setTimer(timeoutMs, () => {
      isLate = true;
      reject(new NoAnswerError(timeoutMs));
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
