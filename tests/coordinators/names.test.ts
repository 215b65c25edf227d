import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeName,
  groupOf,
  longestNameBytes,
  validateName,
} from '../../src/coordinators/index.js';
import { OptionError } from '../../src/errors/index.js';

describe('a name', () => {
  it.each([
    'payments',
    'chat/shards/255',
    'a',
    '.hidden/file',
    '_',
    'größe',
    '客户/7',
    'with space',
    '{tag}',
    'a*?[b]',
    '👩‍👩‍👧',
    '__proto__',
    'x'.repeat(255),
  ])('%j is taken as it is', (name) => {
    expect(validateName(name)).toBe(name);
  });

  it.each([
    ['', 'empty'],
    ['x'.repeat(256), 'too long'],
    ['é'.repeat(128), 'too long'],
    ['a//b', 'empty segment'],
    ['/a', 'empty segment'],
    ['a/', 'empty segment'],
    ['.', 'dot segment'],
    ['a/../b', 'dot segment'],
    ['a\nb', 'not text'],
    ['a\0', 'not text'],
    ['\ud800', 'not text'],
    [7 as unknown as string, 'not a text'],
  ])('%j is refused: %s', (name, problem) => {
    expect(() => validateName(name)).toThrow(OptionError);
    expect(() => validateName(name)).toThrow(problem);
  });

  it('knows its group', () => {
    expect(['a', 'a/b', 'a/b/c'].map(groupOf)).toEqual(['', 'a', 'a/b']);
  });
});

describe('an encoded name', () => {
  it.each([
    ['chat/shards/7', 'chat%2Fshards%2F7'],
    ['{a}*', '%7Ba%7D%2A'],
    ['100%', '100%25'],
    ['ä€😀', '%C3%A4%E2%82%AC%F0%9F%98%80'],
  ])('%j is %s', (name, encoded) => {
    expect(encodeName(name)).toBe(encoded);
  });

  it('is inert, and stands for one name only', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: longestNameBytes }), (name) => {
        const encoded = encodeName(name);
        expect(encoded).toMatch(/^[A-Za-z0-9._%-]*$/);
        expect(decodeURIComponent(encoded)).toBe(name);
      }),
    );
  });
});
