import type { Known } from '../errors/checks.js';
import type { EndReason, Lease } from '../leases/index.js';

/**
 * What an election tells, one event after the other: what a listener causes is told after what it listens to. The state
 * has changed before.
 */
export interface ElectionEvents {
  /**
   * This process leads, in a new term. Exactly one of `lost` and `resigned` follows.
   *
   * `campaignMs`: how long it waited for that since it became a candidate, or one again (monotonic).
   */
  elected: { readonly lease: Lease; readonly campaignMs: number };
  /** The term ended against the leader's will, or before its work had stopped; `lease.signal` has aborted. */
  lost: { readonly lease: Lease; readonly reason: EndReason };
  /** The name was given back, or handed to a successor. */
  resigned: { readonly lease: Lease; readonly reason: EndReason };
  /** The work threw: while it led (then the name is given back, and a pause follows), or while it was stopping. */
  workFailed: { readonly term: number; readonly error: unknown };
  /** The work returned without having been told to stop. The name is given back, and a pause follows. */
  workReturned: { readonly term: number };
  /** The work has not stopped `drainMs` after it was told to; its lease has ended. Once per term. */
  workOverdue: { readonly term: number };
  /** The store gave no usable answer to a campaign. It goes on in `retryInMs`. */
  campaignFailed: { readonly error: unknown; readonly retryInMs: number };
  /** The resource of the last work had seen the higher term `above`; the new `term` is above it again. */
  termHealed: { readonly above: number; readonly term: number };
  /** Another live process is a candidate here under this process's id. Give each an id of its own. */
  duplicate: { readonly id: string };
  /**
   * What this process saw when it lost a term cannot be kept for `tenure diagnose`: the store denies it, or something foreign
   * stands in its place. It is tried again. Once for each cause. Leading goes on.
   */
  evidenceFailed: { readonly error: unknown };
}

export const electionEventNames: Known<ElectionEvents> = {
  elected: true,
  lost: true,
  resigned: true,
  workFailed: true,
  workReturned: true,
  workOverdue: true,
  campaignFailed: true,
  termHealed: true,
  duplicate: true,
  evidenceFailed: true,
};
