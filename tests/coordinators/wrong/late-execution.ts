import { OutcomeUnknownError } from '../../../src/errors/index.js';
import { sleep } from '../../../src/time/index.js';
import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

const dayMs = 24 * 60 * 60 * 1000;

/** Only the caller's patience ends; the request itself carries no "not after". */
export const lateExecution: WrongCoordinator = {
  mistake: 'executes a request long after its caller gave it up',
  rejectedBy: 'lateness/acquire',
  wrap: (honest, store) =>
    altered(honest, {
      acquire: (requests, call) => {
        const answer = honest.acquire(requests, { timeoutMs: dayMs });
        const patience = sleep(store.runtime, call.timeoutMs).then(() => {
          throw new OutcomeUnknownError('no answer came in time');
        });
        answer.catch(() => undefined);
        patience.catch(() => undefined);
        return Promise.race([answer, patience]);
      },
    }),
};
