import { TenureError } from '../errors/index.js';
import { type EndReason, explanations } from './end-reason.js';
import type { LeaseState } from './machine.js';

/** The reason of a lease's `signal`: what aborted work sees. */
export class LeaseEndedError extends TenureError {
  readonly leaseName: string;
  readonly term: number;
  readonly reason: EndReason;

  /** @param doubt what else it may be, to follow the reason. */
  constructor(leaseName: string, term: number, reason: EndReason, doubt = '') {
    super(
      'TENURE_LEASE_ENDED',
      `the lease of "${leaseName}" (term ${term}) ended: ${explanations[reason]}${doubt}.`,
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

/** Whether work threw only since its lease has ended or is uncertain, or since somebody aborted it: no failure of its own. */
export function heedsItsLease(error: unknown): boolean {
  if (error instanceof LeaseEndedError || error instanceof LeaseNotHeldError) return true;
  return error instanceof Error && error.name === 'AbortError';
}
