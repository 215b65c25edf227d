import { sayThrown } from '../errors/thrown.js';

/**
 * A listener as others may call it: if it throws, or rejects, that does not reach the caller, and is said once, in a process
 * warning.
 *
 * @param name by which the user knows it: of the option or the method that took it.
 */
export function isolated<Value>(
  name: string,
  listener: (value: Value) => void,
): (value: Value) => void {
  return (value) => tell(name, listener, value);
}

/** Calls the listener. @param name of the event, the option or the method that it was passed to, as the user has it. */
export function tell<Value>(
  name: PropertyKey,
  listener: (value: Value) => unknown,
  value: Value,
): void {
  try {
    const returned = listener(value);
    // An async listener throws later, and would end the process as an unhandled rejection. Promises of others count too.
    if (isThenable(returned))
      Promise.resolve(returned).catch((error) => warn(name, listener, error));
  } catch (error) {
    warn(name, listener, error);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return value instanceof Object && 'then' in value && typeof value.then === 'function';
}

/** What has failed once: whoever fails at each of many events would fill the log with it. */
const warnedOf = new WeakSet<object>();

function warn(name: PropertyKey, listener: object, error: unknown): void {
  if (warnedOf.has(listener)) return;
  warnedOf.add(listener);
  const what = `a listener for "${String(name)}" failed`;
  process.emitWarning(`${what}: ${sayThrown(error)}`, 'TenureListenerWarning');
}
