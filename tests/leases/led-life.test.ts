import { describe, expect, it } from 'vitest';
import type { EndReason } from '../../src/leases/end-reason.js';
import { decodeLife, encodeLife, follow, type LedLife } from '../../src/leases/led-life.js';
import type { LeaseLife } from '../../src/leases/machine.js';
import type { Instant } from '../../src/time/index.js';

const at = (ms: number, wallStepMs = 0): Instant => ({
  monotonicMs: ms,
  uptimeMs: ms,
  wallMs: 1_000_000 + ms + wallStepMs,
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
const renewed: LedLife = { anchor: at(95_000), doubt: undefined, endReason: undefined };

describe('a life that another thread leads', () => {
  it('goes on from its newest anchor, although the one known here is past its deadline', () => {
    expect(follow(held, renewed, at(100_000))).toEqual({ ...held, anchor: at(95_000) });
  });

  it('is lost if that anchor too is past its deadline', () => {
    const life = follow(held, renewed, at(115_000));
    expect([life.state, life.endReason]).toEqual(['lost', 'expired']);
  });

  it('never goes back to an older anchor', () => {
    const life = follow({ ...held, anchor: at(99_000) }, renewed, at(100_000));
    expect(life.anchor).toEqual(at(99_000));
  });

  it.each<EndReason>(['stalled', 'unreachable', 'expired', 'superseded', 'revoked', 'max-hold'])(
    'has ended as %s if it has there',
    (endReason) => {
      const life = follow(held, { ...renewed, endReason }, at(100_000));
      expect([life.state, life.endReason, life.doubt]).toEqual(['lost', endReason, undefined]);
    },
  );

  it('stays as it ended here', () => {
    const lost: LeaseLife = { ...held, state: 'lost', endReason: 'superseded' };
    expect(follow(lost, renewed, at(100_000))).toBe(lost);
    const released: LeaseLife = { ...held, state: 'released', endReason: 'released' };
    expect(follow(released, { ...renewed, endReason: 'stalled' }, at(100_000))).toBe(released);
  });

  it('is in doubt since when the doubt arose there, so that what clears it there clears it here', () => {
    const doubt = { cause: 'renewal-failed', since: at(98_000) } as const;
    const uncertain = follow(held, { ...renewed, doubt }, at(100_000));
    expect([uncertain.state, uncertain.doubt]).toEqual(['uncertain', doubt]);
    const cleared = follow(uncertain, { ...renewed, anchor: at(98_000) }, at(100_100));
    expect(cleared.state).toBe('held');
  });

  it('keeps a doubt of this thread until a renewal was sent after it', () => {
    const doubt = { cause: 'clock-stepped', since: at(96_000, 5_000) } as const;
    const uncertain: LeaseLife = { ...held, anchor: at(90_000), state: 'uncertain', doubt };
    expect(follow(uncertain, renewed, at(97_000, 5_000)).state).toBe('uncertain');
    const anchor = at(96_500, 5_000);
    expect(follow(uncertain, { ...renewed, anchor }, at(97_000, 5_000)).state).toBe('held');
  });

  it('does not begin the same doubt anew', () => {
    const doubt = { cause: 'connection-lost', since: at(98_000) } as const;
    const uncertain: LeaseLife = { ...held, anchor: at(90_000), state: 'uncertain', doubt };
    const heard = follow(uncertain, { ...renewed, doubt: { ...doubt } }, at(100_000));
    expect(heard.doubt).toBe(doubt);
  });

  it('crosses shared memory unchanged', () => {
    const lives: LedLife[] = [
      renewed,
      { ...renewed, doubt: { cause: 'clock-stepped', since: at(1.25, -7) } },
      { ...renewed, endReason: 'shutdown' },
      { ...renewed, endReason: 'expired' },
    ];
    for (const life of lives) expect(decodeLife(encodeLife(life))).toEqual(life);
  });
});
