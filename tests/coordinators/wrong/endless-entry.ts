import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

const dayMs = 24 * 60 * 60 * 1000;

/** A queue in which the dead stand first: they are called, and nobody answers. */
export const endlessEntry: WrongCoordinator = {
  mistake: 'keeps the entries of candidates that refresh them no more',
  rejectedBy: 'calls/dead-waiters',
  wrap: (honest) =>
    altered(honest, {
      enroll: (requests, call) =>
        honest.enroll(
          requests.map((request) => ({ ...request, ttlMs: dayMs })),
          call,
        ),
    }),
};
