import { OptionError } from '../errors/index.js';

/** The longest name of a lease, document, namespace or topic, in UTF-8 bytes. */
export const longestNameBytes = 255;

/** Control characters and lone surrogates. */
export const notText = /[\p{Cc}\p{Cs}]/u;

/** What nearly every name looks like, told in one look: renewals check hundreds of names at a time. */
const plainName = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/**
 * Checks a name of a lease or document.
 *
 * A name is 1 to 255 bytes of UTF-8 in segments divided by `/`; the segments before the last one are its *group*, and
 * can be listed and watched together. Anything but control characters may stand in a segment: stores only ever see
 * names through {@link encodeName}.
 *
 * @throws {OptionError} naming `option`.
 */
export function validateName(name: string, option = 'name'): string {
  if (typeof name === 'string' && name.length <= longestNameBytes && plainName.test(name))
    return name;
  const remedy = `use 1 to ${longestNameBytes} bytes of UTF-8 text without control characters, segments divided by single slashes`;
  if (typeof name !== 'string') throw new OptionError(option, name, 'is not a text', remedy);
  if (name.length === 0) throw new OptionError(option, name, 'is empty', remedy);
  if (Buffer.byteLength(name) > longestNameBytes)
    throw new OptionError(option, name, 'is too long', remedy);
  if (notText.test(name)) {
    throw new OptionError(option, name, 'holds characters that are not text', remedy);
  }
  for (const segment of name.split('/')) {
    if (segment === '') throw new OptionError(option, name, 'has an empty segment', remedy);
    if (segment === '.' || segment === '..')
      throw new OptionError(option, name, 'has a dot segment', remedy);
  }
  return name;
}

/** The group of a name: everything before its last slash, or the empty text (the root group). */
export function groupOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('/')));
}

const notKept = /[^A-Za-z0-9._-]/g;
const beyondAscii = /[^\0-\x7f]/;

/**
 * A name as one inert token: letters, digits and `. _ -` stay, `/` and everything else becomes `%XX` per UTF-8 byte.
 *
 * Injective, and free of every character that means something to a store: braces, globs, quotes, spaces, separators.
 */
export function encodeName(name: string): string {
  // One character a byte: what `latin1` makes of UTF-8.
  const bytes = beyondAscii.test(name) ? Buffer.from(name).toString('latin1') : name;
  return bytes.replace(notKept, percentByte);
}

function percentByte(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
