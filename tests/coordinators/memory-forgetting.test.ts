import { describe, expect, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/memory.js';
import { VirtualRuntime } from '../../src/testing.js';
import { call } from '../support/call.js';

const dayMs = 24 * 60 * 60 * 1000;
const ttlMs = 30_000;
const act = { by: 'dee', reason: 'a test' };

function setUp() {
  const runtime = new VirtualRuntime();
  const store = new MemoryStore({ runtime });
  const client = memoryCoordinator(store);
  const holder = Holder.create('ann', runtime);
  const enroll = (name: string, entryTtlMs = ttlMs) => {
    const entry = { standing: 'waiting', preference: 0, ttlMs: entryTtlMs } as const;
    return client.enroll([{ name, holder, ...entry }], call);
  };
  /** Leaves two lines of history under the name. */
  const touch = async (name: string) => {
    await client.suspend(name, act, call);
    await client.resume(name, act, call);
  };
  return { runtime, store, client, holder, enroll, touch };
}

describe('a memory store forgets', () => {
  it('the entries of random names once nobody refreshes them', async () => {
    const { runtime, store, client, enroll } = setUp();
    for (let index = 0; index < 100; index++) await enroll(`random-${index}`);
    await enroll('lasting', 4 * ttlMs);
    expect(store.candidates.nameCount).toBe(101);
    await runtime.advance(ttlMs);
    await client.read(['any'], call);
    expect(store.candidates.nameCount).toBe(1);
  });

  it('a name without entries when the last one is withdrawn', async () => {
    const { store, client, holder, enroll } = setUp();
    await enroll('name');
    await client.withdraw([{ name: 'name', holder }], call);
    expect(store.candidates.nameCount).toBe(0);
  });

  it('the history of a name that nobody has touched for thirty days', async () => {
    const { runtime, store, client, touch } = setUp();
    for (let index = 0; index < 100; index++) await touch(`random-${index}`);
    await runtime.advance(15 * dayMs);
    await touch('random-7');
    await runtime.advance(15 * dayMs);
    await touch('any');
    expect(store.histories.nameCount).toBe(2);
    expect(await client.history('random-7', call)).toHaveLength(4);
    expect(await client.history('random-8', call)).toEqual([]);
  });

  it('no history of a name that is suspended or held still', async () => {
    const { runtime, client, holder, touch } = setUp();
    await client.suspend('suspended', act, call);
    const request = { name: 'held', holder, attempt: runtime.randomHex(16), ttlMs: dayMs };
    const [result] = await client.acquire([{ ...request, keepHistory: true }], call);
    const term = result?.outcome === 'granted' ? result.term : 0;
    for (let day = 0; day < 70; day++) {
      await runtime.advance(dayMs - 1);
      await client.renew([{ name: 'held', holder, term, ttlMs: dayMs }], call);
    }
    await touch('any');
    expect(await client.history('suspended', call)).toHaveLength(1);
    expect(await client.history('held', call)).toHaveLength(1);
  });

  it('everything with its data', async () => {
    const { store, client, enroll, touch } = setUp();
    await touch('name');
    await client.suspend('name', act, call);
    await enroll('name');
    store.restart({ keepData: false });
    expect(await client.read(['name'], call)).toEqual([undefined]);
    expect(await client.candidates('name', call)).toEqual([]);
    expect(await client.history('name', call)).toEqual([]);
  });
});

describe('the history of a memory store', () => {
  it('is a copy: what a reader does to it changes nothing', async () => {
    const { client, touch } = setUp();
    await touch('name');
    (await client.history('name', call)).length = 0;
    expect(await client.history('name', call)).toHaveLength(2);
  });

  it('ends a term whose record a foreign text replaced', async () => {
    const { runtime, store, client, holder } = setUp();
    const request = { name: 'name', holder, attempt: runtime.randomHex(16), ttlMs };
    await client.acquire([{ ...request, keepHistory: true }], call);
    store.overwriteRecord('name', 'somebody else wrote this');
    await runtime.advance(1000);
    const endedAtMs = runtime.now().wallMs;
    const ended = { endReason: 'vanished', endedAtMs };
    expect(await client.history('name', call)).toMatchObject([ended]);
    await runtime.advance(1000);
    expect(await client.history('name', call)).toMatchObject([ended]);
  });
});
