import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { type Election, Elections, type Leadership } from '../../src/elections/index.js';
import { type Lease, Leases } from '../../src/leases/index.js';
import { redisCoordinator } from '../../src/redis.js';
import { sqliteCoordinator } from '../../src/sqlite.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { Witness } from '../support/witness.js';
import { act, defined } from './fixture.js';

/*
 * The same on every store, in real time and on its own clock. What takes long or needs faults is shown in virtual time.
 */

const ttlMs = 4_000;
const folder = mkdtempSync(join(tmpdir(), 'tenure-elections-'));
let redis: RedisServer;
let memory: MemoryStore;
let namespaceCount = 0;
let namespace = '';

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis.stop();
  rmSync(folder, { recursive: true });
});

const stores: readonly [store: string, connect: () => Coordinator][] = [
  ['memory', () => memoryCoordinator(memory)],
  ['sqlite', () => sqliteCoordinator(join(folder, 'tenure.db'), { namespace })],
  ['redis', () => redisCoordinator(redis.url, { namespace })],
];

describe.each(stores)('an election on %s', (_, connect) => {
  const ends: (() => Promise<void>)[] = [];
  let witness: Witness;

  beforeEach(() => {
    memory = new MemoryStore();
    namespace = `elections-${process.pid}-${namespaceCount++}`;
    witness = new Witness(Date.now);
  });
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  function candidate(id: string): Election {
    const coordinator = connect();
    const leases = new Leases(coordinator, { id, ttlMs });
    const elections = new Elections(leases);
    ends.push(async () => {
      await elections.close();
      await leases.close();
      await coordinator.close();
    });
    return elections.election('payments');
  }

  /** Writes while it leads, until it is told to stop. */
  function lead(election: Election): AbortController {
    const stop = new AbortController();
    const work = async (lease: Lease, { stopping }: { stopping: AbortSignal }) => {
      while (!stopping.aborted) {
        if (lease.state === 'held') witness.record(lease, true);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    election.lead(work, { signal: stop.signal }).catch(() => {});
    return stop;
  }

  function elected(election: Election): Promise<Lease> {
    const { current } = election;
    if (current !== undefined) return Promise.resolve(current);
    return new Promise((resolve) => {
      const leave = election.events.on('elected', ({ lease }) => {
        leave();
        resolve(lease);
      });
    });
  }

  it('goes from one to the next without waiting for a ttl, by a stop, a handoff and a revocation', async () => {
    const [a, b, c] = [candidate('a'), candidate('b'), candidate('c')];
    const view = candidate('observer').observe();
    const startedAtMs = Date.now();
    const stop = lead(a);
    await elected(a);
    lead(b);
    lead(c);
    await waiting(a, 2);
    await sees(view, 'a');
    stop.abort();
    const second = await Promise.race([elected(b), elected(c)]);
    await sees(view, second.holder.id);
    const [leader, other] = second.holder.id === 'b' ? [b, c] : [c, b];
    expect(await leader.handoff(other === b ? 'b' : 'c')).toBe(true);
    const third = await elected(other);
    expect(third.term).toBeGreaterThan(second.term);
    await sees(view, third.holder.id);
    expect(Date.now() - startedAtMs).toBeLessThan(ttlMs);

    const lost = new Promise((resolve) => other.events.on('lost', ({ reason }) => resolve(reason)));
    await other.revoke(act);
    expect(await lost).toBe('revoked');
    const fourth = await elected(leader);
    expect(fourth.term).toBeGreaterThan(third.term);
    expect(Date.now() - startedAtMs).toBeLessThan(2 * ttlMs);

    await view.return?.();
    const terms = (await a.history()).filter((entry) => entry.kind === 'term');
    expect(terms.map(({ holderId }) => holderId)).toEqual([
      'a',
      second.holder.id,
      third.holder.id,
      second.holder.id,
    ]);
    expect(witness.accepted.length).toBeGreaterThan(3);
    // A timer may be late by so much on a busy machine, between a look at the lease and the note of the write.
    expect(witness.violations(terms, 50)).toEqual([]);
  });

  it('shows who leads and who waits, and elects nobody while it is suspended', async () => {
    const [a, b] = [candidate('a'), candidate('b')];
    lead(a);
    await elected(a);
    lead(b);
    await waiting(a, 1);
    const candidates = await b.candidates();
    expect(candidates.map(({ id, leads, standing }) => [id, leads, standing])).toEqual([
      ['b', false, 'waiting'],
      ['a', true, 'present'],
    ]);
    const lost = new Promise((resolve) => a.events.on('lost', ({ reason }) => resolve(reason)));
    await b.suspend(act);
    expect(await lost).toBe('revoked');
    expect(await b.read()).toMatchObject({ state: 'suspended', suspension: act });
    await b.resume(act);
    expect(defined(await Promise.race([elected(a), elected(b)])).state).toBe('held');
  });
});

/** Reads on until an observer is told that this one leads. */
async function sees(view: AsyncIterator<Leadership>, holderId: string): Promise<void> {
  for (;;) {
    const { value } = await view.next();
    if (value.state === 'led' && value.holderId === holderId) return;
  }
}

async function waiting(election: Election, count: number): Promise<void> {
  for (;;) {
    const candidates = await election.candidates();
    if (candidates.filter(({ standing }) => standing === 'waiting').length >= count) return;
  }
}
