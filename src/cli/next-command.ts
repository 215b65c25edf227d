import { redactSecrets } from '../errors/index.js';
import { visible } from './display/visible.js';
import { repeatedUrl } from './repeated-url.js';
import type { Flags } from './settings/index.js';

/**
 * A command of ours to run next, as it can be pasted: quoted where a shell needs it, and on the same store.
 *
 * @param rest stands as it is: options with placeholders.
 */
export type WriteCommand = (words: readonly string[], rest?: string) => string;

/** Where a command was told to look by flag alone; whatever else says it, says it to the next command too. */
const placeFlags = ['url', 'namespace', 'config'] as const;

/**
 * Writes commands that work on the store which these flags name: without them the next command would look elsewhere, and
 * find that all is well there. A URL is repeated without its password.
 */
export function commandWriter(flags: Flags): WriteCommand {
  const place = placeFlags.flatMap((flag) => {
    const value = flags[flag];
    if (typeof value !== 'string') return [];
    return [`--${flag}`, flag === 'url' ? repeatedUrl(value) : value];
  });
  return (words, rest = '') => {
    const [first = '', ...others] = words.map(quoted);
    const parts = ['tenure', first, ...others, rest, ...place.map(quoted)];
    return parts.filter((part) => part !== '').join(' ');
  };
}

const placeOfUrl = /^(--url=)?(.*)$/s;

/** What was typed, with something added, as it can be pasted; the password of a URL is left out. */
export function typedCommand(typed: readonly string[], added: string): string {
  const words = typed.map((word, index) => {
    const [, option = '', value = ''] = placeOfUrl.exec(word) ?? [];
    const isUrl = option !== '' || typed[index - 1] === '--url';
    return quoted(isUrl ? `${option}${repeatedUrl(value)}` : redactSecrets(word));
  });
  const end = words.indexOf('--');
  words.splice(end === -1 ? words.length : end, 0, added);
  return `tenure ${words.join(' ')}`;
}

/** A word as a shell takes it for one. */
export function quoted(word: string): string {
  const text = visible(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
