import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/errors/index.js';
import { shardOf } from '../../src/shards/index.js';

/** Computed with sha1sum, not with this library: key, first eight hex digits, shard of 256. */
const vectors: readonly (readonly [string, string, number])[] = [
  ['a', '86f7e437', 55],
  ['A', '6dcd4ce2', 226],
  [' ', 'b858cb28', 40],
  ['customer-1', '70c4ca9b', 155],
  ['customer-42', '3109e799', 153],
  ['Müller', 'cd2562f4', 244],
  ['straße', '62394a9f', 159],
  ['Ωmega', '5d37680c', 12],
  ['🙂', '0402582b', 43],
  ['👩‍👩‍👧', '4a25b779', 121],
  ['東京', '681ee300', 0],
  ['订单-7', '4e82b1c7', 199],
  ['a\nb', 'fcd127ff', 255],
  ['\u00e9', 'bf15be71', 113],
  ['e\u0301', '7e3fbcf1', 241],
  ['x'.repeat(512), '8d58820c', 12],
];

function optionError(act: () => unknown): OptionError {
  try {
    act();
  } catch (error) {
    if (error instanceof OptionError) return error;
  }
  throw new Error('no OptionError was thrown');
}

describe('shardOf', () => {
  it.each(vectors)('places %j by the digest %s in shard %i', (key, digest, shard) => {
    expect(shardOf(key)).toBe(shard);
    for (const shardCount of [1, 2, 16, 1024, 65_536]) {
      expect(shardOf(key, shardCount)).toBe(Number.parseInt(digest, 16) % shardCount);
    }
  });

  it('answers as the table in the documentation says', () => {
    const text = readFileSync(new URL('../../docs/sharding.md', import.meta.url), 'utf8');
    const rows = [
      ...text.matchAll(/^\| `(.+?)` \| `([0-9a-f]{8})` \| (\d+) \| (\d+) \| (\d+) \|$/gm),
    ];
    expect(rows.length).toBeGreaterThanOrEqual(8);
    for (const [, key = '', digest = '', of16, of256, of65536] of rows) {
      expect(vectors).toContainEqual([key, digest, Number(of256)]);
      expect(shardOf(key, 16)).toBe(Number(of16));
      expect(shardOf(key)).toBe(Number(of256));
      expect(shardOf(key, 65_536)).toBe(Number(of65536));
    }
  });

  it('names a shard below the shard count for any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
        fc.integer({ min: 0, max: 16 }),
        (key, exponent) => {
          const shard = shardOf(key, 2 ** exponent);
          expect(Number.isInteger(shard) && shard >= 0 && shard < 2 ** exponent).toBe(true);
        },
      ),
    );
  });

  it.each([
    ['', 'key is empty'],
    [1, 'key is not a text'],
    [undefined, 'key is not a text'],
  ])('says what is wrong with a key that is none: %j', (key, problem) => {
    expect(optionError(() => shardOf(key as string)).message).toContain(problem);
  });

  it('spreads 100,000 keys evenly: no shard of 256 is off by more than a third', () => {
    const counts = new Array<number>(256).fill(0);
    for (let index = 0; index < 100_000; index++) {
      const shard = shardOf(`customer-${index}`);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(260);
    expect(Math.max(...counts)).toBeLessThan(520);
  });

  it.each([0, 3, 255, 131_072, 2 ** 32, -256, 1.5, Number.NaN, '256'])(
    'refuses the shard count %j',
    (shardCount) => {
      const error = optionError(() => shardOf('a', shardCount as number));
      expect(error.option).toBe('shardCount');
      expect(error.value).toBe(shardCount);
      expect(error.remedy).toContain('power of two');
    },
  );

  it.each([
    '',
    'x'.repeat(513),
    'ü'.repeat(257),
    '東'.repeat(171),
    'a\ud800b',
    'a\0b',
    '\0',
    '\udc00',
    undefined,
    7,
  ])('refuses the key %j', (key) => {
    const error = optionError(() => shardOf(key as string));
    expect(error.option).toBe('key');
    expect(error.remedy).toContain('512');
  });

  it('accepts exactly 512 bytes in any script', () => {
    for (const key of ['x'.repeat(512), 'ü'.repeat(256), `${'東'.repeat(170)}ab`, '🙂'.repeat(128)])
      expect(shardOf(key)).toBeLessThan(256);
  });
});
