import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memberLeaseName, shardLeaseName } from '../../src/shards/index.js';
import { type FleetFixture as Fleet, FleetFixture, type FleetProcess, group } from './fixture.js';

const ttlMs = 30_000;

describe('the shards of a worker that is gone', () => {
  let fleet: Fleet;

  beforeEach(() => {
    fleet = new FleetFixture(7);
  });

  afterEach(async () => {
    await fleet.close();
    expect(fleet.runtime.pendingTimerCount).toBe(0);
  });

  async function expiryOf(process: FleetProcess): Promise<number> {
    const shard = process.worker.owned[0]?.shard ?? 0;
    const reading = fleet.observer.read([shardLeaseName(group, shard)], { timeoutMs: 1000 });
    await fleet.runtime.settle();
    const [record] = await reading;
    return record?.state === 'held' ? record.remainingMs : 0;
  }

  it.each([
    { wakes: 'with wakes', areLost: false },
    { wakes: 'without any wake', areLost: true },
  ])('are owned again 250 ms after the store let them expire, $wakes', async ({ areLost }) => {
    const [a, b, c] = await fleet.start('a', 'b', 'c');
    if (areLost)
      for (const { link } of [b, c]) link.disturb('reply', 'drop', { operation: 'watch' });
    await fleet.runtime.advance(25_000);
    const lostTerms = new Map(a.worker.owned.map(({ shard, term }) => [shard, term]));
    const remainingMs = await expiryOf(a);
    a.crash();
    await fleet.runtime.advance(remainingMs - 1);
    expect(Object.keys(await fleet.ownedCounts())).toContain('a');
    await fleet.runtime.advance(251);
    expect(await fleet.ownedCounts()).toEqual({ b: 128, c: 128 });
    const takeovers = [...b.events.takenOver, ...c.events.takenOver];
    expect(takeovers).toHaveLength(86);
    for (const { shard, term, previousOwner, previousTerm, gapMs } of takeovers) {
      expect(previousOwner).toBe('a');
      expect(previousTerm).toBe(lostTerms.get(shard));
      expect(term).toBeGreaterThan(previousTerm);
      expect(gapMs).toBeLessThan(250);
    }
    // What they had before stayed where it was.
    expect(b.events.handedOff.length + c.events.handedOff.length).toBe(43);
  });

  it('are left alone until they expire, although their owner is no member any more', async () => {
    const [a, b] = await fleet.start('a', 'b');
    a.crash();
    fleet.store.deleteRecord(memberLeaseName(group, 'a'));
    b.calls.clear();
    await fleet.runtime.advance(20_000);
    expect(b.events.planned.at(-1)).toMatchObject({ members: ['b'], quotaCount: 256 });
    expect(b.calls.get('acquire')).toBeUndefined();
    await fleet.runtime.advance(12_000);
    expect(await fleet.ownedCounts()).toEqual({ b: 256 });
  });

  it('are dropped by the worker itself when it wakes after a freeze, and it joins again as a new member', async () => {
    const [a, b] = await fleet.start('a', 'b');
    a.freeze();
    await fleet.runtime.advance(ttlMs + 1000);
    expect(await fleet.ownedCounts()).toEqual({ b: 256 });
    // By the clock it owns nothing, before any of its timers has fired.
    expect(a.worker.owned).toEqual([]);
    a.thaw();
    await fleet.runtime.settle();
    expect(a.work.dropped).toHaveLength(128);
    expect(a.events.lost).toHaveLength(128);
    expect(new Set(a.events.lost.map(({ reason }) => reason))).toEqual(new Set(['expired']));
    await fleet.runtime.advance(2000);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    expect(fleet.misplaced()).toEqual([]);
    expect(b.events.handedOff).toHaveLength(128);
  });

  it('are given up by a worker that cannot reach the store, before anybody else can have them', async () => {
    const [a, b] = await fleet.start('a', 'b');
    await fleet.runtime.advance(15_000);
    a.link.cut();
    for (let elapsedMs = 0; elapsedMs < ttlMs + 1000; elapsedMs += 100) {
      await fleet.runtime.advance(100);
      for (const shard of b.work.active.keys()) expect(a.work.active.has(shard)).toBe(false);
    }
    expect(a.work.active.size).toBe(0);
    expect(b.work.active.size).toBe(256);
    expect(a.events.error.length).toBeGreaterThan(3);
    expect(a.events.error.length).toBeLessThan(30);
    a.link.heal();
    await fleet.runtime.advance(10_000);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
  });

  it('are not touched by a short outage', async () => {
    const [a, b] = await fleet.start('a', 'b');
    const before = await fleet.owners();
    for (const { link } of [a, b]) link.hang();
    await fleet.runtime.advance(8000);
    for (const { link } of [a, b]) link.heal();
    await fleet.runtime.advance(60_000);
    expect(await fleet.owners()).toEqual(before);
    expect([...a.events.lost, ...b.events.lost]).toEqual([]);
  });

  it('are reserved for a successor that is gone only as long as the reservation lasts', async () => {
    const [a, b] = await fleet.start('a', 'b');
    b.crash();
    const stopping = a.worker.stop();
    await fleet.runtime.advanceUntil(stopping);
    expect(a.events.handedOff.length).toBeGreaterThan(0);
    fleet.store.deleteRecord(memberLeaseName(group, 'b'));
    const [c] = await fleet.start('c');
    await fleet.runtime.advance(3000);
    // One for the member, one for the bell: nothing that cannot be had is asked for.
    expect(c.calls.get('acquire')).toBe(2);
    await fleet.runtime.advance(ttlMs);
    expect(await fleet.ownedCounts()).toEqual({ c: 256 });
    expect(c.work.active.size).toBe(256);
  });

  it('are not waited for until they expire if only the request that gave them back was lost', async () => {
    const [a] = await fleet.start('a');
    a.link.disturb('request', 'drop', { operation: 'handoff', count: 1 });
    const [b] = await fleet.start('b');
    await fleet.runtime.advance(12_000);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    expect(a.events.released).toHaveLength(128);
    expect(a.events.released[0]?.why).toBe('handoff-unconfirmed');
    expect(b.events.takenOver).toEqual([]);
  });

  it('are found by the store to be somebody else’s: the worker drops them at once', async () => {
    const [a] = await fleet.start('a');
    const lease = a.worker.owned[3]?.lease;
    lease?.supersede();
    expect(a.work.dropped).toEqual([3]);
    expect(a.events.lost).toEqual([expect.objectContaining({ shard: 3, reason: 'superseded' })]);
    await fleet.runtime.advance(ttlMs + 1000);
    expect(a.worker.owned).toHaveLength(256);
  });
});
