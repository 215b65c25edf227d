import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

export const openHandoff: WrongCoordinator = {
  mistake: 'frees a name that is handed off for everybody',
  rejectedBy: 'handoffs/reserve',
  wrap: (honest) =>
    altered(honest, {
      handoff: (requests, call) =>
        honest.release(
          requests.map(({ name, holder, term }) => ({ name, holder, term })),
          call,
        ),
    }),
};
