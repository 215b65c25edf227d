import { describe, expect, it } from 'vitest';
import { etcdPromises } from '../../src/coordinators/etcd/promises.js';
import { redisPromises } from '../../src/coordinators/redis/promises.js';
import { type CommonFacts, checksEverywhere } from '../../src/doctor/everywhere.js';
import { sound } from '../../src/doctor/soundings.js';
import { isLoopback } from '../../src/doctor/way.js';
import { VirtualRuntime } from '../../src/testing.js';
import { describeVerdicts } from './verdicts.js';

const way = {
  ...{ host: 'store.internal', isTls: false, isLocal: false, hasPassword: true },
  tlsRemedy: 'say rediss',
};
const soundings = { count: 9, medianMs: 1, worstMs: 2 };
const clock = (offsetMs: number) => ({
  soundings: { ...soundings, clock: { offsetMs, uncertaintyMs: 2 } },
});
const facts = (other: Partial<CommonFacts>): CommonFacts => {
  return { promises: redisPromises, soundings, way, ...other };
};
const trip = (medianMs: number, worstMs: number) => {
  return facts({ soundings: { count: 9, medianMs, worstMs } });
};
/** Without one: PostgreSQL's and Redis' clocks judge expiry, etcd's does not. */
const withoutWallClock = etcdPromises;

describeVerdicts('what is looked at on every store', checksEverywhere, [
  { id: 'ttl', verdict: 'ok', facts: facts({}) },
  {
    ...{ id: 'ttl', verdict: 'critical', ttlMs: 61_000, says: 'to 60 s is granted' },
    facts: facts({ promises: { ...redisPromises, largestTtlMs: 60_000 } }),
  },
  {
    ...{ id: 'ttl', verdict: 'critical', ttlMs: 500, says: '500 ms is asked for' },
    facts: facts({ promises: { ...redisPromises, smallestTtlMs: 1_000 } }),
  },
  { id: 'round-trip', verdict: 'ok', facts: trip(1, 1_249) },
  { id: 'round-trip', verdict: 'warning', facts: trip(1, 1_250), says: 'a renewal has 2.5 s' },
  { id: 'round-trip', verdict: 'warning', facts: trip(2_499, 2_600) },
  { id: 'round-trip', verdict: 'critical', facts: trip(2_500, 2_600) },
  { id: 'round-trip', verdict: 'critical', facts: trip(9, 10), ttlMs: 100, says: '8.3 ms' },
  { id: 'round-trip', verdict: undefined, facts: { promises: redisPromises } },
  { id: 'clock-offset', verdict: 'ok', facts: facts(clock(-501)), says: 'behind' },
  { id: 'clock-offset', verdict: 'warning', facts: facts(clock(503)), says: 'ahead of' },
  { id: 'clock-offset', verdict: 'warning', facts: facts(clock(-30_001)) },
  { id: 'clock-offset', verdict: 'critical', facts: facts(clock(-30_002)) },
  {
    ...{ id: 'clock-offset', verdict: 'warning', says: '3 h' },
    facts: facts({ ...clock(3 * 3_600_000), promises: withoutWallClock }),
  } as const,
  { id: 'clock-offset', verdict: undefined, facts: facts({}) },
  { id: 'tls', verdict: 'ok', facts: facts({ way: { ...way, isTls: true } }), says: 'encrypted' },
  { id: 'tls', verdict: 'ok', facts: facts({ way: { ...way, isLocal: true } }) },
  { id: 'tls', verdict: 'warning', facts: facts({}), says: 'the password as well' },
  { id: 'tls', verdict: 'warning', facts: facts({ way: { ...way, hasPassword: false } }) },
  { id: 'tls', verdict: undefined, facts: { promises: redisPromises } },
]);

describe('a ttl that the worst answer asks for', () => {
  it('is one under which that answer is no worry any more', () => {
    const [check] = checksEverywhere.filter(({ id }) => id === 'round-trip');
    const slow = trip(2_000, 4_000);
    const purpose = { namespace: 'default', ttlMs: 30_000 };
    const [, needed] = /at least (\d+) s/.exec(check?.judge(slow, purpose)?.remedy ?? '') ?? [];
    expect(check?.judge(slow, { ...purpose, ttlMs: Number(needed) * 1_000 })?.severity).toBe('ok');
  });
});

describe('soundings', () => {
  it('tell the offset by the quickest answer, and how far off it may be', async () => {
    const runtime = new VirtualRuntime();
    const tripsMs = [40, 10, 300, 20, 30, 40, 50, 60, 70];
    const soundings = await sound(runtime, async () => {
      const tripMs = tripsMs.shift() ?? 0;
      // The clock there is read when half of the way is done, and slow answers come from a queue behind it.
      await runtime.advance(tripMs / 2);
      const toldMs = runtime.now().wallMs + 5_000 + (tripMs > 10 ? tripMs / 4 : 0);
      await runtime.advance(tripMs / 2);
      return toldMs;
    });
    expect(soundings).toMatchObject({ count: 9, medianMs: 40, worstMs: 300 });
    expect(soundings.clock).toEqual({ offsetMs: 5_000, uncertaintyMs: 6 });
  });

  it('know the way alone where no time is told', async () => {
    const soundings = await sound(new VirtualRuntime(), async () => undefined);
    expect(soundings).toEqual({ count: 9, medianMs: 0, worstMs: 0 });
  });
});

it.each([
  ['localhost', true],
  ['db.localhost', true],
  ['127.0.0.1', true],
  ['127.9.8.7', true],
  ['::1', true],
  ['0:0:0:0:0:0:0:1', true],
  ['10.0.0.1', false],
  ['127.0.0.1.example.org', false],
  ['localhost.example.org', false],
  ['::2', false],
])('%s is this machine: %s', (host, isLocal) => {
  expect(isLoopback(host)).toBe(isLocal);
});
