import { TenureError } from '../errors/index.js';
import type { LeaseState } from './machine.js';

/**
 * Why a lease ended.
 *
 * - `expired`: its deadline passed while nothing was known to be wrong (the process was frozen, say).
 * - `unreachable`: its deadline passed after renewals had failed.
 * - `superseded`: the store or a fence has seen a newer owner. `vanished`: the store has no such record any more.
 * - `revoked`: an operator ended it. `stalled`: the event loop stood still too long. `max-hold`: it was held too long.
 * - `handed-off`: given to a named successor. `released`: given back. `shutdown`: the process is stopping.
 */
export type EndReason =
  | 'expired'
  | 'unreachable'
  | 'superseded'
  | 'vanished'
  | 'revoked'
  | 'stalled'
  | 'max-hold'
  | 'handed-off'
  | 'released'
  | 'shutdown';

const explanations: Record<EndReason, string> = {
  expired: 'its deadline passed without a renewal; the process was frozen or too busy',
  unreachable: 'its deadline passed while the store could not be reached',
  superseded: 'somebody else owns the name now',
  vanished: 'its record is gone from the store',
  revoked: 'an operator ended it',
  stalled: 'the event loop stood still for too long',
  'max-hold': 'it was held for longer than allowed',
  'handed-off': 'it was handed to a successor',
  released: 'it was given back',
  shutdown: 'its process is shutting down',
};

/** The reason of a lease's `signal`: what aborted work sees. */
export class LeaseEndedError extends TenureError {
  readonly leaseName: string;
  readonly term: number;
  readonly reason: EndReason;

  constructor(leaseName: string, term: number, reason: EndReason) {
    super(
      'TENURE_LEASE_ENDED',
      `the lease of "${leaseName}" (term ${term}) ended: ${explanations[reason]}.`,
    );
    this.leaseName = leaseName;
    this.term = term;
    this.reason = reason;
  }
}

/** Work was about to begin or write while the lease is not held. */
export class LeaseNotHeldError extends TenureError {
  readonly leaseName: string;
  readonly term: number;
  readonly state: LeaseState;
  readonly reason: EndReason | undefined;

  constructor(leaseName: string, term: number, state: LeaseState, reason: EndReason | undefined) {
    const why =
      reason === undefined
        ? 'a renewal is overdue; wait until the state is held again, or stop'
        : `${explanations[reason]}; stop this work`;
    super(
      'TENURE_LEASE_NOT_HELD',
      `the lease of "${leaseName}" (term ${term}) is ${state}: ${why}.`,
    );
    this.leaseName = leaseName;
    this.term = term;
    this.state = state;
    this.reason = reason;
  }
}
