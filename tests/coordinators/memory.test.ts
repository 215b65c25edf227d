import { afterEach, describe, expect, it, vi } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import {
  ClosedError,
  OptionError,
  OutcomeUnknownError,
  StoreRefusedError,
  UnreachableError,
} from '../../src/errors/index.js';
import { FaultLink, MemoryStore, memoryCoordinator } from '../../src/memory.js';
import { VirtualRuntime } from '../../src/testing.js';
import { call } from '../support/call.js';

const ttlMs = 30_000;

function setUp() {
  const runtime = new VirtualRuntime();
  const store = new MemoryStore({ runtime });
  const link = new FaultLink();
  const client = memoryCoordinator(store, { link });
  const other = memoryCoordinator(store);
  const holder = Holder.create('ann', runtime);
  const request = (name: string) => ({ name, holder, attempt: runtime.randomHex(16), ttlMs });
  const take = async (name: string): Promise<number> => {
    const [result] = await client.acquire([request(name)], call);
    if (result?.outcome !== 'granted') throw new Error(`not granted: ${result?.outcome}`);
    return result.term;
  };
  return { runtime, store, link, client, other, holder, request, take };
}

describe('a memory store', () => {
  it('is seen only by its own clients', async () => {
    const { take, runtime } = setUp();
    await take('name');
    const stranger = memoryCoordinator(undefined, { runtime });
    expect(await stranger.read(['name'], call)).toEqual([undefined]);
  });

  it('counts the time of a suspended machine', async () => {
    const { runtime, take, other } = setUp();
    await take('name');
    runtime.suspend(ttlMs - 1);
    expect(await other.read(['name'], call)).toMatchObject([{ remainingMs: 1 }]);
    runtime.suspend(1);
    expect(await other.read(['name'], call)).toEqual([undefined]);
  });

  it('judges expiry when it is asked, though no timer could fire', async () => {
    const { runtime, take, other } = setUp();
    await take('name');
    runtime.freeze(ttlMs);
    expect(await other.list('', call)).toEqual([]);
  });

  it('grants terms from its wall clock upward', async () => {
    const { runtime, take } = setUp();
    const first = await take('a');
    expect(first).toBe(runtime.now().wallMs);
    expect(await take('b')).toBe(first + 1);
    runtime.stepWall(1000);
    expect(await take('c')).toBe(first + 1000);
    runtime.stepWall(-2000);
    expect(await take('d')).toBe(first + 1001);
  });

  it('refuses a batch once the terms are used up, and grants nothing of it', async () => {
    const { store, client, request } = setUp();
    const above = 8_640_000_000_000_000 - 1;
    await client.acquire([{ ...request('last'), above }], call);
    store.deleteRecord('last');
    const batch = [request('a'), request('b')];
    await expect(client.acquire(batch, call)).rejects.toMatchObject({
      constructor: StoreRefusedError,
      storeCode: 'TERMS_EXHAUSTED',
    });
    expect(await client.list('', call)).toEqual([]);
    expect(store.lastTerm).toBe(above + 1);
  });

  it('keeps nothing of a name after its lease has ended', async () => {
    const { runtime, store, client, holder, take } = setUp();
    const term = await take('released');
    await client.release([{ name: 'released', holder, term }], call);
    await take('expired');
    await runtime.advance(ttlMs);
    await client.read(['other'], call);
    expect(store.records.namesIn('')).toEqual([]);
  });
});

describe('a watch on a memory store', () => {
  it('wakes when a lease expires, without anybody asking', async () => {
    const { runtime, client, other, take } = setUp();
    const wake = vi.fn();
    other.watch('group', wake);
    await take('group/name');
    await take('elsewhere/name');
    await runtime.advance(ttlMs - 1);
    expect(wake).not.toHaveBeenCalled();
    await runtime.advance(1);
    expect(wake.mock.calls).toEqual([['group/name']]);
    await client.close();
    await other.close();
  });

  it('follows a renewal: the wake comes with the new deadline', async () => {
    const { runtime, client, other, holder, take } = setUp();
    const wake = vi.fn();
    other.watch('', wake);
    const term = await take('name');
    await runtime.advance(20_000);
    await client.renew([{ name: 'name', holder, term, ttlMs }], call);
    await runtime.advance(ttlMs - 1);
    expect(wake).not.toHaveBeenCalled();
    await runtime.advance(1);
    expect(wake).toHaveBeenCalledOnce();
  });

  it('wakes without a name after a restart', async () => {
    const { runtime, store, other } = setUp();
    const wake = vi.fn();
    other.watch('group', wake);
    store.restart({ keepData: true });
    await runtime.settle();
    expect(wake.mock.calls).toEqual([[undefined]]);
  });

  it('is not woken by a wake that was on its way when it was taken back', async () => {
    const { runtime, store, other } = setUp();
    const wake = vi.fn();
    const stop = other.watch('', wake);
    store.restart({ keepData: true });
    stop();
    await runtime.settle();
    expect(wake).not.toHaveBeenCalled();
  });

  it('needs a timer only while somebody watches', async () => {
    const { runtime, other, take } = setUp();
    await take('name');
    expect(runtime.pendingTimerCount).toBe(0);
    const stop = other.watch('', () => undefined);
    expect(runtime.pendingTimerCount).toBe(1);
    stop();
    expect(runtime.pendingTimerCount).toBe(0);
    other.watch('', () => undefined);
    await other.close();
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('loses a wake with the network, and its callback may throw', async () => {
    const { runtime, store, link, client, other } = setUp();
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const lost = vi.fn();
    const woken = vi.fn();
    client.watch('', lost);
    other.watch('', () => {
      throw new Error('a bug in a callback');
    });
    other.watch('', woken);
    link.disturb('reply', 'drop', { operation: 'watch' });
    store.restart({ keepData: true });
    await runtime.settle();
    expect(lost).not.toHaveBeenCalled();
    expect(woken).toHaveBeenCalledOnce();
    expect(warning).toHaveBeenCalledOnce();
  });
});

describe('a call to a memory store', () => {
  afterEach(() => vi.restoreAllMocks());

  it('is not answered before the next statement of its caller has run', async () => {
    const { client } = setUp();
    let isAnswered = false;
    const pending = client.read(['name'], call).then(() => {
      isAnswered = true;
    });
    await Promise.resolve();
    expect(isAnswered).toBe(false);
    await pending;
  });

  it('tells at once that it could not be sent', async () => {
    const { link, client, request, runtime, other } = setUp();
    link.cut();
    await expect(client.acquire([request('name')], call)).rejects.toThrow(UnreachableError);
    expect(runtime.pendingTimerCount).toBe(0);
    link.heal();
    expect(await other.read(['name'], call)).toEqual([undefined]);
  });

  it('is unknown when its timeout passes, to the millisecond', async () => {
    const { link, client, request, runtime } = setUp();
    link.disturb('request', 'drop', { operation: 'acquire', count: 1 });
    const pending = client.acquire([request('name')], call);
    const rejected = vi.fn();
    pending.catch(rejected);
    await runtime.advance(call.timeoutMs - 1);
    expect(rejected).not.toHaveBeenCalled();
    await runtime.advance(1);
    expect(rejected.mock.calls[0]?.[0]).toBeInstanceOf(OutcomeUnknownError);
    expect((await client.acquire([request('name')], call))[0]?.outcome).toBe('granted');
  });

  it('is refused by the store from its deadline on, even if the caller could not notice the time', async () => {
    const { link, client, holder, request, take, runtime } = setUp();
    const term = await take('held');
    link.disturb('request', 'hold');
    const acquiring = client.acquire([request('name')], call);
    const renewing = client.renew([{ name: 'held', holder, term, ttlMs }], call);
    renewing.catch(() => undefined);
    // Asleep: the timers of the calls stand still, the store's clock does not.
    runtime.suspend(call.timeoutMs);
    expect(link.flush()).toBe(2);
    expect(await acquiring).toEqual([{ outcome: 'too-late' }]);
    await expect(renewing).rejects.toMatchObject({ storeCode: 'TOO_LATE' });
  });

  it('is unknown when its client is closed meanwhile, and leaves no timer', async () => {
    const { link, client, request, runtime } = setUp();
    link.hang();
    const pending = client.acquire([request('name')], call);
    pending.catch(() => undefined);
    await client.close();
    await expect(pending).rejects.toThrow(OutcomeUnknownError);
    expect(runtime.pendingTimerCount).toBe(0);
    await expect(client.read(['name'], call)).rejects.toThrow(ClosedError);
  });

  it('names neither the nonce nor the payload in what it refuses', async () => {
    const { client, request } = setUp();
    const secret = 'secret'.repeat(1000);
    const refusal = client.acquire([{ ...request('name'), metadata: secret }], call);
    await expect(refusal).rejects.toThrow(OptionError);
    await expect(refusal).rejects.not.toThrow('secretsecret');
    await expect(refusal).rejects.toMatchObject({ value: '6000 bytes' });
  });

  it('lets the process end while only a watch is waiting', () => {
    const store = new MemoryStore();
    const setTimer = vi.spyOn(store.runtime, 'setTimer');
    store.records.set('name', {
      kind: 'reservation',
      to: 'bob',
      term: 1,
      deadlineMs: store.elapsedMs() + 1000,
    });
    const stop = memoryCoordinator(store).watch('', () => undefined);
    expect(setTimer.mock.calls[0]?.[2]).toEqual({ keepsProcessAlive: false });
    stop();
  });
});

describe('a fault link', () => {
  it('disturbs as many messages as it was told, of the operation it was told', async () => {
    const { link, client, runtime } = setUp();
    link.disturb('reply', 'drop', { operation: 'list', count: 1 });
    expect(await client.read(['name'], call)).toEqual([undefined]);
    await expect(runtime.advanceUntil(client.list('', call))).rejects.toThrow(OutcomeUnknownError);
    expect(await client.list('', call)).toEqual([]);
  });

  it('keeps what it holds until it is flushed, healed or not', async () => {
    const { link, client, request, other, runtime } = setUp();
    link.disturb('request', 'hold');
    const pending = client.acquire([request('name')], call);
    link.heal();
    await runtime.settle();
    expect(await other.read(['name'], call)).toEqual([undefined]);
    expect(link.flush()).toBe(1);
    expect((await pending)[0]?.outcome).toBe('granted');
    expect(link.flush()).toBe(0);
  });
});
