import type { Coordinator } from '../../../src/index.js';
import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

export const silentList: WrongCoordinator = {
  mistake: 'leaves a foreign text out of a list and tells nobody',
  rejectedBy: 'damage/overwritten-list',
  wrap: (honest) => altered(honest, { on: () => () => {} } as Partial<Coordinator>),
};
