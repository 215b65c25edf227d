import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LeaseRecord } from '../../src/coordinators/index.js';
import { OptionError } from '../../src/errors/index.js';
import { MemberIdTakenError, memberLeaseName } from '../../src/shards/index.js';
import { FleetFixture, type FleetProcess, group } from './fixture.js';

describe('the registry of members', () => {
  let fleet: FleetFixture;

  beforeEach(() => {
    fleet = new FleetFixture(11);
  });

  afterEach(async () => {
    await fleet.close();
    expect(fleet.runtime.pendingTimerCount).toBe(0);
  });

  async function members(): Promise<LeaseRecord[]> {
    const listing = fleet.observer.list(`${group}/members`, { timeoutMs: 1000 });
    await fleet.runtime.settle();
    return listing;
  }

  /** As a store would that executes what was sent long ago. */
  async function renewed(process: FleetProcess, record: LeaseRecord | undefined): Promise<void> {
    if (record?.state !== 'held') throw new Error('there is nothing to be renewed');
    const { name, term, ttlMs } = record;
    const request = { name, holder: process.leases.holder, term, ttlMs };
    const renewal = fleet.observer.renew([request], { timeoutMs: 1000 });
    expect(await fleet.runtime.advanceUntil(renewal)).toMatchObject([{ outcome: 'renewed' }]);
  }

  it('shows each live worker with its state and shard count', async () => {
    const [a] = await fleet.start('a');
    const [record] = await members();
    expect(record).toMatchObject({
      name: 'fleet/members/a',
      metadata: '{"state":"active","shardCount":256}',
    });
    a.work.onDrain = () => new Promise(() => {});
    void a.worker.stop();
    await fleet.runtime.advance(10);
    expect((await members())[0]).toMatchObject({
      metadata: '{"state":"draining","shardCount":256}',
    });
  });

  it('refuses a second live process with the same id, by name, after at most two ttl', async () => {
    const [first] = await fleet.start('a');
    const second = fleet.process('a');
    const refused = second.worker.start().catch((error: unknown) => error);
    const error = await fleet.runtime.advanceUntil(refused, 61_000);
    expect(error).toBeInstanceOf(MemberIdTakenError);
    expect(error).toMatchObject({ code: 'TENURE_MEMBER_ID_TAKEN', memberId: 'a', group });
    expect(first.worker.owned).toHaveLength(256);
    expect(first.events.lost).toEqual([]);
    expect(second.leases.live).toEqual([]);
  });

  it('lets a restarted process in as soon as the lease of its former incarnation has expired', async () => {
    const [former] = await fleet.start('a');
    await fleet.runtime.advance(22_000);
    former.crash();
    const again = fleet.process('a');
    const starting = again.worker.start();
    await fleet.runtime.advance(27_000);
    expect(again.worker.owned).toEqual([]);
    await fleet.runtime.advanceUntil(starting, 3500);
    await fleet.runtime.advance(500);
    expect(again.work.active.size).toBe(256);
  });

  it('lets a restarted process in although a renewal of its former incarnation is executed late', async () => {
    const [former] = await fleet.start('a');
    const [record] = await members();
    former.crash();
    const again = fleet.process('a');
    const starting = again.worker.start();
    await fleet.runtime.advance(15_000);
    await renewed(former, record);
    await fleet.runtime.advance(28_000);
    expect(again.worker.owned).toEqual([]);
    await fleet.runtime.advanceUntil(starting, 2_500);
    await fleet.runtime.advance(500);
    expect(again.work.active.size).toBe(256);
  });

  it('refuses it when renewals go on for longer than any of the former could be late', async () => {
    const [former] = await fleet.start('a');
    const [record] = await members();
    former.crash();
    const again = fleet.process('a');
    const refused = again.worker.start().catch((error: unknown) => error);
    await fleet.runtime.advance(15_000);
    await renewed(former, record);
    await fleet.runtime.advance(20_000);
    await renewed(former, record);
    expect(await fleet.runtime.advanceUntil(refused, 31_000)).toBeInstanceOf(MemberIdTakenError);
  });

  it('waits for an id that an operator has suspended', async () => {
    const name = memberLeaseName(group, 'a');
    const act = { by: 'ops', reason: 'maintenance' };
    await fleet.runtime.advanceUntil(fleet.observer.suspend(name, act, { timeoutMs: 1000 }));
    const { worker } = fleet.process('a');
    const starting = worker.start();
    await fleet.runtime.advance(200_000);
    expect(worker.owned).toEqual([]);
    await fleet.runtime.advanceUntil(fleet.observer.resume(name, act, { timeoutMs: 1000 }));
    await fleet.runtime.advanceUntil(starting, 11_000);
    expect(worker.owned).toHaveLength(256);
  });

  it('is joined again when the member lease is lost, and no shard moves for it', async () => {
    const [a] = await fleet.start('a', 'b');
    const before = await fleet.owners();
    fleet.store.deleteRecord(memberLeaseName(group, 'a'));
    await fleet.runtime.advance(15_000);
    expect((await members()).map(({ name }) => name)).toEqual([
      'fleet/members/a',
      'fleet/members/b',
    ]);
    expect(await fleet.owners()).toEqual(before);
    expect(a.events.lost).toEqual([]);
  });

  it('makes a worker whose id was taken meanwhile give everything to the others, and says why', async () => {
    const [a] = await fleet.start('a');
    const [b] = await fleet.start('b');
    const twin = fleet.process('a');
    fleet.store.deleteRecord(memberLeaseName(group, 'a'));
    await fleet.runtime.advanceUntil(twin.worker.start());
    await fleet.runtime.advance(15_000);
    expect(a.events.error.map(({ error }) => error)).toContainEqual(expect.any(MemberIdTakenError));
    expect(a.worker.owned).toEqual([]);
    expect(twin.worker.owned).toHaveLength(128);
    expect(b.worker.owned).toHaveLength(128);
    expect(fleet.misplaced()).toEqual([]);
    await fleet.runtime.advanceUntil(twin.worker.stop());
    await fleet.runtime.advance(15_000);
    expect(a.worker.owned).toHaveLength(128);
  });

  it('refuses a worker that counts the shards differently, and leaves the fleet alone', async () => {
    const [a] = await fleet.start('a');
    const other = fleet.process('b', { worker: { shardCount: 128 } });
    const refused = other.worker.start().catch((error: unknown) => error);
    const error = await fleet.runtime.advanceUntil(refused);
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option: 'shardCount', value: 128 });
    expect(other.worker.owned).toEqual([]);
    expect(a.worker.owned).toHaveLength(256);
    // With the right count the same process may come.
    await fleet.runtime.advanceUntil(a.worker.stop());
    await fleet.runtime.advanceUntil(other.worker.start());
    expect(other.worker.owned).toHaveLength(128);
  });

  it('ignores what is no member: foreign leases of the group, bad metadata', async () => {
    const stranger = fleet.process('stranger');
    for (const [name, metadata] of [
      [memberLeaseName(group, 'somebody-else'), '{"state":"active","shardCount":256}'],
      [memberLeaseName(group, 'stranger'), '{"state":"retired","shardCount":256}'],
    ] as const)
      await fleet.runtime.advanceUntil(stranger.leases.acquire(name, { metadata }));
    const [a] = await fleet.start('a');
    expect(a.worker.owned).toHaveLength(256);
    expect(a.events.planned.at(-1)?.members).toEqual(['a']);
  });

  it('plans on although something foreign lies under the name of one shard', async () => {
    fleet.store.overwriteRecord('fleet/shards/9', 'not a lease');
    const [a] = await fleet.start('a');
    expect(a.worker.owned).toHaveLength(255);
    expect(a.events.error[0]).toMatchObject({
      during: 'claim',
      error: { code: 'TENURE_RECORD_CORRUPT' },
    });
  });
});
