import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sleep } from '../../src/time/index.js';
import { FleetFixture, numbersOf } from './fixture.js';

describe('work that begins', () => {
  let fleet: FleetFixture;

  beforeEach(() => {
    fleet = new FleetFixture(5);
  });

  afterEach(async () => {
    await fleet.close();
    expect(fleet.runtime.pendingTimerCount).toBe(0);
  });

  it('slowly is renewed meanwhile, and holds up neither the start nor the next plan', async () => {
    const a = fleet.process('a');
    a.work.onBegin = () => sleep(fleet.runtime, 40_000);
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advance(39_000);
    expect(a.worker.owned.every(({ lease }) => lease.state === 'held')).toBe(true);
    expect(a.events.planned.length).toBeGreaterThan(5);
    await fleet.runtime.advance(2000);
    expect(a.work.active.size).toBe(256);
    expect(a.work.beginCount).toBe(1);
  });

  it('slowly is drained when it has begun, if its shards are wanted elsewhere', async () => {
    const a = fleet.process('a');
    a.work.onBegin = () => sleep(fleet.runtime, 3000);
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.start('b');
    expect(a.work.drained).toEqual([]);
    await fleet.runtime.advance(3000);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    expect(fleet.misplaced()).toEqual([]);
  });

  it('and fails gives the shards back to the others, and tries again with growing pauses', async () => {
    const [b] = await fleet.start('b');
    const a = fleet.process('a');
    const triedAtMs: number[] = [];
    a.work.onBegin = async () => {
      triedAtMs.push(fleet.runtime.now().monotonicMs);
      throw new Error('no database');
    };
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advance(400);
    expect(a.events.memberState.map(({ state }) => state)).toEqual(['active', 'joining']);
    expect(a.events.error[0]).toMatchObject({ during: 'begin', error: { message: 'no database' } });
    expect(await fleet.ownedCounts()).toEqual({ b: 256 });
    expect(b.work.active.size).toBe(256);
    await fleet.runtime.advance(300_000);
    const rounds = [...new Set(triedAtMs)].length;
    expect(rounds).toBeGreaterThan(4);
    expect(rounds).toBeLessThan(20);
    a.work.onBegin = async () => {};
    await fleet.runtime.advance(70_000);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    expect(a.events.memberState.at(-1)).toEqual({ state: 'active' });
    expect(fleet.misplaced()).toEqual([]);
  });

  it('and failed is not begun during the pause, even on a shard that is handed over', async () => {
    const [b] = await fleet.start('b');
    const a = fleet.process('a');
    a.work.onBegin = async () => {
      throw new Error('no database');
    };
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advance(100);
    a.work.onBegin = async () => {};
    const begun = a.work.beginCount;
    const handingOff = b.worker.owned[0]?.lease.handoff('a', 20_000);
    await fleet.runtime.advanceUntil(Promise.resolve(handingOff));
    await fleet.runtime.advance(300);
    expect(a.work.beginCount).toBe(begun);
    await fleet.runtime.advance(8000);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
  });

  it('and fails for one shard alone gives back only that one, once it begins them one by one', async () => {
    const a = fleet.process('a');
    a.work.onBegin = async (shards) => {
      if (numbersOf(shards).includes(17)) throw new Error('shard 17 is broken');
    };
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advance(10);
    expect(a.worker.owned).toEqual([]);
    await fleet.runtime.advance(5000);
    expect(a.worker.owned).toHaveLength(255);
    expect(a.work.active.has(17)).toBe(false);
    const begun = a.work.beginCount;
    await fleet.runtime.advance(600_000);
    expect(a.worker.owned.filter(({ shard }) => shard !== 17)).toHaveLength(255);
    expect(a.work.beginCount - begun).toBeLessThan(30);
    expect(a.work.drained).toEqual([]);
  });

  it('throwing at once counts as a failure like any other', async () => {
    const a = fleet.process('a');
    a.work.begin = () => {
      throw new Error('not even a promise');
    };
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.settle();
    expect(a.events.error[0]?.during).toBe('begin');
    expect(a.worker.owned).toEqual([]);
  });

  it('and breaks its promise not to reject a drain loses that shard, but not the worker', async () => {
    const [a] = await fleet.start('a');
    a.work.onDrain = async ({ shard }) => {
      if (shard === 3) throw new Error('cannot say');
    };
    await fleet.start('b');
    expect(a.events.error).toEqual([expect.objectContaining({ during: 'drain' })]);
    expect(a.events.lost).toEqual([expect.objectContaining({ shard: 3, reason: 'revoked' })]);
    // Its work may still run, so its successor waits for the expiry.
    expect(await fleet.ownedCounts()).toEqual({ a: 129, b: 127 });
    await fleet.runtime.advance(31_000);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    expect(fleet.misplaced()).toEqual([]);
  });

  it('and throws from a drop is reported', async () => {
    const [a] = await fleet.start('a');
    a.work.drop = () => {
      throw new Error('cannot drop');
    };
    a.worker.owned[0]?.lease.supersede();
    expect(a.events.error).toEqual([expect.objectContaining({ during: 'drop' })]);
    expect(a.events.lost).toHaveLength(1);
    a.work.drop = () => {};
  });

  it('is kept, and begun again, if its shard is planned for us again when it has drained', async () => {
    const [a] = await fleet.start('a');
    a.work.onDrain = () => sleep(fleet.runtime, 5000);
    const [b] = await fleet.start('b');
    expect(a.events.planned.at(-1)?.quotaCount).toBe(128);
    await fleet.runtime.advanceUntil(b.worker.stop());
    await fleet.runtime.advance(10_000);
    expect(await fleet.ownedCounts()).toEqual({ a: 256 });
    expect(a.events.handedOff).toEqual([]);
    expect(a.work.active.size).toBe(256);
  });
});
