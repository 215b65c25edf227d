import { replacing, type WrongCoordinator } from './wrong.js';

/** The record is gone, and why it went is guessed. */
export const everyEndExpired: WrongCoordinator = {
  mistake: 'remembers a clean release as an expiry',
  rejectedBy: 'history/release',
  wrap: (honest) =>
    replacing(honest, {
      release: (requests, call) =>
        honest.release(
          requests.map((request) => ({ ...request, reason: 'expired' })),
          call,
        ),
    }),
};
