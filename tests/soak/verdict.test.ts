import { describe, expect, it } from 'vitest';
import { coursesOf } from './flatness.js';
import type { SoakReport } from './run.js';
import { headlineOf, isGood, verdictOf } from './verdict.js';

function reportOf(heapGrowth: number): SoakReport {
  const samples = Array.from({ length: 20 }, (_, minute) => ({
    atMs: minute * 60_000,
    usage: {
      ...{ rssBytes: 1e8, heapBytes: 2e7 + heapGrowth * minute },
      ...{ handleCount: 50, fileCount: 30 },
    },
    size: { keyCount: 100, entryCount: 200 },
  }));
  return {
    ...{ store: 'redis', durationMs: 1_200_000, leak: undefined, samples },
    courses: coursesOf(samples),
    counts: { leases: 3_000, handled: 6_000 },
    ...{ troubles: [], disorders: [], end: 0 },
  };
}

describe('a soak', () => {
  it('is good if everything is flat, and says what was done and how it went', () => {
    const report = reportOf(0);
    expect(isGood(report)).toBe(true);
    expect(headlineOf(report)).toBe('redis: flat');
    const text = verdictOf(report);
    expect(text).toContain('19.0 minutes, 20 samples. Done: leases 3000, handled 6000.');
    expect(text).toContain('| store keys | 100 | 100 | 100 | 0.0 | 0.0 | 60.0 | flat |');
  });

  it('is bad if something grows, and names it', () => {
    const report = reportOf(1e6);
    expect(isGood(report)).toBe(false);
    expect(headlineOf(report)).toBe('redis: grows: heap after collection');
    expect(verdictOf(report)).toContain('**grows**');
  });

  it('is bad if a message came out of order, however flat it is', () => {
    const report = { ...reportOf(0), disorders: ['7 of key-1 came after 5'] };
    expect(isGood(report)).toBe(false);
    expect(verdictOf(report)).toContain('- 7 of key-1 came after 5');
  });
});
