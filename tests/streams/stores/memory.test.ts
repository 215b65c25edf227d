import { describe, expect, it } from 'vitest';
import { ClosedError, OptionError } from '../../../src/errors/index.js';
import { FaultLink, MemoryStreams, memoryStreams } from '../../../src/memory.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import { call } from '../../support/call.js';

const message = { shard: 0, key: 'a', id: 'x', payload: '1' };

describe('memory streams', () => {
  it('remember an id for the dedupe window, and not for longer', async () => {
    const runtime = new VirtualRuntime();
    const store = memoryStreams(new MemoryStreams({ runtime, dedupeWindowMs: 500 }));
    await store.publish([message], call);
    expect(store.promises.dedupeWindowMs).toBe(500);
    await runtime.advance(499);
    expect(await store.publish([message], call)).toEqual([{ outcome: 'duplicate', seq: 1 }]);
    await runtime.advance(1);
    expect(await store.publish([message], call)).toEqual([{ outcome: 'appended', seq: 2 }]);
  });

  it('refuse options that no server would take', () => {
    expect(() => new MemoryStreams({ dedupeWindowMs: 0 })).toThrow(OptionError);
    expect(() => memoryStreams(undefined, { largestPayloadBytes: 0 })).toThrow(OptionError);
  });

  it('answer no sooner than a server could: never before the caller went on', async () => {
    const order: string[] = [];
    const pending = memoryStreams()
      .publish([message], call)
      .then(() => order.push('answered'));
    order.push('went on');
    await Promise.resolve();
    order.push('a microtask later');
    await pending;
    expect(order).toEqual(['went on', 'a microtask later', 'answered']);
  });

  it('leave no timer behind, answered, lost or closed', async () => {
    const runtime = new VirtualRuntime();
    const link = new FaultLink();
    const store = memoryStreams(new MemoryStreams({ runtime }), { link });
    await store.publish([message], call);
    expect(runtime.pendingTimerCount).toBe(0);
    link.hang();
    const lost = store.publish([message], call);
    const closed = expect(lost).rejects.toThrow('closed meanwhile');
    await store.close();
    await closed;
    expect(runtime.pendingTimerCount).toBe(0);
    await expect(store.publish([message], call)).rejects.toThrow(ClosedError);
  });

  it('take no harm from a request that its sender changes after sending it', async () => {
    const store = memoryStreams();
    const request = { ...message };
    const pending = store.publish([request], call);
    request.key = 'b';
    await pending;
    expect(await store.publish([{ ...message, id: 'y' }], call)).toEqual([
      { outcome: 'appended', seq: 2 },
    ]);
  });
});
