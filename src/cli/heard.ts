/** What comes of it, or nothing more of it once the signal aborts. @throws the reason of the signal. */
export function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * The same store, for a command that ends when somebody stops it: no answer of it is waited for any more once the signal
 * aborts. What was asked for by then may be done all the same; to close it waits as ever.
 */
export function heard<Store extends object>(store: Store, signal: AbortSignal): Store {
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const answer: unknown = value.apply(target, args);
        return answer instanceof Promise && key !== 'close' ? orAborted(answer, signal) : answer;
      };
    },
  });
}

/** Closes it; whoever stopped the command does not wait for that either. */
export async function closeUnlessStopped(
  store: { close(): Promise<void> },
  signal: AbortSignal,
): Promise<void> {
  const closed = store.close();
  await orAborted(closed, signal).catch((error) => {
    if (!signal.aborted) throw error;
  });
}
