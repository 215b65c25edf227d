import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

export const forgottenTimer: WrongCoordinator = {
  mistake: 'leaves its watches and timers behind when it is closed',
  rejectedBy: 'closing/nothing-pending',
  wrap: (honest) => altered(honest, { close: async () => undefined }),
};
