import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** An act whose reply was lost is made again, and then it seems to have been two. */
export const lineEachTime: WrongCoordinator = {
  mistake: 'writes a line of history for every execution of an act',
  rejectedBy: 'history/acts-once',
  wrap: (honest, store) =>
    altered(honest, {
      suspend: (name, act, call) => {
        const atMs = store.runtime.now().wallMs;
        if (store.suspensions.has(name)) {
          store.histories.add(name, { kind: 'act', act: 'suspend', ...act, atMs });
        }
        return honest.suspend(name, act, call);
      },
    }),
};
