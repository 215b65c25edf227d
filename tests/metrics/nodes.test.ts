import { describe, expect, it } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { OptionError } from '../../src/errors/index.js';
import { Leases } from '../../src/leases/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { scraped } from './scrape.js';

type Listener = (event: { readonly address?: string }) => void;

/** A store in memory that tells of servers, as those do that have some. */
function createServed(told: readonly string[]) {
  const runtime = new VirtualRuntime();
  const listeners = new Map<string, Listener>();
  const on = (name: string, listener: Listener) => {
    if (!told.includes(name)) throw new OptionError('event', name, 'is never told', 'use another');
    listeners.set(name, listener);
    return () => listeners.delete(name);
  };
  const store = memoryCoordinator(new MemoryStore({ runtime }), { runtime });
  const leases = new Leases(Object.assign(store, { on }), { id: 'a', runtime });
  const { metrics, scrape } = scraped({ runtime });
  metrics.observe(leases);
  return {
    runtime,
    metrics,
    leases,
    tell: (name: string, address: string) => listeners.get(name)?.({ address }),
    async nodes() {
      const samples = await runtime.advanceUntil(scrape());
      return [...samples].flatMap(([name, value]) => {
        const node = /^tenure_store_node_up\{.*node="(.*)"\}$/.exec(name)?.[1];
        return node === undefined ? [] : [`${node} ${value}`];
      });
    },
  };
}

describe('a server of the store that has gone', () => {
  it('is told as gone for an hour, and then no more if another is there', async () => {
    const { runtime, tell, nodes } = createServed(['connected', 'disconnected']);
    tell('connected', 'pod-1');
    tell('disconnected', 'pod-1');
    await runtime.advance(3 * 3_600_000);
    expect(await nodes()).toEqual(['pod-1 0']);
    tell('connected', 'pod-2');
    tell('disconnected', 'pod-2');
    tell('connected', 'pod-3');
    expect(await nodes()).toEqual(['pod-2 0', 'pod-3 1']);
    await runtime.advance(3_600_000);
    expect(await nodes()).toEqual(['pod-3 1']);
    tell('connected', 'pod-1');
    expect(await nodes()).toEqual(['pod-3 1', 'pod-1 1']);
  });

  it('is told until it is back if it is one of a quorum', async () => {
    const events = ['connected', 'disconnected', 'node-out', 'node-reseeded'];
    const { runtime, tell, nodes } = createServed(events);
    for (const address of ['one', 'two', 'three']) tell('connected', address);
    tell('disconnected', 'two');
    tell('node-out', 'three');
    await runtime.advance(2 * 3_600_000);
    expect(await nodes()).toEqual(['one 1', 'two 0', 'three 0']);
  });
});

describe('metrics that are closed', () => {
  it('observe nothing more', () => {
    const { metrics, leases } = createServed([]);
    metrics.close();
    expect(() => metrics.observe(leases)).toThrow(/Metrics is closed/);
  });
});
