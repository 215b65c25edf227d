import type { Unsubscribe } from '../../events/index.js';

/*
 * Sessions on one file in one process (and thread) need not wait for the next look at the file to learn that another of
 * them has written.
 */
const listeners = new Map<string, Set<() => void>>();

/** Calls `heard` whenever a session of this thread has written to the file. */
export function listen(path: string, heard: () => void): Unsubscribe {
  const own = () => heard();
  const set = listeners.get(path) ?? new Set();
  listeners.set(path, set);
  set.add(own);
  return () => {
    set.delete(own);
    if (set.size === 0 && listeners.get(path) === set) listeners.delete(path);
  };
}

export function ring(path: string): void {
  for (const heard of [...(listeners.get(path) ?? [])]) heard();
}
