import { describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { Leases } from '../../src/leases/index.js';
import { MemoryStore, memoryCoordinator, memoryFence } from '../../src/memory.js';
import {
  FaultyCoordinator,
  ProcessRuntime,
  type Runtime,
  TestFleet,
  VirtualRuntime,
} from '../../src/testing.js';
import { call } from '../support/call.js';

const name = 'payments';
const ttlMs = 6_000;

/** Something outside of the processes, that notes what is asked of it. */
class Outside {
  readonly asked: string[] = [];
  readonly #answer = 'done';

  async write(what: string): Promise<string> {
    this.asked.push(what);
    return this.#answer;
  }

  async fail(): Promise<void> {
    throw new Error('no');
  }
}

describe('a process that is paused', () => {
  it('fires its timers before it hears what has arrived, when it goes on', async () => {
    const fleet = new TestFleet();
    const ann = fleet.process('ann');
    const order: string[] = [];
    ann.runtime.setTimer(300, () => order.push('second timer'));
    const first = async () => {
      order.push('first timer');
      for (let step = 0; step < 10; step++) await undefined;
      order.push('what followed from it');
    };
    ann.runtime.setTimer(200, () => void first());
    const reading = ann.coordinator.read([name], call).then(() => order.push('answer'));
    ann.pause();
    await fleet.advance(400);
    expect(order).toEqual([]);
    ann.resume();
    expect(order).toEqual(['first timer', 'second timer']);
    await reading;
    expect(order.slice(2)).toEqual(['what followed from it', 'answer']);
  });

  it('gives up a call whose time ran out in the pause, although the answer was there', async () => {
    const fleet = new TestFleet();
    const ann = fleet.process('ann');
    const reading = ann.coordinator.read([name], call);
    ann.pause();
    await fleet.advance(call.timeoutMs);
    ann.resume();
    await expect(reading).rejects.toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
  });

  it('believes until it looks at the clock, and another has the name meanwhile', async () => {
    const fleet = new TestFleet();
    const [ann, bob] = [fleet.process('ann'), fleet.process('bob')];
    const [hers, his] = [ann, bob].map(
      ({ id, runtime, coordinator }) => new Leases(coordinator, { id, runtime, ttlMs }),
    );
    const lease = await hers?.acquire(name);
    const told: string[] = [];
    hers?.events.on('lost', ({ reason }) => told.push(reason));
    ann.pause();
    const next = await fleet.until(his?.acquire(name, { waitMs: 60_000 }) ?? Promise.reject());
    expect(next?.state).toBe('held');
    expect(told).toEqual([]);
    ann.resume();
    expect(told).toEqual(['expired']);
    expect(lease?.state).toBe('lost');
  });

  it('sends nothing, and goes on with it later', async () => {
    const fleet = new TestFleet();
    const ann = fleet.process('ann');
    const outside = new Outside();
    const reached = ann.reach(outside);
    ann.pause();
    expect(ann.isPaused).toBe(true);
    const writing = Promise.all([reached.write('one'), reached.write('two')]);
    const reading = ann.coordinator.read([name], { timeoutMs: 60_000 });
    await fleet.advance(1_000);
    expect(outside.asked).toEqual([]);
    ann.resume();
    expect(ann.isPaused).toBe(false);
    expect(await writing).toEqual(['done', 'done']);
    expect(await reading).toEqual([undefined]);
    expect(outside.asked).toEqual(['one', 'two']);
  });

  it('is told of a failure outside, once it goes on', async () => {
    const fleet = new TestFleet();
    const ann = fleet.process('ann');
    let failure: unknown;
    const failing = ann.reach(new Outside()).fail();
    const noted = failing.catch((error: unknown) => {
      failure = error;
    });
    ann.pause();
    await fleet.advance(1);
    expect(failure).toBeUndefined();
    ann.resume();
    await noted;
    expect(failure).toMatchObject({ message: 'no' });
  });

  it('stops where the test wants it, between a check and the write that follows', async () => {
    const fleet = new TestFleet();
    const [ann, bob] = [fleet.process('ann'), fleet.process('bob')];
    const leases = new Leases(ann.coordinator, { id: 'ann', runtime: ann.runtime, ttlMs });
    const lease = await leases.acquire(name);
    const fence = memoryFence();
    const [hers, his] = [ann.reach(fence), bob.reach(fence)];
    const write = async () => {
      lease?.assertHeld();
      await hers.transaction(lease as never, async (transaction) => transaction.set('by', 'ann'));
    };
    const stopped = ann.pauseAt('transaction');
    const writing = write();
    const refused = expect(writing).rejects.toMatchObject({ code: 'TENURE_STALE_TERM' });
    await stopped;
    const thief = await fleet.steal(name);
    await his.transaction(thief, async (transaction) => transaction.set('by', 'thief'));
    ann.resume();
    await refused;
    expect(fence.resource.read('by')).toBe('thief');
  });

  it('is paused again before it has heard anything', async () => {
    const fleet = new TestFleet();
    const ann = fleet.process('ann');
    const heard: string[] = [];
    ann.pause();
    const reading = ann.coordinator
      .read([name], { timeoutMs: 60_000 })
      .then(() => heard.push('it'));
    ann.resume();
    ann.pause();
    await fleet.advance(1_000);
    expect(heard).toEqual([]);
    ann.resume();
    await reading;
    expect(heard).toEqual(['it']);
  });

  it('stops at what its first statements call, when it had just gone on', async () => {
    const fleet = new TestFleet();
    const ann = fleet.process('ann');
    const outside = new Outside();
    ann.pause();
    ann.resume();
    const stopped = ann.pauseAt('write');
    const writing = ann.reach(outside).write('one');
    await stopped;
    expect(ann.isPaused).toBe(true);
    await fleet.advance(1_000);
    expect(outside.asked).toEqual([]);
    ann.resume();
    expect(await writing).toBe('done');
  });

  it('stops at a call of its coordinator, once', async () => {
    const fleet = new TestFleet();
    const ann = fleet.process('ann');
    const stopped = ann.pauseAt('read');
    await ann.coordinator.list('payments', call);
    const reading = ann.coordinator.read([name], call);
    await stopped;
    ann.resume();
    expect(await reading).toEqual([undefined]);
    expect(await ann.coordinator.read([name], call)).toEqual([undefined]);
  });
});

describe('the timers of a process', () => {
  it('go on being those of the machine while it is not paused', async () => {
    const machine = new VirtualRuntime();
    const runtime = new ProcessRuntime(machine);
    const fired: string[] = [];
    runtime.setTimer(10, () => fired.push('a'));
    runtime.setTimer(20, () => fired.push('b')).cancel();
    expect(runtime.pendingTimerCount).toBe(1);
    await machine.advance(30);
    expect(fired).toEqual(['a']);
    expect(runtime.now()).toEqual(machine.now());
    expect(machine.pendingTimerCount).toBe(0);
  });

  it('can be cancelled after they came due in a pause', async () => {
    const machine = new VirtualRuntime();
    const runtime = new ProcessRuntime(machine);
    const fired: string[] = [];
    const timer = runtime.setTimer(10, () => fired.push('a'));
    runtime.setTimer(5, () => timer.cancel());
    runtime.pause();
    await machine.advance(30);
    runtime.resume();
    expect(fired).toEqual([]);
  });

  it('wait for the process also when they are turns of the event loop', async () => {
    const machine = new VirtualRuntime();
    const runtime = new ProcessRuntime(machine);
    const fired: string[] = [];
    runtime.pause();
    runtime.nextTurn(() => fired.push('turn'));
    await machine.settle();
    await machine.settle();
    expect(fired).toEqual([]);
    runtime.resume();
    expect(fired).toEqual(['turn']);
  });
});

describe('a fleet', () => {
  it('has one process of an id', () => {
    const fleet = new TestFleet();
    fleet.process('ann');
    expect(() => fleet.process('ann')).toThrow(/give each process an id of its own/);
  });

  it('refuses an option that is none', () => {
    expect(() => new TestFleet({ sed: 7 } as never)).toThrow(/did you mean seed/);
    expect(() => new FaultyCoordinator({} as never)).toThrow(/is not a coordinator/);
    expect(() => new FaultyCoordinator(undefined, { runtme: 7 } as never)).toThrow(/mean runtime/);
  });

  it('puts its faults around another store, one connection for each process', async () => {
    const stores = new Map<Runtime, Coordinator>();
    const shared = new MemoryStore();
    const connect = (runtime: Runtime) => {
      const store = memoryCoordinator(shared, { runtime });
      stores.set(runtime, store);
      return store;
    };
    const fleet = new TestFleet({ connect });
    const ann = fleet.process('ann');
    expect(stores.size).toBe(2);
    expect(stores.has(ann.runtime)).toBe(true);
    expect(await ann.coordinator.writeDocument('pins', 'text', 0, call)).toMatchObject({
      version: 1,
    });
    expect(await fleet.operator.readDocument('pins', call)).toMatchObject({ text: 'text' });
    await fleet.close();
    await expect(stores.get(ann.runtime)?.read([name], call)).rejects.toThrow(/closed/);
  });

  it('is the same run for the same seed, and another for another', async () => {
    const nonce = (seed?: number) =>
      new TestFleet(seed === undefined ? {} : { seed }).process('ann').runtime.randomHex(16);
    expect(nonce(7)).toBe(nonce(7));
    expect(nonce(7)).not.toBe(nonce(8));
  });
});
