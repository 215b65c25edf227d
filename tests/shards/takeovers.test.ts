import { describe, expect, it } from 'vitest';
import { Holder, type LeaseRecord } from '../../src/coordinators/index.js';
import type { Fleet } from '../../src/shards/fleet.js';
import { Takeovers } from '../../src/shards/takeovers.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

describe('telling a takeover from a shard that was given back', () => {
  const runtime = new VirtualRuntime();
  const holder = Holder.create('a', runtime);

  function seen(record: LeaseRecord | undefined): Fleet {
    const shards = [{ shard: 3, owner: undefined, record }];
    return { members: [], shards, listsSelf: false, foreignExpiryMs: 0 };
  }

  const held = (remainingMs: number): Fleet =>
    seen({
      state: 'held',
      name: 'g/shards/3',
      holder,
      term: 7,
      leaseId: '0'.repeat(32),
      ttlMs: 1000,
      remainingMs,
      grantedAtMs: 0,
      renewedAtMs: 0,
      metadata: undefined,
      graceMs: 0,
      revocation: undefined,
    });

  it('knows the previous owner and how long nobody owned the shard', async () => {
    const takeovers = new Takeovers(runtime);
    takeovers.observe(held(1000));
    await runtime.advance(1030);
    takeovers.observe(seen(undefined));
    await runtime.advance(10);
    expect(takeovers.claimed(3)).toEqual({ previousOwner: 'a', previousTerm: 7, gapMs: 40 });
    expect(takeovers.claimed(3)).toBeUndefined();
  });

  it('finds none in a shard that was free before its lease could expire, however late it is claimed', async () => {
    const takeovers = new Takeovers(runtime);
    takeovers.observe(held(1000));
    await runtime.advance(500);
    takeovers.observe(seen(undefined));
    await runtime.advance(5000);
    expect(takeovers.claimed(3)).toBeUndefined();
  });

  it('finds none in a shard that was reserved, or claimed before the lease could expire', async () => {
    const takeovers = new Takeovers(runtime);
    takeovers.observe(held(1000));
    const name = 'g/shards/3';
    takeovers.observe(seen({ state: 'reserved', name, to: 'b', term: 7, remainingMs: 5 }));
    await runtime.advance(2000);
    expect(takeovers.claimed(3)).toBeUndefined();
    takeovers.observe(held(1000));
    expect(takeovers.claimed(3)).toBeUndefined();
  });

  it('counts from the last renewal that was seen', async () => {
    const takeovers = new Takeovers(runtime);
    takeovers.observe(held(1000));
    await runtime.advance(600);
    takeovers.observe(held(1000));
    await runtime.advance(1020);
    expect(takeovers.claimed(3)?.gapMs).toBe(20);
  });
});
