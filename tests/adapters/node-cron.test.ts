import cron from 'node-cron';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type NodeCronCoordinator,
  nodeCronCoordinator,
} from '../../src/adapters/node-cron/index.js';
import { MemoryStore } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { type JobStore, Jobs } from '../../src/schedule/index.js';
import { MemoryJobs, memoryJobs } from '../../src/schedule/memory/index.js';
import { ProcessRuntime } from '../../src/testing.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

const key = 'settle:2026-01-01T00:05:00.000Z';

let runtime: VirtualRuntime;
let state: MemoryJobs;
let stores: JobStore[];
let open: NodeCronCoordinator[];

beforeEach(() => {
  runtime = new VirtualRuntime();
  state = new MemoryJobs(new MemoryStore({ runtime }));
  stores = [];
  open = [];
});
afterEach(async () => {
  await runtime.advanceUntil(Promise.all(open.map((one) => one.close())));
  await Promise.all(stores.map((store) => store.close()));
});

function replica(id: string) {
  const process = new ProcessRuntime(runtime);
  const link = new FaultLink();
  const store = memoryJobs(state, { runtime: process, link });
  const coordinator = nodeCronCoordinator(store, { id, runtime: process, ttlMs: 6_000 });
  stores.push(store);
  open.push(coordinator);
  return { coordinator, process, link, jobs: new Jobs(store, { runtime }) };
}

describe('a distributed task of node-cron', () => {
  it('runs in one of the replicas that ask at the same time', async () => {
    const fleet = ['a', 'b', 'c'].map((id) => replica(id).coordinator);
    const asked = fleet.map((coordinator) => coordinator.shouldRun(key, 1_000));
    const answers = await runtime.advanceUntil(Promise.all(asked));
    expect(answers.filter((isToRun) => isToRun)).toHaveLength(1);
    for (const coordinator of fleet) await runtime.advanceUntil(coordinator.onComplete(key));
  });

  it('runs once, however short it is and however late the other replica asks', async () => {
    const [a, b] = [replica('a'), replica('b')];
    expect(await runtime.advanceUntil(a.coordinator.shouldRun(key, 1_000))).toBe(true);
    await runtime.advanceUntil(a.coordinator.onComplete(key));
    await runtime.advance(2_000);
    expect(await runtime.advanceUntil(b.coordinator.shouldRun(key, 1_000))).toBe(false);
    expect(await runtime.advanceUntil(a.jobs.history('settle'))).toMatchObject([
      { state: 'succeeded', holderId: 'a', tickMs: Date.UTC(2026, 0, 1, 0, 5) },
    ]);
  });

  it('has the lease under which it runs, and none when it does not', async () => {
    const { coordinator } = replica('a');
    expect(coordinator.leaseOf('settle')).toBeUndefined();
    await runtime.advanceUntil(coordinator.shouldRun(key, 1_000));
    expect(coordinator.leaseOf('settle')).toMatchObject({
      name: 'node-cron/settle',
      state: 'held',
    });
    await runtime.advanceUntil(coordinator.onComplete(key));
    expect(coordinator.leaseOf('settle')).toBeUndefined();
  });

  it('that died with its process is abandoned by whoever runs next', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await runtime.advanceUntil(a.coordinator.shouldRun(key, 1_000));
    a.process.pause();
    await runtime.advance(10_000);
    const next = 'settle:2026-01-01T00:10:00.000Z';
    expect(await runtime.advanceUntil(b.coordinator.shouldRun(next, 1_000))).toBe(true);
    const states = (await b.jobs.history('settle')).map(({ state }) => state);
    expect(states).toEqual(['running', 'abandoned']);
    await runtime.advanceUntil(b.coordinator.onComplete(next));
    a.process.resume();
  });

  it('does not run while it is paused', async () => {
    const { coordinator, jobs } = replica('a');
    await runtime.advanceUntil(coordinator.shouldRun(key, 1_000));
    await runtime.advanceUntil(coordinator.onComplete(key));
    await jobs.pause('settle', { by: 'operator', reason: 'test' });
    const next = 'settle:2026-01-01T00:10:00.000Z';
    expect(await runtime.advanceUntil(coordinator.shouldRun(next, 1_000))).toBe(false);
    expect(await jobs.list()).toMatchObject([{ job: 'settle', cron: '', nextMs: undefined }]);
  });

  it('that is asked for again after a later one is not run, be its own run pruned', async () => {
    const { coordinator } = replica('a');
    await runtime.advanceUntil(coordinator.shouldRun('settle:2026-01-01T00:10:00.000Z', 1_000));
    await runtime.advanceUntil(coordinator.onComplete('settle:2026-01-01T00:10:00.000Z'));
    expect(await runtime.advanceUntil(coordinator.shouldRun(key, 1_000))).toBe(false);
  });

  it('runs although the answer to its beginning was lost', async () => {
    const { coordinator, link } = replica('a');
    await runtime.advanceUntil(coordinator.shouldRun(key, 1_000));
    await runtime.advanceUntil(coordinator.onComplete(key));
    link.disturb('reply', 'drop', { operation: 'write', count: 1 });
    const next = 'settle:2026-01-01T00:10:00.000Z';
    expect(await runtime.advanceUntil(coordinator.shouldRun(next, 1_000))).toBe(true);
    await runtime.advanceUntil(coordinator.onComplete(next));
  });

  it('keeps its lease until it has ended, also when the process is closed', async () => {
    const { coordinator } = replica('a');
    await runtime.advanceUntil(coordinator.shouldRun(key, 1_000));
    let isClosed = false;
    const closing = coordinator.close().then(() => {
      isClosed = true;
    });
    await runtime.advance(20_000);
    expect([isClosed, coordinator.leaseOf('settle')?.state]).toEqual([false, 'held']);
    await runtime.advanceUntil(coordinator.onComplete(key));
    await runtime.advanceUntil(closing);
    await expect(coordinator.shouldRun(key, 1_000)).rejects.toThrow('closed');
  });

  it('without a name of its own is refused', async () => {
    const { coordinator } = replica('a');
    await expect(coordinator.shouldRun('undefined:2026-01-01T00:05:00.000Z', 1)).rejects.toThrow(
      'give the distributed task a name',
    );
  });

  it('is run by the package itself, in one of two replicas', async () => {
    const shared = new MemoryJobs();
    const ran: string[] = [];
    const tasks = ['a', 'b'].map((id) => {
      const store = memoryJobs(shared);
      const coordinator = nodeCronCoordinator(store, { id, ttlMs: 6_000 });
      stores.push(store);
      const task = cron.createTask('* * * * * *', ({ date }) => void ran.push(date.toISOString()), {
        ...{ name: 'settle', distributed: true, runCoordinator: coordinator },
      });
      return { task, coordinator };
    });
    for (const { task } of tasks) await task.start();
    await expect.poll(() => ran.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
    for (const { task } of tasks) await task.destroy();
    expect(new Set(ran).size).toBe(ran.length);
    for (const { coordinator } of tasks) await coordinator.close();
  }, 30_000);
});
