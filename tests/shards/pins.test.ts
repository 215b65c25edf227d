import { beforeEach, describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import {
  OptionError,
  OutcomeUnknownError,
  RecordCorruptError,
  UnreachableError,
} from '../../src/errors/index.js';
import { Pins, shardOf } from '../../src/shards/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

describe('the pins of a group', () => {
  let runtime: VirtualRuntime;
  let store: MemoryStore;
  let link: FaultLink;
  let coordinator: Coordinator;

  beforeEach(() => {
    runtime = new VirtualRuntime();
    store = new MemoryStore({ runtime });
    link = new FaultLink();
    coordinator = memoryCoordinator(store, { runtime, link });
  });

  const load = (group = 'fleet') => Pins.load({ coordinator, group, runtime });

  it('are none at first: every key lives where its hash says', async () => {
    const pins = await load();
    expect(pins.table.version).toBe(0);
    expect(pins.shardOf('customer-1')).toBe(shardOf('customer-1'));
    expect(pins.extraShards).toEqual([]);
  });

  it('are seen by others after a refresh, and not before', async () => {
    const writer = await load();
    const reader = await load();
    await writer.beginMove('customer-1', 256);
    expect(reader.extraShards).toEqual([]);
    await reader.refresh();
    expect(reader.extraShards).toEqual([256]);
    await writer.finishMove('customer-1', 256);
    expect(reader.shardOf('customer-1')).toBe(shardOf('customer-1'));
    await reader.refresh();
    expect(reader.shardOf('customer-1')).toBe(256);
    expect(reader.table.version).toBe(2);
  });

  it('of two groups are two tables', async () => {
    const fleet = await load('fleet');
    await fleet.beginMove('a', 300);
    expect((await load('other')).table.size).toBe(0);
  });

  it('keep every one of 20 changes made at the same time', async () => {
    const writers = await Promise.all(Array.from({ length: 20 }, () => load()));
    const changes = Promise.all(
      writers.map((pins, index) => pins.beginMove(`key-${index}`, 256 + index)),
    );
    await runtime.advanceUntil(changes);
    const pins = await load();
    expect(pins.table.size).toBe(20);
    expect(pins.table.version).toBe(20);
  });

  it('are changed once by a change whose answer was lost and that is repeated', async () => {
    const pins = await load();
    link.disturb('reply', 'drop', { operation: 'writeDocument', count: 1 });
    const lost = pins.beginMove('customer-1', 256).catch((error: unknown) => error);
    expect(await runtime.advanceUntil(lost)).toBeInstanceOf(OutcomeUnknownError);
    await pins.beginMove('customer-1', 256);
    expect(pins.table.version).toBe(1);
    await pins.finishMove('customer-1', 256);
    await pins.finishMove('customer-1', 256);
    expect(pins.table.version).toBe(2);
  });

  it('stay as they were read while the store cannot be reached', async () => {
    const pins = await load();
    await pins.beginMove('customer-1', 256);
    await pins.finishMove('customer-1', 256);
    link.cut();
    await expect(pins.refresh()).rejects.toBeInstanceOf(UnreachableError);
    expect(pins.shardOf('customer-1')).toBe(256);
  });

  it('are not replaced by an older answer that comes late', async () => {
    const pins = await load();
    await pins.beginMove('a', 256);
    link.disturb('reply', 'hold', { operation: 'readDocument', count: 1 });
    const late = pins.refresh();
    await runtime.settle();
    await pins.finishMove('a', 256);
    link.flush();
    await late;
    expect(pins.table.version).toBe(2);
    expect(pins.shardOf('a')).toBe(256);
  });

  it('share one request among refreshes at the same time', async () => {
    const pins = await load();
    const reads = [pins.refresh(), pins.refresh()];
    expect(reads[0]).toBe(reads[1]);
    await Promise.all(reads);
    expect(pins.refresh()).not.toBe(reads[0]);
  });

  it('cannot be loaded without the store, for another shard count, or from a foreign text', async () => {
    const pins = await load();
    await pins.beginMove('a', 256);
    await expect(
      Pins.load({ coordinator, group: 'fleet', shardCount: 512, runtime }),
    ).rejects.toBeInstanceOf(OptionError);
    await coordinator.writeDocument('odd/pins', 'mine', 0, { timeoutMs: 100 });
    await expect(load('odd')).rejects.toBeInstanceOf(RecordCorruptError);
    await expect(load('')).rejects.toBeInstanceOf(OptionError);
    link.cut();
    await expect(load()).rejects.toBeInstanceOf(UnreachableError);
  });

  it('give up, and say so, when others are faster every time', async () => {
    const pins = await load();
    coordinator.writeDocument = async () => ({ outcome: 'conflict', current: undefined });
    const change = pins.beginMove('a', 256).catch((error: unknown) => error);
    expect(await runtime.advanceUntil(change)).toMatchObject({ storeCode: 'CONFLICT' });
  });
});
