import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClosedError } from '../../src/errors/index.js';
import { sleep } from '../../src/time/index.js';
import { FleetFixture, type FleetProcess, group } from './fixture.js';

describe('stopping a shard worker', () => {
  let fleet: FleetFixture;

  beforeEach(() => {
    fleet = new FleetFixture(3);
  });

  afterEach(async () => {
    await fleet.close();
    expect(fleet.runtime.pendingTimerCount).toBe(0);
  });

  const never = () => new Promise<void>(() => {});

  it('hands every shard to those who stay, by name, and leaves the group last', async () => {
    const [a, b, c] = await fleet.start('a', 'b', 'c');
    await fleet.runtime.advanceUntil(a.worker.stop());
    await fleet.runtime.advance(50);
    expect(await fleet.ownedCounts()).toEqual({ b: 128, c: 128 });
    expect(a.events.handedOff).toHaveLength(256);
    expect(a.events.released).toEqual([]);
    expect([...b.events.takenOver, ...c.events.takenOver]).toEqual([]);
    expect(a.leases.live).toEqual([]);
    expect(a.worker.owned).toEqual([]);
    expect(fleet.misplaced()).toEqual([]);
  });

  it('frees every shard if nobody else is there', async () => {
    const [a] = await fleet.start('a');
    await fleet.runtime.advanceUntil(a.worker.stop());
    expect(await fleet.ownedCounts()).toEqual({ nobody: 256 });
    expect(a.events.released).toHaveLength(256);
  });

  it('waits for a work item of 20 seconds and renews its lease meanwhile', async () => {
    const [a] = await fleet.start('a', 'b');
    await fleet.runtime.advance(15_000);
    a.work.onDrain = ({ shard }) => sleep(fleet.runtime, shard === 200 ? 20_000 : 0);
    const busy = a.worker.owned.find(({ shard }) => shard === 200);
    const stopping = a.worker.stop();
    await fleet.runtime.advance(1000);
    expect(await fleet.ownedCounts()).toEqual({ a: 1, b: 255 });
    await fleet.runtime.advance(18_000);
    expect(busy?.lease.state).toBe('held');
    expect(busy?.lease.signal.aborted).toBe(false);
    await fleet.runtime.advanceUntil(stopping);
    await fleet.runtime.advance(50);
    expect(await fleet.ownedCounts()).toEqual({ b: 256 });
    expect(a.events.lost).toEqual([]);
  });

  it('aborts work that does not end in time, and frees its shard as soon as it has stopped', async () => {
    const [a] = await fleet.start('a');
    const [owned] = a.worker.owned;
    a.work.onDrain = ({ shard, lease }) =>
      shard === 0
        ? new Promise((resolve) => {
            lease.signal.addEventListener('abort', () => {
              void sleep(fleet.runtime, 1000).then(resolve);
            });
          })
        : Promise.resolve();
    const stopping = a.worker.stop();
    await fleet.runtime.advance(29_999);
    expect(owned?.lease.signal.aborted).toBe(false);
    await fleet.runtime.advance(2);
    expect(owned?.lease.signal.aborted).toBe(true);
    expect(await fleet.ownedCounts()).toEqual({ a: 1, nobody: 255 });
    await fleet.runtime.advanceUntil(stopping);
    await fleet.runtime.settle();
    expect(await fleet.ownedCounts()).toEqual({ nobody: 256 });
    expect(a.events.lost).toEqual([expect.objectContaining({ shard: 0, reason: 'shutdown' })]);
  });

  it('leaves the shard of work that never stops to its expiry', async () => {
    const [a] = await fleet.start('a');
    a.work.onDrain = ({ shard }) => (shard === 0 ? never() : Promise.resolve());
    const stopping = a.worker.stop();
    await fleet.runtime.advance(34_000);
    const [stopped] = await Promise.allSettled([fleet.runtime.advanceUntil(stopping)]);
    expect(stopped.status).toBe('fulfilled');
    expect(await fleet.ownedCounts()).toEqual({ a: 1, nobody: 255 });
    await fleet.runtime.advance(30_000);
    expect(await fleet.ownedCounts()).toEqual({ nobody: 256 });
  });

  it('ends in bounded time if the store cannot be reached', async () => {
    const [a] = await fleet.start('a');
    a.link.hang();
    const stopping = a.worker.stop();
    await fleet.runtime.advanceUntil(stopping, 20_000);
    expect(a.work.active.size).toBe(0);
    expect(a.work.drained).toHaveLength(256);
    expect(a.work.beginCount).toBe(1);
  });

  it('passes on what is handed to it meanwhile, without beginning to work on it', async () => {
    const [a, b] = await fleet.start('a', 'b');
    a.work.onDrain = ({ shard }) => sleep(fleet.runtime, shard === 200 ? 10_000 : 0);
    const stopping = a.worker.stop();
    await fleet.runtime.advance(1000);
    const [late] = b.worker.owned;
    await fleet.runtime.advanceUntil(Promise.resolve(late?.lease.handoff('a', 20_000)));
    await fleet.runtime.advance(500);
    expect(await fleet.ownedCounts()).toEqual({ a: 1, b: 255 });
    expect(a.work.beginCount).toBe(1);
    await fleet.runtime.advanceUntil(stopping);
  });

  it('together with another leaves everything to the third', async () => {
    const [a, b, c] = await fleet.start('a', 'b', 'c');
    await fleet.runtime.advanceUntil(Promise.all([a.worker.stop(), b.worker.stop()]));
    await fleet.runtime.advance(5500);
    expect(await fleet.ownedCounts()).toEqual({ c: 256 });
    expect(c.work.active.size).toBe(256);
  });

  it('during its start ends that start with an error and leaves nothing', async () => {
    const a = fleet.process('a');
    const starting = a.worker.start();
    const outcome = expect(starting).rejects.toBeInstanceOf(ClosedError);
    await a.worker.stop();
    await outcome;
    expect(a.leases.live).toEqual([]);
    expect(a.runtime.pendingTimerCount).toBe(0);
  });

  it('while it waits for a store that cannot be reached ends the start', async () => {
    const a = fleet.process('a');
    a.link.cut();
    const outcome = expect(a.worker.start()).rejects.toBeInstanceOf(ClosedError);
    await fleet.runtime.advance(60_000);
    expect(a.events.error.length).toBeGreaterThan(3);
    expect(a.events.error[0]?.during).toBe('register');
    await fleet.runtime.advanceUntil(a.worker.stop());
    await outcome;
    expect(a.runtime.pendingTimerCount).toBe(0);
  });

  it('is over before a start that was called meanwhile begins', async () => {
    const [a] = await fleet.start('a');
    a.work.onDrain = () => sleep(fleet.runtime, 3000);
    const stopping = a.worker.stop();
    const starting = a.worker.start();
    await fleet.runtime.advance(2900);
    expect(a.events.claimed).toHaveLength(1);
    await fleet.runtime.advanceUntil(Promise.all([stopping, starting]));
    await fleet.runtime.settle();
    expect(a.work.active.size).toBe(256);
  });

  it('again cancels a start that waits for the stop under way', async () => {
    const [a] = await fleet.start('a');
    const first = a.worker.stop();
    const starting = expect(a.worker.start()).rejects.toBeInstanceOf(ClosedError);
    await fleet.runtime.advanceUntil(Promise.all([first, a.worker.stop()]));
    await starting;
    await fleet.runtime.advance(1000);
    expect(a.worker.owned).toEqual([]);
  });

  it('50 times over leaves no timer, watch, lease or listener', async () => {
    const b = fleet.process('b');
    for (let cycle = 0; cycle < 50; cycle++) {
      const starting = b.worker.start().catch(() => {});
      await fleet.runtime.advance(cycle % 5 === 0 ? 0 : (cycle % 7) * 3);
      await fleet.runtime.advanceUntil(b.worker.stop());
      await starting;
      expect(b.leases.live).toEqual([]);
    }
    expect(b.runtime.pendingTimerCount).toBe(0);
    expect(listenersOf(b)).toEqual({ lost: 0, released: 0 });
    await fleet.runtime.advanceUntil(b.worker.start());
    expect(await fleet.ownedCounts()).toEqual({ b: 256 });
  });

  it('needs no start before it, and works twice', async () => {
    const a = fleet.process('a');
    await a.worker.stop();
    await a.worker.stop();
    await fleet.runtime.advanceUntil(a.worker.start());
    await fleet.runtime.advanceUntil(Promise.all([a.worker.stop(), a.worker.stop()]));
    const reading = fleet.observer.list(`${group}/members`, { timeoutMs: 100 });
    await fleet.runtime.settle();
    expect(await reading).toEqual([]);
  });
});

function listenersOf({ leases }: FleetProcess): Record<string, number> {
  const emitter = leases.events as unknown as { listenerCount(name: string): number };
  return { lost: emitter.listenerCount('lost'), released: emitter.listenerCount('released') };
}
