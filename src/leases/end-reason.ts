import { OptionError } from '../errors/index.js';

/**
 * Why a lease ended.
 *
 * - `expired`: its deadline passed while nothing was known to be wrong (the process was frozen, say).
 * - `unreachable`: its deadline passed after renewals had failed.
 * - `superseded`: the store or a fence has seen a newer owner, or somebody overwrote its record in the store. `vanished`: the
 *   store has no such record any more.
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

/** What a store says of a lease that is not its holder's any more. */
export type LossAtStore = Extract<EndReason, 'superseded' | 'vanished' | 'revoked'>;

/** Each reason in words, to follow "because". */
export const explanations: Record<EndReason, string> = {
  expired: 'its deadline passed without a renewal; the process was frozen or too busy',
  unreachable: 'its deadline passed while the store could not be reached',
  superseded: 'somebody else owns the name now, or its record was overwritten',
  vanished: 'its record is gone from the store',
  revoked: 'an operator ended it',
  stalled: 'the event loop stood still for too long',
  'max-hold': 'it was held for longer than allowed',
  'handed-off': 'it was handed to a successor',
  released: 'it was given back',
  shutdown: 'its process is shutting down',
};

const ownEndReasons = ['revoked', 'stalled', 'max-hold', 'shutdown'] as const satisfies EndReason[];

/** Why the holder itself ends a lease whose work may still run. */
export type OwnEndReason = (typeof ownEndReasons)[number];

const decisions: readonly (EndReason | undefined)[] = ['revoked', 'max-hold', 'shutdown'];

/**
 * Whether somebody decided that a lost lease is to end, and nothing went wrong: once its work says that it has stopped,
 * nobody has to wait for a lock-delay. A lease that failed has one, whatever its work says.
 */
export function isEndedByDecision(reason: EndReason | undefined): boolean {
  return decisions.includes(reason);
}

/** @throws {OptionError} */
export function validateOwnEndReason(reason: OwnEndReason): void {
  if (ownEndReasons.includes(reason)) return;
  const remedy = `use ${ownEndReasons.join(', ')}; release() and handoff() give the name back`;
  throw new OptionError('reason', reason, 'is no reason to end a lease', remedy);
}
