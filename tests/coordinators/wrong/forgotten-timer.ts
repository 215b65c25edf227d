import { replacing, type WrongCoordinator } from './wrong.js';

export const forgottenTimer: WrongCoordinator = {
  mistake: 'leaves its watches and timers behind when it is closed',
  rejectedBy: 'closing/nothing-pending',
  wrap: (honest) => replacing(honest, { close: async () => undefined }),
};
