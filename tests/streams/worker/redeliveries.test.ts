import { describe, expect, it } from 'vitest';
import { Redeliveries } from '../../../src/streams/worker/redeliveries.js';
import type { ShardRunner } from '../../../src/streams/worker/runner.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';

describe('what comes again after a takeover', () => {
  function create() {
    const runtime = new VirtualRuntime();
    const told: unknown[] = [];
    const emit = (_name: string, event: object) => void told.push(event);
    const redeliveries = new Redeliveries(runtime, { listenerCount: () => 1, emit });
    const nowMs = runtime.now().wallMs;
    const read = (term: number, ...agesMs: readonly number[]) =>
      redeliveries.read(
        { shard: 3, lease: { term } } as ShardRunner,
        agesMs.map((ageMs, index) => {
          const message = { position: `${index}`, key: 'k', seq: index, id: `${index}` };
          return { ...message, payload: '1', appendedAtMs: nowMs - ageMs };
        }),
      );
    return { redeliveries, told, read };
  }

  it('is what was appended before the lease of the former owner expired', () => {
    const { redeliveries, told, read } = create();
    redeliveries.takenOver(3, 8, 200);
    read(8, 5_000, 201, 200, 10);
    expect(told).toEqual([{ shard: 3, term: 8, messageCount: 2 }]);
  });

  it('is counted once, with what is read first', () => {
    const { redeliveries, told, read } = create();
    redeliveries.takenOver(3, 8, 0);
    read(8, 5_000);
    read(8, 4_000);
    expect(told).toHaveLength(1);
  });

  it('is nothing where no lease expired, or nothing was left', () => {
    const { redeliveries, told, read } = create();
    read(7, 5_000);
    redeliveries.takenOver(3, 8, 0);
    read(8);
    read(8, 5_000);
    expect(told).toEqual([]);
  });

  it('is left to the owner that took over: a former one of this process does not count it', () => {
    const { redeliveries, told, read } = create();
    redeliveries.takenOver(3, 8, 0);
    read(7, 5_000);
    expect(told).toEqual([]);
    read(8, 5_000);
    expect(told).toHaveLength(1);
  });

  it('is not counted by a later owner', () => {
    const { redeliveries, told, read } = create();
    redeliveries.takenOver(3, 8, 0);
    read(9, 5_000);
    read(8, 5_000);
    expect(told).toEqual([]);
  });
});
