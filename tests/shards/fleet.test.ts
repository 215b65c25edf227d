import { describe, expect, it } from 'vitest';
import { type Coordinator, Holder, type LeaseRecord } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { type Fleet, readFleet } from '../../src/shards/fleet.js';
import { memberLeaseName, shardLeaseName } from '../../src/shards/index.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { call } from '../support/call.js';

const metadata = '{"state":"active","shardCount":4}';

describe('one look at a fleet', () => {
  const runtime = new VirtualRuntime();
  const store = new MemoryStore({ runtime });
  const coordinator = memoryCoordinator(store);
  const former = Holder.create('a', runtime);
  const present = Holder.create('a', runtime);
  const other = Holder.create('b', runtime);

  async function take(name: string, holder: Holder, ttlMs: number, text?: string): Promise<number> {
    const attempt = runtime.randomHex(16);
    const metadataPart = text === undefined ? {} : { metadata: text };
    const [result] = await coordinator.acquire(
      [{ name, holder, attempt, ttlMs, ...metadataPart }],
      call,
    );
    if (result?.outcome !== 'granted') throw new Error(`${name} was not granted`);
    return result.term;
  }

  const look = (
    self: Holder,
    source: Coordinator = coordinator,
    selfTerm?: number,
  ): Promise<Fleet> =>
    readFleet(source, {
      group: 'g',
      shardCount: 4,
      shards: [0, 1, 2, 3],
      self,
      selfTerm,
      timeoutMs: 1000,
    });

  it('counts a shard to the member that holds it or that it is reserved for, and to nobody else', async () => {
    await take(memberLeaseName('g', 'a'), present, 9000, metadata);
    await take(memberLeaseName('g', 'b'), other, 8000, metadata);
    await take(shardLeaseName('g', 0), former, 5000);
    await take(shardLeaseName('g', 1), present, 7000);
    const term = await take(shardLeaseName('g', 2), other, 6000);
    const handoff = { name: shardLeaseName('g', 2), holder: other, term, to: 'a', reserveMs: 6500 };
    await coordinator.handoff([handoff], call);

    const fleet = await look(present);
    // The lease of the former incarnation is live, but no member's.
    expect(fleet.shards.map(({ owner }) => owner)).toEqual([undefined, 'a', 'a', undefined]);
    expect(fleet.shards.map(({ record }) => record?.state)).toEqual([
      'held',
      'held',
      'reserved',
      undefined,
    ]);
    expect(fleet.members.map(({ id, state }) => [id, state])).toEqual([
      ['a', 'active'],
      ['b', 'active'],
    ]);
  });

  it('knows when the first lease of somebody else ends, and does not mind its own', async () => {
    expect((await look(present)).foreignExpiryMs).toBe(5000);
    expect((await look(former)).foreignExpiryMs).toBe(6500);
  });

  it('counts the asking process as a member as long as it holds the lease, listed or not', async () => {
    const unlisted = { read: coordinator.read.bind(coordinator), list: async () => [] };
    const source = unlisted as unknown as Coordinator;
    const fleet = await look(present, source, 7);
    expect(fleet.listsSelf).toBe(false);
    expect(fleet.members.map(({ id, term }) => [id, term])).toEqual([['a', 7]]);
    expect(fleet.shards.map(({ owner }) => owner)).toEqual([undefined, 'a', 'a', undefined]);
    expect((await look(present, source)).members).toEqual([]);
  });

  it('asks in two requests, at the same time', async () => {
    const asked: string[] = [];
    const slow = {
      list: async (): Promise<LeaseRecord[]> => {
        asked.push('list');
        await runtime.settle();
        return [];
      },
      read: async (names: readonly string[]) => {
        asked.push('read');
        return names.map(() => undefined);
      },
    } as unknown as Coordinator;
    const looking = look(present, slow);
    expect(asked).toEqual(['list', 'read']);
    expect((await looking).foreignExpiryMs).toBe(Number.POSITIVE_INFINITY);
  });
});
