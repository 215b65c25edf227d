import { StaleTermError } from '../errors/index.js';
import { notice } from '../events/index.js';
import { type EndReason, LeaseEndedError } from '../leases/index.js';
import type { Candidate, InstalledTerm } from './rule.js';

/**
 * The refusal of a token, to be thrown. A token that is a live lease has ended when this returns: its term is over
 * whatever its store says, so nothing renews it any more, and work that swallows the error is stopped by the signal.
 *
 * @param installed what is in the way; `undefined` if it was gone again when it was looked up.
 */
export function refusalOf(
  { resource, name, term, token }: Candidate,
  installed: InstalledTerm | undefined,
): StaleTermError {
  const installedTerm = installed?.term ?? term;
  notice('tenure:fence.refused', { resource, name, term, installedTerm });
  token.supersede?.(installedTerm, undefined, resource);
  return new StaleTermError(name, term, installedTerm);
}

/** A lease of another store is as good as none here. */
const elsewhere =
  ', or the fence looks for it where it never was: its `leases` have to name the store and namespace of the lease';

/**
 * The refusal of a token whose lease does not stand, to be thrown. As with {@link refusalOf}, a live lease has ended.
 *
 * @param reason as the store has it, by its own clock.
 */
export function endedOf(
  { resource, name, term, token }: Candidate,
  reason: EndReason,
): LeaseEndedError {
  notice('tenure:fence.refused', { resource, name, term, installedTerm: undefined });
  const isRevoked = reason === 'revoked';
  // What has expired there is not yet over by the clock here: it is gone all the same.
  const isKnown = isRevoked || reason === 'superseded';
  token.supersede?.(undefined, isKnown ? reason : 'vanished', resource);
  return new LeaseEndedError(name, term, reason, reason === 'vanished' ? elsewhere : '');
}
