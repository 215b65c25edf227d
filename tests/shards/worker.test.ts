import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FleetFixture, group, numbersOf } from './fixture.js';

const hourMs = 3_600_000;

describe('a fleet of shard workers', () => {
  let fleet: FleetFixture;

  beforeEach(() => {
    fleet = new FleetFixture();
  });

  afterEach(async () => {
    await fleet.close();
    expect(fleet.runtime.pendingTimerCount).toBe(0);
  });

  it('has one worker own all 256 shards', async () => {
    const [a] = await fleet.start('a');
    expect(numbersOf(a.worker.owned)).toEqual([...Array(256).keys()]);
    expect(a.worker.owned.every(({ term, lease }) => term === lease.term)).toBe(true);
    expect(a.work.beginCount).toBe(1);
    expect(a.events.claimed.map(({ shards }) => shards.length)).toEqual([256]);
    expect(a.events.takenOver).toEqual([]);
    expect(await fleet.ownedCounts()).toEqual({ a: 256 });
    expect(fleet.misplaced()).toEqual([]);
  });

  it('moves exactly 128 shards to a second worker, without waiting for a sweep or an expiry', async () => {
    const [a, b] = await fleet.start('a', 'b');
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    expect(a.events.handedOff).toHaveLength(128);
    expect(a.events.handedOff.every(({ to }) => to === 'b')).toBe(true);
    expect(fleet.misplaced()).toEqual([]);
    expect(b.events.takenOver).toEqual([]);
    expect([...a.events.error, ...b.events.error]).toEqual([]);
  });

  it('hands 128 shards off in one request and claims them in one or two', async () => {
    const [a, b] = await fleet.start('a', 'b');
    expect(a.calls.get('handoff')).toBe(1);
    expect(b.events.claimed.length).toBeLessThanOrEqual(2);
  });

  it('claims a shard that is handed to it before it looks at the fleet', async () => {
    const [a, b] = await fleet.start('a', 'b');
    b.link.disturb('reply', 'hold', { operation: 'list' });
    const handingOff = a.worker.owned[0]?.lease.handoff('b');
    await fleet.runtime.advanceUntil(Promise.resolve(handingOff));
    await fleet.runtime.advance(1);
    expect(b.worker.owned).toHaveLength(129);
    b.link.heal();
    b.link.flush();
  });

  it('does not look again because of what it handed off itself', async () => {
    const [a, b] = await fleet.start('a', 'b');
    b.work.onDrain = async () => {};
    await fleet.runtime.advance(3000);
    const before = [a.events.planned.length, b.events.planned.length];
    // One too many at b: it hands one back.
    const handingOff = a.worker.owned[0]?.lease.handoff('b');
    await fleet.runtime.advanceUntil(Promise.resolve(handingOff));
    await fleet.runtime.advance(300);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    expect(b.events.handedOff).toHaveLength(1);
    expect(b.events.planned.length - (before[1] ?? 0)).toBe(1);
  });

  it('looks again for a shard it once handed off, even if it never heard of that', async () => {
    const a = fleet.process('a');
    a.link.disturb('reply', 'drop', { operation: 'watch' });
    await fleet.runtime.advanceUntil(a.worker.start());
    const [b] = await fleet.start('b');
    await fleet.runtime.advance(20_000);
    a.link.heal();
    const shard = b.worker.owned[0]?.shard;
    const handingOff = b.worker.owned[0]?.lease.handoff('a');
    await fleet.runtime.advanceUntil(Promise.resolve(handingOff));
    await fleet.runtime.advance(10);
    expect(a.events.claimed.flatMap(({ shards }) => numbersOf(shards)).at(-1)).toBe(shard);
  });

  it('gives a higher term to every later owner of a shard', async () => {
    const [a, b] = await fleet.start('a', 'b');
    const before = new Map(a.events.handedOff.map(({ shard, term }) => [shard, term]));
    for (const { shard, term } of b.worker.owned)
      expect(term).toBeGreaterThan(before.get(shard) ?? 0);
  });

  it('moves exactly 85 shards to a third worker, and none between the other two', async () => {
    const [a, b, c] = await fleet.start('a', 'b', 'c');
    expect(await fleet.ownedCounts()).toEqual({ a: 86, b: 85, c: 85 });
    expect(a.events.handedOff).toHaveLength(128 + 42);
    expect(b.events.handedOff).toHaveLength(43);
    expect(c.events.handedOff).toHaveLength(0);
    expect(fleet.misplaced()).toEqual([]);
  });

  it('moves nothing in a settled fleet for an hour, at half a request a second', async () => {
    const shardCount = 64;
    const processes = ['a', 'b', 'c'].map((id) => fleet.process(id, { worker: { shardCount } }));
    await fleet.runtime.advanceUntil(Promise.all(processes.map(({ worker }) => worker.start())));
    await fleet.runtime.advance(10_000);
    const before = await fleet.owners(shardCount);
    const terms = processes.map(({ worker }) => worker.owned.map(({ term }) => term));
    for (const { calls } of processes) calls.clear();
    await fleet.runtime.advance(hourMs);
    expect(await fleet.owners(shardCount)).toEqual(before);
    expect(processes.map(({ worker }) => worker.owned.map(({ term }) => term))).toEqual(terms);
    for (const { calls, events } of processes) {
      const callCount = [...calls.values()].reduce((sum, count) => sum + count, 0);
      expect(callCount / (hourMs / 1000)).toBeLessThan(0.55);
      expect(events.error).toEqual([]);
    }
  }, 60_000);

  it('renews the member and all shards of a worker in one request', async () => {
    const [a] = await fleet.start('a');
    await fleet.runtime.advance(20_000);
    const reports: number[] = [];
    a.leases.events.on('renewal', ({ leaseCount }) => reports.push(leaseCount));
    await fleet.runtime.advance(60_000);
    expect(new Set(reports)).toEqual(new Set([257]));
    expect(reports.length).toBeLessThanOrEqual(7);
  });

  it('makes one or two plans of 256 wakes in one moment', async () => {
    const [a] = await fleet.start('a');
    await fleet.runtime.advance(2000);
    const before = a.events.planned.length;
    for (let shard = 0; shard < 256; shard++) fleet.store.vacated(`${group}/shards/${shard}`);
    await fleet.runtime.advance(500);
    expect(a.events.planned.length - before).toBeGreaterThanOrEqual(1);
    expect(a.events.planned.length - before).toBeLessThanOrEqual(2);
  });

  it('makes at most about ten plans a second under a constant flood of wakes', async () => {
    const [a] = await fleet.start('a');
    await fleet.runtime.advance(2000);
    const before = a.events.planned.length;
    for (let step = 0; step < 500; step++) {
      fleet.store.vacated(`${group}/shards/0`);
      await fleet.runtime.advance(2);
    }
    expect(a.events.planned.length - before).toBeLessThanOrEqual(14);
  });

  it('balances by its sweeps alone when every wake is lost', async () => {
    for (const id of ['a', 'b']) {
      const process = fleet.process(id);
      process.link.disturb('reply', 'drop', { operation: 'watch' });
      await fleet.runtime.advanceUntil(process.worker.start());
    }
    await fleet.runtime.advance(20_000);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    expect(fleet.misplaced()).toEqual([]);
  });

  it('owns the shards that only pins name, like the others', async () => {
    const pins = { group, shardCount: 4, extraShards: [4, 9], refresh: async () => {} };
    const a = fleet.process('a', { worker: { shardCount: 4, pins } });
    await fleet.runtime.advanceUntil(a.worker.start());
    expect(numbersOf(a.worker.owned)).toEqual([0, 1, 2, 3, 4, 9]);
    pins.extraShards = [9];
    await fleet.runtime.advance(10_000);
    expect(numbersOf(a.worker.owned)).toEqual([0, 1, 2, 3, 9]);
    expect(a.events.released).toEqual([expect.objectContaining({ shard: 4, why: 'no-successor' })]);
  });
});
