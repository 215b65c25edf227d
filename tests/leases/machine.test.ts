import { describe, expect, it } from 'vitest';
import {
  type LeaseEvent,
  type LeaseLife,
  type LeaseState,
  look,
  remainingMs,
  step,
} from '../../src/leases/machine.js';
import type { Instant } from '../../src/time/index.js';

const at = (ms: number, wallStepMs = 0, suspendedMs = 0): Instant => ({
  monotonicMs: ms,
  uptimeMs: ms + suspendedMs,
  wallMs: 1_000_000 + ms + suspendedMs + wallStepMs,
});

const held: LeaseLife = {
  state: 'held',
  anchor: at(0),
  heldForMs: 20_000,
  acquiredAt: at(0),
  maxHoldMs: Number.POSITIVE_INFINITY,
  wallToleranceMs: 1_000,
  doubt: undefined,
  endReason: undefined,
};
const uncertain: LeaseLife = {
  ...held,
  state: 'uncertain',
  doubt: { since: at(10_000), cause: 'renewal-failed' },
};
const lost: LeaseLife = { ...held, state: 'lost', endReason: 'expired' };
const released: LeaseLife = { ...held, state: 'released', endReason: 'released' };
const lives: Record<LeaseState, LeaseLife> = { held, uncertain, lost, released };

const now = at(12_000);
const events = {
  renewed: { type: 'renewed', sentAt: at(11_990) },
  'renewal-failed': { type: 'renewal-failed' },
  'connection-lost': { type: 'connection-lost' },
  'clock-stepped': { type: 'clock-stepped' },
  'deadline-passed': { type: 'deadline-passed' },
  'max-hold-passed': { type: 'max-hold-passed' },
  'not-yours': { type: 'not-yours', reason: 'superseded' },
  ended: { type: 'ended', reason: 'revoked' },
  released: { type: 'released', reason: 'handed-off' },
} as const satisfies { [Type in LeaseEvent['type']]: Extract<LeaseEvent, { type: Type }> };

type Cell = `${LeaseState}${'' | ` ${string}`}`;

/** The table of ARCHITECTURE.md: what each state becomes by each event. */
const table: Record<LeaseState, Record<keyof typeof events, Cell>> = {
  held: {
    renewed: 'held',
    'renewal-failed': 'uncertain renewal-failed',
    'connection-lost': 'uncertain connection-lost',
    'clock-stepped': 'uncertain clock-stepped',
    'deadline-passed': 'lost expired',
    'max-hold-passed': 'lost max-hold',
    'not-yours': 'lost superseded',
    ended: 'lost revoked',
    released: 'released handed-off',
  },
  uncertain: {
    renewed: 'held',
    'renewal-failed': 'uncertain renewal-failed',
    'connection-lost': 'uncertain connection-lost',
    'clock-stepped': 'uncertain clock-stepped',
    'deadline-passed': 'lost unreachable',
    'max-hold-passed': 'lost max-hold',
    'not-yours': 'lost superseded',
    ended: 'lost revoked',
    released: 'released handed-off',
  },
  lost: {
    renewed: 'lost expired',
    'renewal-failed': 'lost expired',
    'connection-lost': 'lost expired',
    'clock-stepped': 'lost expired',
    'deadline-passed': 'lost expired',
    'max-hold-passed': 'lost expired',
    'not-yours': 'lost expired',
    ended: 'lost expired',
    released: 'lost expired',
  },
  released: {
    renewed: 'released released',
    'renewal-failed': 'released released',
    'connection-lost': 'released released',
    'clock-stepped': 'released released',
    'deadline-passed': 'released released',
    'max-hold-passed': 'released released',
    'not-yours': 'released released',
    ended: 'released released',
    released: 'released released',
  },
};

const describeLife = (life: LeaseLife) =>
  [life.state, life.doubt?.cause ?? life.endReason].filter((word) => word !== undefined).join(' ');

describe('the table of states and events', () => {
  for (const [state, row] of Object.entries(table)) {
    for (const [type, expected] of Object.entries(row)) {
      it(`${state} + ${type} becomes ${expected}`, () => {
        const next = step(lives[state as LeaseState], events[type as keyof typeof events], now);
        expect(describeLife(next)).toBe(expected);
      });
    }
  }
});

describe('a renewal', () => {
  it('moves the deadline to two thirds of the ttl after it was sent, not after it was answered', () => {
    const next = step(held, { type: 'renewed', sentAt: at(10_000) }, at(12_000));
    expect(remainingMs(next, at(12_000))).toBe(18_000);
  });

  it('never moves the deadline back, when replies arrive out of order', () => {
    const later = step(held, { type: 'renewed', sentAt: at(11_000) }, at(11_100));
    const earlier = step(later, { type: 'renewed', sentAt: at(10_000) }, at(11_200));
    expect(earlier.anchor).toEqual(at(11_000));
  });

  it('extends an uncertain lease but does not clear the doubt if it was sent before the doubt arose', () => {
    const next = step(uncertain, { type: 'renewed', sentAt: at(9_000) }, at(10_100));
    expect(next.state).toBe('uncertain');
    expect(next.anchor).toEqual(at(9_000));
  });

  it('that arrives after the deadline is ignored, although no timer has run', () => {
    const next = step(held, { type: 'renewed', sentAt: at(19_000) }, at(20_000));
    expect(describeLife(next)).toBe('lost expired');
  });
});

describe('the clock', () => {
  it('ends a held lease at its deadline and not before', () => {
    expect(look(held, at(19_999)).state).toBe('held');
    expect(describeLife(look(held, at(20_000)))).toBe('lost expired');
  });

  it('counts time the machine was suspended', () => {
    expect(describeLife(look(held, at(1_000, 0, 19_000)))).toBe('lost expired');
    expect(look(held, at(1_000, 0, 18_000)).state).toBe('held');
  });

  it.each([3_600_000, -3_600_000])(
    'stepped by %d ms makes the lease uncertain and leaves its deadline',
    (stepMs) => {
      const next = look(held, at(5_000, stepMs));
      expect(describeLife(next)).toBe('uncertain clock-stepped');
      expect(remainingMs(next, at(5_000, stepMs))).toBe(15_000);
    },
  );

  it('stepped once is one anomaly: a renewal sent after it clears the doubt for good', () => {
    const stepped = look(held, at(5_000, 3_600_000));
    const renewed = step(
      stepped,
      { type: 'renewed', sentAt: at(5_010, 3_600_000) },
      at(5_020, 3_600_000),
    );
    expect(renewed.state).toBe('held');
    expect(look(renewed, at(9_000, 3_600_000)).state).toBe('held');
  });

  it('stepped a second time while uncertain needs a renewal sent after the second step', () => {
    const first = look(held, at(5_000, 3_600_000));
    const second = look(first, at(6_000, 0));
    const renewed = step(second, { type: 'renewed', sentAt: at(5_500, 3_600_000) }, at(6_100, 0));
    expect(renewed.state).toBe('uncertain');
  });

  it('that drifts within the tolerance changes nothing', () => {
    expect(look(held, at(5_000, 900)).state).toBe('held');
  });

  it('leaves nothing remaining of a lease that ended', () => {
    expect(remainingMs(lost, at(1))).toBe(0);
    expect(remainingMs(released, at(1))).toBe(0);
  });
});

describe('the longest time a lease may be held', () => {
  /** Acquired at 0, renewed ever since. */
  const renewedAt = (ms: number): LeaseLife => ({ ...held, anchor: at(ms), maxHoldMs: 60_000 });

  it('ends it by the clock alone, at that time and not before, however well it is renewed', () => {
    expect(look(renewedAt(59_000), at(59_999)).state).toBe('held');
    expect(describeLife(look(renewedAt(59_000), at(60_000)))).toBe('lost max-hold');
    const renewed = step(renewedAt(50_000), { type: 'renewed', sentAt: at(60_000) }, at(60_001));
    expect(describeLife(renewed)).toBe('lost max-hold');
  });

  it('counts time the machine was suspended', () => {
    expect(describeLife(look(renewedAt(50_000), at(55_000, 0, 5_000)))).toBe('lost max-hold');
  });

  it('ends an uncertain lease too', () => {
    const life = { ...uncertain, maxHoldMs: 15_000 };
    expect(describeLife(look(life, at(15_000)))).toBe('lost max-hold');
  });

  it('is the reason after a long freeze only if it passed before the deadline did', () => {
    const frozenUntil = at(500_000);
    expect(describeLife(look(renewedAt(41_000), frozenUntil))).toBe('lost max-hold');
    expect(describeLife(look(renewedAt(40_000), frozenUntil))).toBe('lost max-hold');
    expect(describeLife(look(renewedAt(39_000), frozenUntil))).toBe('lost expired');
  });

  it('bounds what remains', () => {
    expect(remainingMs(renewedAt(30_000), at(35_000))).toBe(15_000);
    expect(remainingMs(renewedAt(50_000), at(55_000))).toBe(5_000);
  });
});
