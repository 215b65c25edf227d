/**
 * How a request to the store failed, as far as it tells something of why.
 *
 * - `timeout`: no answer in time. `reset`: the connection broke. `refused`: nothing listens there. `unreachable`: no way
 *   there, or no such host.
 * - `loading`: the store is starting. `replica`: it is not, or not now, the one that decides; of several servers, that one is
 *   gone and others do not answer. `overloaded`: it has too much
 *   to do, or no room. `denied`: it does not let us. `other`: none of these.
 */
export const errorKinds = [
  'timeout',
  'reset',
  'refused',
  'unreachable',
  'loading',
  'replica',
  'overloaded',
  'denied',
  'other',
] as const;
export type ErrorKind = (typeof errorKinds)[number];

/** A property that is not shown: whoever prints an error sees its code and its message. */
const kindKey = Symbol('kind');

/** The error, which carries its kind from now on, whatever its message says; as it was if the kind is not known. */
export function ofKind<Failure extends Error>(
  kind: ErrorKind | undefined,
  error: Failure,
): Failure {
  if (kind !== undefined)
    Object.defineProperty(error, kindKey, { value: kind, configurable: true });
  return error;
}

/** What {@link ofKind} has given it. */
export function carriedKind(error: unknown): ErrorKind | undefined {
  return error instanceof Error && kindKey in error ? (error[kindKey] as ErrorKind) : undefined;
}
