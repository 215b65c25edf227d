import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

const dayMs = 24 * 60 * 60 * 1000;

export const endlessWait: WrongCoordinator = {
  mistake: 'waits for a reply beyond the timeout of the call',
  rejectedBy: 'hangs/every-operation',
  wrap: (honest) => altered(honest, { read: (names) => honest.read(names, { timeoutMs: dayMs }) }),
};
