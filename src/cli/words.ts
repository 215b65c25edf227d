import { notText } from '../coordinators/names.js';
import { OptionError } from '../errors/index.js';

/**
 * What people wrote for people to read: it is stored, listed and printed, so it is one line of text.
 *
 * @throws {OptionError} naming `source`.
 */
export function checkWords(text: string, source: string, longestBytes: number): string {
  if (text.trim() !== '' && Buffer.byteLength(text) <= longestBytes && !notText.test(text))
    return text;
  const remedy = `use 1 to ${longestBytes} bytes of text without control characters`;
  throw new OptionError(source, text, 'does not say who or why', remedy);
}
