import { describe, expect, it } from 'vitest';
import { OptionError, StaleTermError, StoreRefusedError } from '../../src/errors/index.js';
import { registerFenceConformance } from '../../src/fences/conformance/index.js';
import { tokenOf } from '../../src/fences/conformance/scenario.js';
import {
  MemoryResource,
  type MemoryTransaction,
  memoryFence,
} from '../../src/fences/memory/index.js';
import { memorySubject } from './memory-subject.js';

registerFenceConformance('the memory fence', async () => memorySubject(memoryFence), {
  describe,
  it,
});

describe('the memory resource', () => {
  it('commits all writes of a transaction or none', async () => {
    const resource = new MemoryResource();
    await resource.transaction(async (open) => {
      open.set('kept', 1);
      open.set('dropped', 2);
      open.delete('dropped');
      expect(open.get('kept')).toBe(1);
      expect(resource.read('kept')).toBeUndefined();
    });
    const failed = resource.transaction(async (open) => {
      open.set('kept', 3);
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect([resource.read('kept'), resource.read('dropped')]).toEqual([1, undefined]);
  });

  it('refuses a commit whose reads were overtaken, so that no update is lost', async () => {
    const resource = new MemoryResource();
    const increment = async () =>
      await resource.transaction(async (open) => {
        const count = (open.get('count') as number | undefined) ?? 0;
        await Promise.resolve();
        open.set('count', count + 1);
      });
    const [first, second] = await Promise.allSettled([increment(), increment()]);
    expect([first.status, second.status]).toEqual(['fulfilled', 'rejected']);
    expect((second as PromiseRejectedResult).reason).toBeInstanceOf(StoreRefusedError);
    await increment();
    expect(resource.read('count')).toBe(2);
  });

  it('hands out copies, so that nobody changes what is committed from outside', async () => {
    const resource = new MemoryResource();
    const value = { list: [1] };
    await resource.transaction(async (open) => open.set('value', value));
    value.list.push(2);
    (resource.read('value') as typeof value).list.push(3);
    expect(resource.read('value')).toEqual({ list: [1] });
  });

  it('refuses writes to a transaction that has ended', async () => {
    const resource = new MemoryResource();
    const escaped = await resource.transaction(async (open) => open);
    expect(() => escaped.set('late', 1)).toThrow('is closed');
    expect(resource.read('late')).toBeUndefined();
  });
});

describe('the memory fence', () => {
  it("refuses the commit of a transaction during which another owner's claim was made", async () => {
    const fence = memoryFence();
    const write = fence.transaction(tokenOf('ledger', 1), async (open) => {
      open.set('balance', 10);
      await fence.claim(tokenOf('ledger', 2));
    });
    await expect(write).rejects.toBeInstanceOf(StaleTermError);
    expect(fence.resource.read('balance')).toBeUndefined();
  });

  it('refuses a transaction of another resource', async () => {
    const fence = memoryFence();
    const elsewhere = new MemoryResource().transaction((open) =>
      fence.check(open, tokenOf('ledger', 1)),
    );
    await expect(elsewhere).rejects.toBeInstanceOf(OptionError);
    const foreign = fence.check({} as MemoryTransaction, tokenOf('ledger', 1));
    await expect(foreign).rejects.toBeInstanceOf(OptionError);
  });
});
