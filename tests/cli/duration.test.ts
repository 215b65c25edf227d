import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration, sayDuration, writeDuration } from '../../src/cli/duration.js';

describe('a duration', () => {
  it.each([
    ['0s', 0],
    ['1ms', 1],
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5s', 1_500],
    ['0.1m', 6_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['24h', 86_400_000],
  ])('is read from %s', (text, durationMs) => {
    expect(parseDuration(text, '--ttl')).toBe(durationMs);
  });

  it.each([
    '',
    '30',
    's',
    '-1s',
    '30 s',
    ' 30s',
    '30S',
    '30sec',
    '1h30m',
    '1e3s',
    '0x10s',
    '.5s',
    '5.s',
    'Infinitys',
    '1w',
    '30s\n',
    'constructors',
  ])('is not %j, and the message says how one is written', (text) => {
    expect(() => parseDuration(text, '--ttl')).toThrow(
      /^--ttl is not a duration .*: use a number and its unit, such as 500ms, 30s, 2m, 1h or 1d$/,
    );
  });

  it('is a whole number of milliseconds', () => {
    expect(() => parseDuration('0.5ms', 'TENURE_TTL')).toThrow('TENURE_TTL is finer than');
  });

  it('lies within its limits, both included', () => {
    const limits = { smallestMs: 100, largestMs: 60_000 };
    expect(parseDuration('100ms', '--ttl', limits)).toBe(100);
    expect(parseDuration('1m', '--ttl', limits)).toBe(60_000);
    for (const text of ['99ms', '61s', '999999999999999h'])
      expect(() => parseDuration(text, '--ttl', limits)).toThrow('use 100ms to 1m');
    expect(() => parseDuration('25h', '--ttl')).toThrow('use 0s to 24h');
  });

  it('is written as it is read', () => {
    void fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400_000 }), (durationMs) => {
        expect(parseDuration(writeDuration(durationMs), '--ttl')).toBe(durationMs);
      }),
    );
  });

  it.each([
    [0, '0.0 s'],
    [-5, '0.0 s'],
    [449, '0.4 s'],
    [59_999, '59.9 s'],
    [60_000, '1 m'],
    [200_999, '3 m 20 s'],
    [3_600_000, '1 h'],
    [3_659_000, '1 h'],
    [97_200_000, '1 d 3 h'],
  ])('of %d ms is said as %s', (durationMs, said) => {
    expect(sayDuration(durationMs)).toBe(said);
  });
});
