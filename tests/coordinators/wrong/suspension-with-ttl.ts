import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** A key with a time to live: convenient for everything but the one thing that must stay. */
export const suspensionWithTtl: WrongCoordinator = {
  mistake: 'lets a suspension end by itself',
  rejectedBy: 'suspensions/no-end',
  wrap: (honest, store) =>
    altered(honest, {
      suspend: (name, act, call) => {
        const timer = { keepsProcessAlive: false };
        store.runtime.setTimer(60_000, () => store.suspensions.delete(name), timer);
        return honest.suspend(name, act, call);
      },
    }),
};
