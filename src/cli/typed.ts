import { longestReasonBytes, validateName } from '../coordinators/index.js';
import { checkWords } from '../coordinators/requests.js';
import { OptionError } from '../errors/index.js';

/**
 * A text of the command line or the environment as it stands, if all of it arrived. Bytes that are no UTF-8 reach a program as U+FFFD,
 * so that two names would be one.
 *
 * @throws {OptionError} naming `source`.
 */
export function typedText(text: string, source: string): string {
  if (!text.includes('\ufffd')) return text;
  throw new OptionError(source, text, 'is no UTF-8', 'write it in UTF-8, and without U+FFFD');
}

/** @throws {OptionError} unless it is the name of a lease. */
export function typedName(name: string, source: string): string {
  return validateName(typedText(name, source), source);
}

/** @throws {OptionError} unless it says why. */
export function typedReason(reason: string): string {
  return checkWords('--reason', typedText(reason, '--reason'), longestReasonBytes);
}
