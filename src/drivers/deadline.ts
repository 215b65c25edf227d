import { ofKind } from '../errors/kinds.js';
import { type Runtime, within } from '../time/index.js';

/** No answer came in time. What that means depends on what was asked: see the `errors.ts` of each driver. */
export class NoAnswerError extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${Math.round(timeoutMs)} ms`);
    this.name = 'NoAnswerError';
    ofKind('timeout', this);
  }
}

/**
 * `promise`, or a {@link NoAnswerError} after `timeoutMs`. A client library would wait for ever on a server that is frozen,
 * or behind a network that drops packets.
 *
 * @param onLate takes a value that came after the deadline, so that nothing is left checked out.
 */
export async function withDeadline<Value>(
  runtime: Runtime,
  timeoutMs: number,
  promise: Promise<Value>,
  onLate?: (value: Value) => void,
): Promise<Value> {
  return await within(runtime, timeoutMs, promise, () => new NoAnswerError(timeoutMs), onLate);
}
