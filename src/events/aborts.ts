import type { Unsubscribe } from './emitter.js';

/**
 * One listener for each signal, however many want to know: a program has one signal for its shutdown and any number of
 * things to stop, and Node warns of a leak from the eleventh listener on.
 */
const listened = new WeakMap<AbortSignal, Listening>();

interface Listening {
  readonly callbacks: Set<() => void>;
  readonly tell: () => void;
}

/**
 * Calls `aborted` once when the signal aborts, in the order of the calls; not if it has aborted already, nor after the
 * returned function was called. `aborted` must not throw. The last one to leave leaves nothing on the signal.
 */
export function onAbort(signal: AbortSignal | undefined, aborted: () => void): Unsubscribe {
  if (signal === undefined || signal.aborted) return () => {};
  const { callbacks, tell } = listened.get(signal) ?? listen(signal);
  // An entry of its own for each call, so that one function may be passed twice.
  const entry = () => aborted();
  callbacks.add(entry);
  return () => {
    if (!callbacks.delete(entry) || callbacks.size > 0) return;
    signal.removeEventListener('abort', tell);
    listened.delete(signal);
  };
}

function listen(signal: AbortSignal): Listening {
  const callbacks = new Set<() => void>();
  const tell = () => {
    for (const callback of callbacks) callback();
  };
  const listening = { callbacks, tell };
  listened.set(signal, listening);
  signal.addEventListener('abort', tell, { once: true });
  return listening;
}
