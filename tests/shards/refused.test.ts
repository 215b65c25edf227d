import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OwnedShard } from '../../src/shards/index.js';
import { sleep } from '../../src/time/index.js';
import { FleetFixture, type FleetProcess } from './fixture.js';

const hourMs = 3_600_000;

describe('a shard whose resource has seen a higher term', () => {
  let fleet: FleetFixture;

  beforeEach(() => {
    fleet = new FleetFixture(7);
  });

  afterEach(async () => {
    await fleet.close();
    expect(fleet.runtime.pendingTimerCount).toBe(0);
  });

  /** As a fence does it: refuses what is below the installed term, and remembers what is above. */
  function fenced(process: FleetProcess, installed: Map<number, number>): FleetProcess {
    process.work.refusalOf = ({ shard, lease }) => {
      const term = installed.get(shard) ?? 0;
      if (lease.term <= term) return term;
      installed.set(shard, lease.term);
      return undefined;
    };
    return process;
  }

  const anHourAhead = () => fleet.runtime.now().wallMs + hourMs;

  it('than the store grants is healed by one lease above it, and says so', async () => {
    const above = anHourAhead();
    const a = fenced(fleet.process('a'), new Map([[3, above]]));
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advance(1000);
    expect(a.worker.owned).toHaveLength(256);
    expect(a.work.active.size).toBe(256);
    const term = a.work.active.get(3)?.term ?? 0;
    expect(term).toBeGreaterThan(above);
    expect(a.events.termHealed).toEqual([{ shard: 3, above, term }]);
    expect(a.events.lost).toEqual([expect.objectContaining({ shard: 3, reason: 'superseded' })]);
    expect(a.events.error).toEqual([]);
    const acquires = a.calls.get('acquire') ?? 0;
    expect(acquires).toBeLessThanOrEqual(4);
    await fleet.runtime.advance(600_000);
    expect(a.calls.get('acquire')).toBe(acquires);
    expect(a.work.beginCount).toBe(2);
  });

  it('in every shard is healed in all of them', async () => {
    const installed = new Map(Array.from({ length: 256 }, (_, shard) => [shard, anHourAhead()]));
    const a = fenced(fleet.process('a'), installed);
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advance(2000);
    expect(a.work.active.size).toBe(256);
    expect(a.events.termHealed).toHaveLength(256);
    expect(a.events.memberState).toEqual([{ state: 'active' }]);
  });

  it('is left alone by a worker that is refused again and again, but for a try now and then', async () => {
    const a = fleet.process('a');
    a.work.refusalOf = ({ shard, lease }) => (shard === 3 ? lease.term + 1 : undefined);
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advance(600_000);
    expect(a.worker.owned.map(({ shard }) => shard)).not.toContain(3);
    expect(a.work.active.size).toBe(255);
    expect(a.work.beginCount).toBeGreaterThan(5);
    expect(a.work.beginCount).toBeLessThan(30);
    expect(a.events.planned.length).toBeLessThan(250);
    expect(a.events.memberState).toEqual([{ state: 'active' }]);
    a.work.refusalOf = () => undefined;
    await fleet.runtime.advance(70_000);
    expect(a.work.active.size).toBe(256);
  });

  it('that no store can have granted is reported, raises no term, and keeps no other shard waiting', async () => {
    const absurd = 8_639_999_999_999_999;
    const installed = new Map([
      [3, absurd],
      [4, anHourAhead()],
    ]);
    const a = fenced(fleet.process('a'), installed);
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advance(600_000);
    expect(a.work.active.size).toBe(255);
    expect(a.events.termHealed).toHaveLength(1);
    expect(a.events.error.length).toBeGreaterThan(3);
    expect(a.events.error.length).toBeLessThan(30);
    expect(a.events.error[0]).toMatchObject({
      during: 'begin',
      error: { code: 'TENURE_RECORD_CORRUPT', message: expect.stringMatching(/8639999999999999/) },
    });
    const clock = fleet.runtime.now().wallMs;
    expect(a.worker.owned.every(({ term }) => term < clock + 2 * hourMs)).toBe(true);
  });

  it('because somebody newer owns it is left to them, and no term is raised', async () => {
    const [b] = await fleet.start('b');
    const installed = new Map<number, number>();
    fenced(b, installed);
    const a = fenced(fleet.process('a'), installed);
    let slow: OwnedShard | undefined;
    a.work.onBegin = async (shards) => {
      [slow] = shards;
      await sleep(a.runtime, 5000);
    };
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advance(1000);
    a.freeze();
    await fleet.runtime.advance(60_000);
    expect(b.work.active.size).toBe(256);
    // It wakes up and goes on to begin: the fence has heard of the newer owner meanwhile.
    a.work.onBegin = async () => {};
    a.thaw();
    await fleet.runtime.advance(2000);
    expect(slow?.lease.state).toBe('lost');
    expect(installed.get(slow?.shard ?? -1)).toBeGreaterThan(slow?.lease.term ?? 0);
    await fleet.runtime.advance(60_000);
    expect(await fleet.ownedCounts()).toEqual({ a: 128, b: 128 });
    await fleet.runtime.advanceUntil(b.worker.stop());
    await fleet.runtime.advance(10_000);
    expect(a.work.active.size).toBe(256);
    expect(a.events.termHealed).toEqual([]);
    expect(a.events.error.filter(({ during }) => during === 'begin')).toEqual([]);
    const clock = fleet.runtime.now().wallMs;
    expect(a.worker.owned.every(({ term }) => term <= clock + 1000)).toBe(true);
  });

  it('does not raise the term of a lease that is held', async () => {
    const [a] = await fleet.start('a');
    const terms = a.worker.owned.map(({ term }) => term);
    a.work.refusalOf = () => anHourAhead();
    await fleet.runtime.advance(120_000);
    expect(a.worker.owned.map(({ term }) => term)).toEqual(terms);
  });
});

describe('a shard that was drained and waits to be given', () => {
  it('while its lease ends is nobody’s, and is claimed anew', async () => {
    const fleet = new FleetFixture(8);
    const [a] = await fleet.start('a');
    let finish: () => void = () => {};
    a.work.onDrain = ({ shard }) =>
      shard === 5
        ? new Promise((resolve) => {
            finish = resolve;
          })
        : Promise.resolve();
    const lease = a.worker.owned.find(({ shard }) => shard === 5)?.lease;
    // The handoffs of the others get no answer, so that shard 5 has to wait for them when it is drained.
    a.link.disturb('reply', 'hold', { operation: 'handoff' });
    const b = fleet.process('b');
    await fleet.runtime.advanceUntil(b.worker.start());
    await fleet.runtime.advance(100);
    expect(a.calls.get('handoff')).toBe(1);
    finish();
    await fleet.runtime.settle();
    // Now everything is planned for a again, and the lease ends.
    await fleet.runtime.advanceUntil(b.worker.stop());
    await fleet.runtime.advance(500);
    lease?.supersede();
    a.work.onDrain = async () => {};
    a.link.heal();
    a.link.flush();
    await fleet.runtime.advance(60_000);
    expect(await fleet.ownedCounts()).toEqual({ a: 256 });
    expect(a.work.active.size).toBe(256);
    expect(a.worker.owned.every((owned) => owned.lease.state === 'held')).toBe(true);
    await fleet.close();
    expect(fleet.runtime.pendingTimerCount).toBe(0);
  });
});
