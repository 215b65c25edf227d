import { replacing, type WrongCoordinator } from './wrong.js';

export const openHandoff: WrongCoordinator = {
  mistake: 'frees a name that is handed off for everybody',
  rejectedBy: 'handoffs/reserve',
  wrap: (honest) =>
    replacing(honest, {
      handoff: (requests, call) =>
        honest.release(
          requests.map(({ name, holder, term }) => ({ name, holder, term })),
          call,
        ),
    }),
};
