import { describe, expect, it } from 'vitest';
import { type PastTerm, Pauses } from '../../src/elections/pause.js';
import type { EndReason } from '../../src/leases/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

function pausesAfter(...past: PastTerm[]): number[] {
  const pauses = new Pauses(new VirtualRuntime({ seed: 1 }));
  return past.map((term) => pauses.afterMs(term));
}

const heldMs = 10;
const four = (term: PastTerm) => [term, term, term, term];

function expectGrowing(pausesMs: readonly number[]): void {
  for (const [index, pauseMs] of pausesMs.entries()) {
    expect(pauseMs).toBeGreaterThanOrEqual(500 * 2 ** index);
    expect(pauseMs).toBeLessThanOrEqual(1_000 * 2 ** index);
  }
}

describe('the pause after a term', () => {
  it.each<EndReason>(['expired', 'unreachable'])(
    'is none if it was %s: the store makes its holder wait',
    (reason) => expect(pausesAfter(...four({ reason, heldMs }))).toEqual([0, 0, 0, 0]),
  );

  it.each<EndReason>([
    'revoked',
    'stalled',
    'max-hold',
    'vanished',
    'released',
    'handed-off',
    'shutdown',
  ])('is short, time and again, if it was %s', (reason) => {
    for (const pauseMs of pausesAfter(...four({ reason, heldMs }))) {
      expect(pauseMs).toBeGreaterThanOrEqual(500);
      expect(pauseMs).toBeLessThanOrEqual(1_000);
    }
  });

  it('grows if it was superseded: a fence would refuse the next one too', () => {
    expectGrowing(pausesAfter(...four({ reason: 'superseded', heldMs })));
  });

  it('grows if its work failed, however its lease ended', () => {
    expectGrowing(pausesAfter(...four({ reason: 'released', heldMs, failed: true })));
  });

  it('is short again after a term that was held for longer than the longest pause', () => {
    const failed = { reason: 'released', heldMs, failed: true } as const;
    expect(pausesAfter(failed, failed, { ...failed, heldMs: 60_001 }).at(-1)).toBeLessThanOrEqual(
      1_000,
    );
    expect(pausesAfter(failed, failed, { ...failed, heldMs: 60_000 }).at(-1)).toBeGreaterThan(
      1_000,
    );
  });
});
