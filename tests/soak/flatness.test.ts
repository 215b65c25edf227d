import { describe, expect, it } from 'vitest';
import { type Course, coursesOf } from './flatness.js';
import type { Sample } from './sample.js';

const MiB = 1024 * 1024;

interface Values {
  readonly heapMiB?: number;
  readonly handles?: number;
  readonly keys?: number;
}

/** Sixty samples, one each minute. */
function samplesOf(at: (minute: number) => Values): Sample[] {
  return Array.from({ length: 60 }, (_, minute) => {
    const { heapMiB = 20, handles = 50, keys } = at(minute);
    return {
      atMs: minute * 60_000,
      usage: {
        ...{ rssBytes: 100 * MiB, heapBytes: heapMiB * MiB },
        ...{ handleCount: handles, fileCount: 30 },
      },
      size: keys === undefined ? undefined : { keyCount: keys, entryCount: keys },
    };
  });
}

function grown(samples: readonly Sample[]): string[] {
  const isGrown = ({ isFlat }: Course) => !isFlat;
  return coursesOf(samples)
    .filter(isGrown)
    .map(({ quantity }) => quantity.name);
}

describe('what is flat', () => {
  it('is what stays as it is, and what only swings', () => {
    expect(grown(samplesOf(() => ({ keys: 900 })))).toEqual([]);
    const swinging = (minute: number) => ({
      heapMiB: 20 + (minute % 5),
      handles: 50 - (minute % 7),
    });
    expect(grown(samplesOf(swinging))).toEqual([]);
  });

  it('is what grew at first and then no more', () => {
    expect(grown(samplesOf((minute) => ({ heapMiB: 10 + Math.min(minute, 25) })))).toEqual([]);
  });

  it('is what shrinks', () => {
    expect(grown(samplesOf((minute) => ({ heapMiB: 100 - minute })))).toEqual([]);
  });

  it.each<[string, string[], (minute: number) => Values]>([
    [
      '200 KiB in a minute',
      ['heap after collection'],
      (minute) => ({ heapMiB: 20 + minute * 0.2 }),
    ],
    ['a timer every two minutes', ['active handles'], (minute) => ({ handles: 50 + minute / 2 })],
    ['four keys in a minute', ['store keys', 'store entries'], (minute) => ({ keys: minute * 4 })],
  ])('is not what gains %s', (_, names, at) => {
    expect(grown(samplesOf(at))).toEqual(names);
  });

  it('says by how much a line through the second half rises', () => {
    const [heap] = coursesOf(samplesOf((minute) => ({ heapMiB: minute * 0.5 })));
    expect(heap).toMatchObject({
      first: 0,
      last: 29.5,
      perHour: expect.closeTo(30),
      isFlat: false,
    });
    expect(heap?.rise).toBeCloseTo(14.5);
  });

  it('has no keys of a store that is in the memory of the process', () => {
    const names = coursesOf(samplesOf(() => ({}))).map(({ quantity }) => quantity.name);
    expect(names).not.toContain('store keys');
  });

  it('cannot be told by a few samples', () => {
    expect(() => coursesOf(samplesOf(() => ({})).slice(0, 7))).toThrow('7 samples are too few');
  });
});
