import { altered } from '../../support/altered.js';
import type { WrongCoordinator } from './wrong.js';

/** The operator read the plan for a while; somebody else leads by now, and is innocent. */
export const termNotCompared: WrongCoordinator = {
  mistake: 'ends whatever term stands there, though another one was meant',
  rejectedBy: 'revocations/one-term',
  wrap: (honest) =>
    altered(honest, {
      revoke: (name, { term: _, ...act }, call) => honest.revoke(name, act, call),
    }),
};
