import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FleetFixture, numbersOf } from './fixture.js';

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
    await fleet.runtime.settle();
    expect(a?.worker.owned.map(({ shard }) => shard)).toEqual([...Array(256).keys()]);
    expect(a?.work.active.size).toBe(256);
    expect(a?.work.beginCount).toBe(1);
    expect(a?.events.claimed.map(({ shards }) => shards.length)).toEqual([256]);
    expect(a?.events.takenOver).toEqual([]);
    expect(await fleet.ownedCounts()).toEqual({ a: 256 });
  });

  it('moves exactly 128 shards to a second worker, without waiting for a sweep', async () => {
    const [a, b] = await fleet.start('a', 'b');
    await fleet.runtime.advance(500);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    expect(a?.events.handedOff).toHaveLength(128);
    const shared = numbersOf(a?.worker.owned ?? []).filter((shard) => b?.work.active.has(shard));
    expect(shared).toEqual([]);
    expect((a?.work.active.size ?? 0) + (b?.work.active.size ?? 0)).toBe(256);
    expect(b?.events.takenOver).toEqual([]);
  });

  it('moves exactly 85 shards to a third', async () => {
    const [a, b, c] = await fleet.start('a', 'b', 'c');
    await fleet.runtime.advance(500);
    expect(await fleet.ownedCounts()).toEqual({ a: 86, b: 85, c: 85 });
    const moved = [a, b, c].map((process) => process?.events.handedOff.length);
    expect(moved).toEqual([128 + 42, 43, 0]);
  });
});
