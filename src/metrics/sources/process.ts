import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FenceRefusal, RepeatedEffect, Unsubscribe } from '../../events/index.js';
import { type Runtime, watchLoop } from '../../time/index.js';
import { RecentExtreme } from '../recent.js';
import { all, type Site } from '../site.js';

/** How long the event loop of this process stood still. */
export function observeLoop(site: Site, runtime: Runtime): Unsubscribe {
  const longest = new RecentExtreme(runtime, Math.max);
  const watch = watchLoop(runtime, (stallMs) => longest.note(stallMs / 1000));
  const stop = site.onCollect({
    tell: () => site.instruments.stall.tell({}, longest.take() ?? 0),
  });
  return all(stop, () => watch.cancel());
}

/** What any fence of this process refuses. */
export function observeFences(site: Site): Unsubscribe {
  const { refusals, repeated } = site.instruments;
  return all(
    onChannel<FenceRefusal>('tenure:fence.refused', ({ resource, installedTerm }) =>
      refusals.add({ resource, because: installedTerm === undefined ? 'lease' : 'term' }),
    ),
    onChannel<RepeatedEffect>('tenure:fence.repeated', ({ resource }) =>
      repeated.add({ resource }),
    ),
  );
}

function onChannel<Message>(name: string, listener: (message: Message) => void): Unsubscribe {
  const told = (message: unknown) => listener(message as Message);
  subscribe(name, told);
  return () => unsubscribe(name, told);
}
