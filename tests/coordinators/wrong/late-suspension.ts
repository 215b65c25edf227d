import { OutcomeUnknownError } from '../../../src/errors/index.js';
import { sleep } from '../../../src/time/index.js';
import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

const dayMs = 24 * 60 * 60 * 1000;

/** The operator was told that nobody knows, looked, resumed what was not suspended, and went home. */
export const lateSuspension: WrongCoordinator = {
  mistake: 'executes a suspension long after its operator gave it up',
  rejectedBy: 'lateness/suspend',
  wrap: (honest, store) =>
    altered(honest, {
      suspend: (name, act, call) => {
        const answer = honest.suspend(name, act, { timeoutMs: dayMs });
        const patience = sleep(store.runtime, call.timeoutMs).then(() => {
          throw new OutcomeUnknownError('no answer came in time');
        });
        answer.catch(() => undefined);
        patience.catch(() => undefined);
        return Promise.race([answer, patience]);
      },
    }),
};
