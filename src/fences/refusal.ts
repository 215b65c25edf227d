import { StaleTermError } from '../errors/index.js';
import type { Candidate, InstalledTerm } from './rule.js';

/**
 * The refusal of a token, to be thrown. A token that is a live lease has ended when this returns: its term is over
 * whatever its store says, so nothing renews it any more, and work that swallows the error is stopped by the signal.
 *
 * @param installed what is in the way; `undefined` if it was gone again when it was looked up.
 */
export function refusalOf(
  { name, term, token }: Candidate,
  installed: InstalledTerm | undefined,
): StaleTermError {
  const installedTerm = installed?.term ?? term;
  token.supersede?.(installedTerm);
  return new StaleTermError(name, term, installedTerm);
}
