import { describe, expect, it } from 'vitest';
import { type HeldRecord, Holder, type LeaseRecord } from '../../src/coordinators/index.js';
import { endsInMs, freeInMs } from '../../src/coordinators/remaining.js';

const held: HeldRecord = {
  state: 'held',
  name: 'payments',
  holder: new Holder('a', 'a'.repeat(32)),
  term: 1,
  leaseId: 'one',
  ttlMs: 6_000,
  remainingMs: 4_000,
  grantedAtMs: 0,
  renewedAtMs: 0,
  metadata: undefined,
  graceMs: 30_000,
  revocation: undefined,
};
const suspension = { by: 'x', reason: 'y', atMs: 0 };
const suspended = { state: 'suspended', name: 'payments', suspension } as const;

describe('what stands under a name', () => {
  it.each<[string, LeaseRecord, number, number]>([
    ['held, with a lock-delay to follow', held, 4_000, 34_000],
    [
      'reserved',
      { state: 'reserved', name: 'payments', to: 'b', term: 1, remainingMs: 900 },
      900,
      900,
    ],
    [
      'in its lock-delay',
      { state: 'lock-delay', name: 'payments', term: 1, remainingMs: 20 },
      20,
      20,
    ],
    ['suspended', { ...suspended, ending: undefined }, Infinity, Infinity],
    ['suspended, with a term that ends', { ...suspended, ending: held }, 4_000, Infinity],
  ])('and is %s ends by itself, and leaves the name free, after what it says', (...row) => {
    const [, record, endMs, freeMs] = row;
    expect(endsInMs(record)).toBe(endMs);
    expect(freeInMs(record)).toBe(freeMs);
  });
});
