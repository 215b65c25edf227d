import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** The record is gone, and why it went is guessed. */
export const everyEndExpired: WrongCoordinator = {
  mistake: 'remembers a clean release as an expiry',
  rejectedBy: 'history/release',
  wrap: (honest) =>
    altered(honest, {
      release: (requests, call) =>
        honest.release(
          requests.map((request) => ({ ...request, reason: 'expired' })),
          call,
        ),
    }),
};
