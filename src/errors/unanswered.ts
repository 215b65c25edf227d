import { OutcomeUnknownError, UnreachableError } from './errors.js';
import { type ErrorKind, ofKind } from './kinds.js';

/** An {@link UnreachableError} of that kind; `undefined`: no more is known than its class says, or its cause. */
export function unreachable(
  kind: ErrorKind | undefined,
  message: string,
  cause?: unknown,
): UnreachableError {
  return ofKind(kind, new UnreachableError(message, cause));
}

/** An {@link OutcomeUnknownError} of that kind; `undefined`: no more is known than its class says, or its cause. */
export function outcomeUnknown(
  kind: ErrorKind | undefined,
  message: string,
  cause?: unknown,
): OutcomeUnknownError {
  return ofKind(kind, new OutcomeUnknownError(message, cause));
}
