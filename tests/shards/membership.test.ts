import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { Leases } from '../../src/leases/index.js';
import { Membership } from '../../src/shards/membership.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

describe('the place of one process among the members', () => {
  let runtime: VirtualRuntime;
  let store: MemoryStore;
  let leases: Leases;
  let membership: Membership;

  beforeEach(async () => {
    runtime = new VirtualRuntime();
    store = new MemoryStore({ runtime });
    leases = new Leases(memoryCoordinator(store), { id: 'a', runtime });
    membership = new Membership(leases, 'g', 256);
    await membership.register(new AbortController().signal);
  });

  afterEach(() => leases.close());

  it('is doubted only until the store shows the record', async () => {
    expect(await membership.doubt()).toBe(false);
    expect(membership.term).toBe(leases.live[0]?.term);
    store.deleteRecord('g/members/a');
    expect(await membership.doubt()).toBe(true);
    expect(membership.term).toBeUndefined();
    expect(membership.isSelf('a')).toBe(false);
    expect(await membership.ensure()).toBe(true);
    expect(membership.isSelf('a')).toBe(true);
    expect(await membership.ensure()).toBe(false);
  });

  it('tells its state with a renewal that is sent at once', async () => {
    membership.state = 'draining';
    const told = membership.whenTold();
    await runtime.advanceUntil(told, 10);
    const record = await leases.read('g/members/a');
    expect(record).toMatchObject({ metadata: '{"state":"draining","shardCount":256}' });
  });

  it('rings without leaving anything, even while another does', async () => {
    const woken: (string | undefined)[] = [];
    const other = memoryCoordinator(store);
    const unwatch = other.watch('g/members', (name) => woken.push(name));
    await Promise.all([membership.ring(), membership.ring()]);
    await runtime.settle();
    expect(new Set(woken)).toEqual(new Set(['g/members/.bell']));
    expect(await leases.read('g/members/.bell')).toBeUndefined();
    unwatch();
  });
});
