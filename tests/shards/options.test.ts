import { describe, expect, it } from 'vitest';
import { memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { OptionError } from '../../src/errors/index.js';
import { Leases } from '../../src/leases/index.js';
import { Pins, ShardWorker, type ShardWorkerOptions } from '../../src/shards/index.js';
import { RecordingWork } from './recording-work.js';

const leases = new Leases(memoryCoordinator());
const pinsOf = (group: string, shardCount: number) => ({
  group,
  shardCount,
  extraShards: [],
  refresh: async () => {},
});

describe('a shard worker', () => {
  const good: ShardWorkerOptions = { leases, group: 'orders', work: new RecordingWork() };

  it.each<[string, string, unknown]>([
    ['no leases', 'leases', undefined],
    ['a coordinator for leases', 'leases', memoryCoordinator()],
    ['no work', 'work', undefined],
    ['a work of null', 'work', null],
    ['an empty work', 'work', {}],
    ['a number for work', 'work', 3],
    ['pins of null', 'pins', null],
    ['half of a work', 'work', { begin: async () => {}, drain: async () => {} }],
    ['a work of properties', 'work', { begin: 1, drain: 2, drop: 3 }],
    ['no group', 'group', undefined],
    ['a group that is no name', 'group', 'a//b'],
    ['a shard count between two', 'shardCount', 100],
    ['pins that are none', 'pins', {}],
    ['pins of another group', 'pins', pinsOf('carts', 256)],
    ['pins of another shard count', 'pins', pinsOf('orders', 512)],
    ['a sweep as text', 'sweepEveryMs', '5000'],
    ['a reservation beyond the ttl', 'reserveMs', 30_001],
    ['a drain in no time', 'drainTimeoutMs', 0],
    ['a grace that is no number', 'abortGraceMs', Number.NaN],
  ])('refuses %s', (_title, option, value) => {
    const make = () => new ShardWorker({ ...good, [option]: value } as ShardWorkerOptions);
    expect(make).toThrow(OptionError);
    expect(make).toThrow(expect.objectContaining({ option }));
  });

  it('refuses to be made of nothing', () => {
    expect(() => new ShardWorker(undefined as never)).toThrow(OptionError);
  });

  it('takes pins of its own group and shard count', () => {
    expect(() => new ShardWorker({ ...good, pins: pinsOf('orders', 256) })).not.toThrow();
  });
});

describe('pins', () => {
  it.each<[string, string, unknown]>([
    ['no coordinator', 'coordinator', undefined],
    ['leases for a coordinator', 'coordinator', leases],
    ['no group', 'group', undefined],
    ['a time limit as text', 'timeoutMs', '100'],
    ['no time at all', 'timeoutMs', 0],
  ])('refuse %s', async (_title, option, value) => {
    const options = { coordinator: memoryCoordinator(), group: 'orders', [option]: value };
    const loading = Pins.load(options as never);
    await expect(loading).rejects.toBeInstanceOf(OptionError);
    await expect(loading).rejects.toMatchObject({ option });
  });
});
