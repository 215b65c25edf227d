import { expect } from 'vitest';
import { OptionError } from '../../src/errors/index.js';

/** What somebody may give as a name of anything. */
export const hostileTexts: readonly string[] = [
  ...[
    '',
    ' ',
    '  ',
    '\t',
    '\n',
    '\0',
    'a\0b',
    'a\nb',
    'a\r\nb',
    '\x7f',
    '\x85',
    '\u2028',
    'a\x1b[2Jb',
  ],
  ...['{}', '{a}', '}{', 'a}b', 'a{b', '{{a}}', '*', '?', '[a-z]', 'a*', '**', '\\', '\\x', 'a\\*'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'then'],
  ...['\ud800', '\udfff', 'a\ud800b', '\udc00\ud800'],
  ...['/', '//', '/a', 'a/', 'a//b', '.', '..', '../..', 'a/../b', 'a/./b', '...', '.a', 'a.'],
  ...[' a', 'a ', 'a', 'A', '\u00a0a', 'a\u00a0', '\u3000', '\u00e9', 'e\u0301', '\ufb01', 'fi'],
  ...[
    '\u{1f600}',
    '\u{1f468}\u200d\u{1f469}',
    '\u202eb',
    '\ufeffa',
    'a\u200bb',
    '\u0130',
    'i',
    'I',
    '\u0131',
  ],
  ...['%', '%2F', 'a%2Fb', 'a/b', '%00', '%25', 'a:b', 'a|b', 'a,b', ':', '|', '~', '#', '@', '-'],
  ...[
    "'",
    '"',
    '`',
    "'; DROP TABLE tenure.leases; --",
    '$$',
    '$1',
    '$[a}',
    '$(id)',
    '; ls',
    '--help',
  ],
  ...[
    '0',
    '1e3',
    'NaN',
    'null',
    'undefined',
    'true',
    'lease',
    'names',
    'suspended',
    'granted',
    'pins',
  ],
  ...[
    'x'.repeat(255),
    'x'.repeat(256),
    '\u00e4'.repeat(127),
    '\u00e4'.repeat(128),
    '%'.repeat(255),
  ],
  // Which of two names each of them belongs to, must not depend on a mark between them.
  ...['a:a', 'a/a', 'a|a', 'a,a', 'a.a', 'a-a', 'a%3Aa', 'a%2Fa'],
  'x'.repeat(1 << 20),
];

/** What is no text at all, in code without types. What is `null` was left out, where it may be. */
const noTexts: readonly unknown[] = [
  ...[7, Number.NaN, true, {}, [], ['a'], Symbol('a'), () => 'a', Object.create(null)],
];

/** What gives a text as an option, a name or a key: synchronously, or by a promise. */
export type Give = (text: string) => unknown;

/** The texts that are taken; each of the others is refused by a typed error that names the option, short and on one line. */
export async function taken(option: string, give: Give): Promise<string[]> {
  for (const value of noTexts)
    if (!(await isRefused(option, give, value)))
      expect.fail(`${option}: something was taken that is no text: ${String(typeof value)}`);
  const texts: string[] = [];
  for (const text of hostileTexts) if (!(await isRefused(option, give, text))) texts.push(text);
  return texts;
}

async function isRefused(option: string, give: Give, value: unknown): Promise<boolean> {
  let error: unknown;
  try {
    await give(value as string);
    return false;
  } catch (thrown) {
    error = thrown;
  }
  const shown = JSON.stringify(value)?.slice(0, 80);
  expect(error, shown).toBeInstanceOf(OptionError);
  const { option: named, message, remedy } = error as OptionError;
  expect(named, shown).toBe(option);
  expect(message, shown).toContain(`${option} `);
  expect(message.length, `${shown}: ${message.slice(0, 600)}`).toBeLessThan(500);
  expect(message, shown).not.toMatch(/[\p{Cc}\p{Cs}\p{Cf}\p{Zl}\p{Zp}]/u);
  expect(remedy, shown).toMatch(/^\w.{5,}/);
  return true;
}

/** Different things that have one key. */
export function collisions(keys: Iterable<readonly [of: string, key: string]>): string[] {
  const owners = new Map<string, string>();
  const found: string[] = [];
  for (const [of, key] of keys) {
    const other = owners.get(key);
    if (other !== undefined && other !== of) found.push(`${other} and ${of}: ${key.slice(0, 200)}`);
    owners.set(key, of);
  }
  return found;
}
