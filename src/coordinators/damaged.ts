import type { EventSource, Unsubscribe } from '../events/index.js';
import type { Coordinator } from './contract.js';

interface CorruptEvents {
  corrupt: { readonly name: string; readonly detail: string };
}

/** Calls `told` with each name under which the coordinator finds something that is not ours; never, if it has no events. */
export function onDamaged(coordinator: Coordinator, told: (name: string) => void): Unsubscribe {
  if (!hasEvents(coordinator)) return () => {};
  return coordinator.on('corrupt', ({ name }) => told(name));
}

export function hasEvents(
  coordinator: Coordinator,
): coordinator is Coordinator & EventSource<CorruptEvents> {
  return 'on' in coordinator && typeof coordinator.on === 'function';
}
