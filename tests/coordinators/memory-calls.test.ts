import { describe, expect, it, vi } from 'vitest';
import { type Call, type EnrollRequest, Holder } from '../../src/coordinators/index.js';
import { FaultLink, MemoryStore, memoryCoordinator } from '../../src/memory.js';
import { VirtualRuntime } from '../../src/testing.js';
import { call } from '../support/call.js';

const name = 'group/name';
const ttlMs = 30_000;
const longMs = 60 * 60 * 1000;
const act = { by: 'dee', reason: 'a test' };

function setUp() {
  const runtime = new VirtualRuntime();
  const store = new MemoryStore({ runtime });
  const link = new FaultLink();
  const client = memoryCoordinator(store);
  const other = memoryCoordinator(store, { link });
  const holder = Holder.create('ann', runtime);
  const take = async (parts: { readonly graceMs?: number } = {}): Promise<number> => {
    const request = { name, holder, attempt: runtime.randomHex(16), ttlMs, ...parts };
    const [result] = await client.acquire([request], call);
    if (result?.outcome !== 'granted') throw new Error(`not granted: ${result?.outcome}`);
    return result.term;
  };
  const enroll = async (id: string, parts: Partial<EnrollRequest> = {}): Promise<Call[]> => {
    const waiter = Holder.create(id, runtime);
    const calls: Call[] = [];
    other.onCalled(waiter, (each) => calls.push(each));
    const usual = { standing: 'waiting', preference: 0, ttlMs: longMs } as const;
    await other.enroll([{ name, holder: waiter, ...usual, ...parts }], call);
    return calls;
  };
  return { runtime, store, link, client, other, holder, take, enroll };
}

describe('a memory store calls', () => {
  it('the first three when a lease expires, without anybody asking, at that moment', async () => {
    const { runtime, take, enroll } = setUp();
    await take();
    const lines = [];
    for (const id of ['a', 'b', 'c', 'd']) lines.push(await enroll(id));
    await runtime.advance(ttlMs - 1);
    expect(lines.flat()).toEqual([]);
    await runtime.advance(1);
    expect(lines).toEqual([
      [{ name, position: 0 }],
      [{ name, position: 1 }],
      [{ name, position: 2 }],
      [],
    ]);
  });

  it('nobody while a lock-delay lasts, and the first when it ends', async () => {
    const { runtime, take, enroll } = setUp();
    await take({ graceMs: 10_000 });
    const calls = await enroll('bob');
    await runtime.advance(ttlMs + 9_999);
    expect(calls).toEqual([]);
    await runtime.advance(1);
    expect(calls).toEqual([{ name, position: 0 }]);
  });

  it('the others when a reservation ends that its successor did not take', async () => {
    const { runtime, client, holder, take, enroll } = setUp();
    const term = await take();
    const first = await enroll('cid', { preference: 99 });
    const successor = await enroll('bob');
    await client.handoff([{ name, holder, term, to: 'bob', reserveMs: 5_000 }], call);
    await runtime.advance(4_999);
    expect([first, successor]).toEqual([[], [{ name, position: 0 }]]);
    await runtime.advance(1);
    expect(first).toEqual([{ name, position: 0 }]);
    expect(successor).toHaveLength(2);
  });

  it('nobody on a handoff to somebody who does not wait', async () => {
    const { runtime, client, holder, take, enroll } = setUp();
    const term = await take();
    const calls = await enroll('bob');
    await client.handoff([{ name, holder, term, to: 'cid', reserveMs: 5_000 }], call);
    await runtime.settle();
    expect(calls).toEqual([]);
  });

  it('the successor of a revoked lease when that expires, after its lock-delay', async () => {
    const { runtime, client, take, enroll } = setUp();
    await take({ graceMs: 10_000 });
    const first = await enroll('cid', { preference: 99 });
    const successor = await enroll('bob');
    await client.revoke(name, { ...act, to: 'bob', reserveMs: longMs }, call);
    await runtime.advance(ttlMs);
    expect(successor).toEqual([]);
    await runtime.advance(10_000);
    expect([first, successor]).toEqual([[], [{ name, position: 0 }]]);
  });

  it('nobody when a lease expires under a suspension, and who may have the name when that ends', async () => {
    const { runtime, client, take, enroll } = setUp();
    await take();
    const calls = await enroll('bob');
    await client.suspend(name, act, call);
    await runtime.advance(ttlMs);
    expect(calls).toEqual([]);
    await client.resume(name, act, call);
    await runtime.settle();
    expect(calls).toEqual([{ name, position: 0 }]);
  });

  it('nobody when a name is resumed whose term has still to end', async () => {
    const { runtime, client, take, enroll } = setUp();
    await take();
    const calls = await enroll('bob');
    await client.suspend(name, act, call);
    await client.resume(name, act, call);
    await runtime.advance(ttlMs - 1);
    expect(calls).toEqual([]);
    await runtime.advance(1);
    expect(calls).toEqual([{ name, position: 0 }]);
  });

  it('everybody who listens, without a name, after a restart', async () => {
    const { runtime, store, enroll } = setUp();
    const calls = await enroll('bob', { standing: 'present' });
    store.restart({ keepData: true });
    await runtime.settle();
    expect(calls).toEqual([{ name: undefined, position: 0 }]);
  });

  it('in vain if the network loses it: what wakes is not what grants', async () => {
    const { runtime, link, client, holder, take, enroll } = setUp();
    const term = await take();
    const calls = await enroll('bob');
    link.disturb('reply', 'drop', { operation: 'watch' });
    await client.release([{ name, holder, term }], call);
    await runtime.settle();
    expect(calls).toEqual([]);
  });

  it('by a timer that runs only while somebody listens', async () => {
    const { runtime, other, holder, take } = setUp();
    await take();
    expect(runtime.pendingTimerCount).toBe(0);
    const stop = other.onCalled(holder, () => undefined);
    expect(runtime.pendingTimerCount).toBe(1);
    stop();
    expect(runtime.pendingTimerCount).toBe(0);
    other.onCalled(holder, () => undefined);
    await other.close();
    expect(runtime.pendingTimerCount).toBe(0);
  });
});

describe('a watch on a memory store', () => {
  it('is not woken when a lock-delay begins, but when it ends', async () => {
    const { runtime, client, take } = setUp();
    const wake = vi.fn();
    client.watch('group', wake);
    await take({ graceMs: 10_000 });
    await runtime.advance(ttlMs + 9_999);
    expect(wake).not.toHaveBeenCalled();
    await runtime.advance(1);
    expect(wake.mock.calls).toEqual([[name]]);
  });

  it('is woken by a grant only if that keeps a history', async () => {
    const { runtime, client, holder, take } = setUp();
    const wake = vi.fn();
    client.watch('group', wake);
    await take();
    await runtime.settle();
    expect(wake).not.toHaveBeenCalled();
    const request = { name: 'group/other', holder, attempt: runtime.randomHex(16), ttlMs };
    await client.acquire([{ ...request, keepHistory: true }], call);
    await runtime.settle();
    expect(wake.mock.calls).toEqual([['group/other']]);
  });
});
