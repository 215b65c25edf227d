import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** Who really stopped the name, and when, is overwritten by whoever presses the button next. */
export const lastAct: WrongCoordinator = {
  mistake: 'replaces the act that suspended a name by a later one',
  rejectedBy: 'suspensions/first-act',
  wrap: (honest, store) =>
    altered(honest, {
      suspend: (name, act, call) => {
        store.suspensions.delete(name);
        return honest.suspend(name, act, call);
      },
    }),
};
