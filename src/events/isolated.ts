/**
 * A listener as others may call it: if it throws, or rejects, that is a process warning and does not reach the caller.
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
    if (isThenable(returned)) Promise.resolve(returned).catch((error) => warn(name, error));
  } catch (error) {
    warn(name, error);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return value instanceof Object && 'then' in value && typeof value.then === 'function';
}

function warn(name: PropertyKey, error: unknown): void {
  const what = `a listener for "${String(name)}" threw`;
  process.emitWarning(`${what}: ${textOf(error)}`, 'TenureListenerWarning');
}

/** Anything can be thrown, also what throws when it is asked for its text. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return 'something that has no text';
  }
}
