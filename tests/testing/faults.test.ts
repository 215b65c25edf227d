import { describe, expect, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { OutcomeUnknownError, UnreachableError } from '../../src/errors/index.js';
import { type Lease, Leases } from '../../src/leases/index.js';
import { MemoryStore, memoryCoordinator, memoryFence } from '../../src/memory.js';
import { FaultyCoordinator, TestFleet, type TestProcess } from '../../src/testing.js';
import { call } from '../support/call.js';

const name = 'payments';
const ttlMs = 6_000;

/** Two processes with leases, and what they heard of them. */
function setUp() {
  const fleet = new TestFleet();
  const member = (id: string) => {
    const process = fleet.process(id);
    const leases = new Leases(process.coordinator, { id, runtime: process.runtime, ttlMs });
    const lost: string[] = [];
    leases.events.on('lost', ({ reason }) => lost.push(reason));
    return { process, leases, lost };
  };
  return { fleet, ann: member('ann'), bob: member('bob') };
}

type Member = ReturnType<typeof setUp>['ann'];

async function acquire(fleet: TestFleet, { leases }: Member): Promise<Lease> {
  const lease = await fleet.until(leases.acquire(name, { waitMs: 60_000 }));
  if (lease === undefined) throw new Error('it was not granted');
  return lease;
}

async function leader(fleet: TestFleet): Promise<string | undefined> {
  const [record] = await fleet.operator.read([name], call);
  return record?.state === 'held' ? record.holder.id : undefined;
}

describe('a lease in a test', () => {
  it('expires when the test says so: another may have it, and its holder is told at its next renewal', async () => {
    const { fleet, ann, bob } = setUp();
    const lease = await acquire(fleet, ann);
    expect(await fleet.expire(name)).toBe(true);
    const next = await acquire(fleet, bob);
    expect(next.term).toBeGreaterThan(lease.term);
    expect(lease.state).toBe('held');
    await fleet.advance(ttlMs / 3);
    expect(ann.lost).toEqual(['superseded']);
    expect(await leader(fleet)).toBe('bob');
    expect((await fleet.operator.history(name, call)).length).toBe(0);
  });

  it('does not expire if there is none', async () => {
    const { fleet, ann } = setUp();
    expect(await fleet.expire(name)).toBe(false);
    const lease = await acquire(fleet, ann);
    await lease.release();
    expect(await fleet.expire(name)).toBe(false);
  });

  it('is stolen, although somebody else waits for it, by a thief whose token a fence takes', async () => {
    const { fleet, ann, bob } = setUp();
    const fence = memoryFence();
    const lease = await acquire(fleet, ann);
    const waiting = bob.leases.acquire(name, { waitMs: 120_000 });
    await fleet.advance(1_000);
    const thief = await fleet.steal(name);
    expect(await leader(fleet)).toBe('thief');
    expect(thief.term).toBeGreaterThan(lease.term);
    await fence.claim(thief);
    await expect(fence.claim(lease)).rejects.toThrow(/term/);
    // The thief does not renew.
    expect((await fleet.until(waiting))?.term).toBeGreaterThan(thief.term);
  });

  it('is stolen although somebody else asks for it in the same moment', async () => {
    const store = new MemoryStore();
    const rival = memoryCoordinator(store);
    const requests = ['ann', 'bob'].map((id) => ({
      name,
      holder: new Holder(id, '1'.repeat(32)),
      attempt: '2'.repeat(32),
      ttlMs,
    }));
    const overtaken = memoryCoordinator(store);
    const acquire = overtaken.acquire.bind(overtaken);
    const faulty = new FaultyCoordinator(overtaken);
    await faulty.acquire(requests.slice(0, 1), call);
    overtaken.acquire = async (asked, options) => {
      await rival.acquire(requests.slice(1), call);
      return acquire(asked, options);
    };
    expect((await faulty.steal(name)).holder.id).toBe('thief');
    await faulty.close();
    await rival.close();
  });

  it('is stolen where nobody has it, but not from an operator', async () => {
    const { fleet } = setUp();
    const thief = await fleet.steal(name, 10_000);
    await expect(fleet.steal(name)).resolves.toMatchObject({ name });
    expect(await fleet.expire(name)).toBe(true);
    await fleet.operator.suspend(name, { by: 'ops', reason: 'test' }, call);
    await expect(fleet.steal(name)).rejects.toThrow(/could not be stolen/);
    expect(thief.term).toBeGreaterThan(0);
  });
});

describe('the way to the store', () => {
  it('hangs: calls settle in their time, as unknown, and the lease is lost by its own clock', async () => {
    const { fleet, ann } = setUp();
    const lease = await acquire(fleet, ann);
    ann.process.coordinator.hang();
    const read = ann.process.coordinator.read([name], call);
    await expect(fleet.until(read)).rejects.toBeInstanceOf(OutcomeUnknownError);
    await fleet.advance(ttlMs);
    expect(lease.endReason).toBe('unreachable');
    ann.process.coordinator.heal();
    await acquire(fleet, ann);
  });

  it('is cut: calls fail at once, and were not executed', async () => {
    const { fleet, ann } = setUp();
    ann.process.coordinator.cut();
    await expect(ann.leases.acquire(name)).rejects.toBeInstanceOf(UnreachableError);
    ann.process.coordinator.heal();
    expect(await leader(fleet)).toBeUndefined();
  });

  it('loses one reply: what was asked is done, and whoever asked cannot know', async () => {
    const { fleet, ann } = setUp();
    ann.process.coordinator.loseReply({ operation: 'acquire' });
    const acquiring = ann.leases.acquire(name);
    await fleet.clock.settle();
    expect(await leader(fleet)).toBe('ann');
    await expect(fleet.until(acquiring)).rejects.toBeInstanceOf(OutcomeUnknownError);
    // It is taken back, and the fault befell one call alone.
    await fleet.clock.settle();
    expect(await leader(fleet)).toBeUndefined();
    await acquire(fleet, ann);
  });

  it('executes a request after its caller gave up, when the test says so', async () => {
    const { fleet, ann, bob } = setUp();
    ann.process.coordinator.flushLater({ operation: 'acquire' });
    await expect(fleet.until(ann.leases.acquire(name))).rejects.toBeInstanceOf(OutcomeUnknownError);
    await fleet.advance(60_000);
    expect(await leader(fleet)).toBeUndefined();
    expect(await ann.process.coordinator.flush()).toBe(1);
    expect(await leader(fleet)).toBe('ann');
    // Nobody believes that it has this lease; it is in the way until its ttl is over, or the test ends it.
    expect(ann.leases.live).toEqual([]);
    expect(await fleet.expire(name)).toBe(true);
    await acquire(fleet, bob);
  });

  it('executes a request twice', async () => {
    const { fleet, ann } = setUp();
    ann.process.coordinator.duplicate({ operation: 'acquire' });
    const lease = await acquire(fleet, ann);
    const [record] = await fleet.operator.read([name], call);
    expect(record).toMatchObject({ state: 'held', term: lease.term });
  });

  it('is disturbed for one process alone', async () => {
    const { fleet, ann, bob } = setUp();
    ann.process.coordinator.hang();
    await acquire(fleet, bob);
    expect(await leader(fleet)).toBe('bob');
  });
});

describe('the end of a test', () => {
  it('leaves no timer behind, whatever was paused, hung or held', async () => {
    const { fleet, ann, bob } = setUp();
    const lease = await acquire(fleet, ann);
    bob.process.coordinator.hang();
    ann.process.coordinator.flushLater();
    const renewing = ann.process.coordinator.read([name], call);
    renewing.catch(() => {});
    ann.process.pause();
    await fleet.advance(ttlMs * 2);
    resumeAll(ann.process, bob.process);
    await fleet.until(Promise.all([ann.leases.close(), bob.leases.close()]));
    await fleet.close();
    expect(lease.state).toBe('lost');
    expect(fleet.clock.pendingTimerCount).toBe(0);
    expect(ann.process.runtime.pendingTimerCount).toBe(0);
  });
});

function resumeAll(...processes: TestProcess[]): void {
  for (const process of processes) {
    process.coordinator.heal();
    process.resume();
  }
}
