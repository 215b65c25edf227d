import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Coordinator, calledCount } from '../../src/coordinators/index.js';
import { type Lease, Leases } from '../../src/leases/index.js';
import { redisCoordinator } from '../../src/redis.js';
import { sqliteCoordinator } from '../../src/sqlite.js';
import { folderPerTest } from '../drivers/sqlite/folder.js';
import { altered } from '../support/altered.js';
import { call } from '../support/call.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';
import { defined } from './fixture.js';

/* Real stores in real time: what virtual time shows of the memory store, as far as a queue in another process has it. */

const name = 'payments';
const ttlMs = 6_000;
/** A first call loads the driver and connects, beside everything else that a busy machine does. */
const attemptTimeoutMs = 1_000;
const waitMs = 20_000;

const newFolder = folderPerTest();
let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

describe.each(['redis', 'sqlite'])('waiting at %s', (store) => {
  let coordinators: Coordinator[] = [];
  let processes: Leases[] = [];
  let acquireCount = 0;
  let namespace = 0;
  afterEach(async () => {
    await Promise.all(processes.map((leases) => leases.close()));
    await Promise.all(coordinators.map((coordinator) => coordinator.close()));
    coordinators = [];
    processes = [];
    namespace += 1;
  });

  function opener(): () => Coordinator {
    const path = store === 'sqlite' ? join(newFolder(), 'tenure.db') : '';
    return () => {
      const coordinator =
        store === 'sqlite'
          ? sqliteCoordinator(path)
          : redisCoordinator(server.url, { namespace: `waiting-${namespace}` });
      coordinators.push(coordinator);
      return coordinator;
    };
  }

  function start(coordinator: Coordinator, id: string): Leases {
    const counting = altered(coordinator, {
      acquire: (requests, options) => {
        acquireCount += 1;
        return coordinator.acquire(requests, options);
      },
    });
    const leases = new Leases(counting, { id, ttlMs, attemptTimeoutMs });
    processes.push(leases);
    return leases;
  }

  async function entered(operator: Coordinator, count: number): Promise<void> {
    while ((await operator.candidates(name, call)).length !== count);
  }

  it('hands a released name from one to the next, each asked for by the first in the queue alone', async () => {
    const open = opener();
    const operator = open();
    const lease = defined(await start(open(), 'owner').acquire(name));
    const waiterCount = 12;
    const terms: number[] = [lease.term];
    const passOn = async (next: Lease | undefined) => {
      terms.push(defined(next).term);
      await next?.release();
    };
    const waits = Array.from({ length: waiterCount }, (_, index) =>
      start(open(), `w${index}`).acquire(name, { waitMs }).then(passOn),
    );
    await entered(operator, waiterCount);
    acquireCount = 0;
    await lease.release();
    await Promise.all(waits);
    expect(terms).toEqual([...terms].sort((one, other) => one - other));
    expect(new Set(terms).size).toBe(waiterCount + 1);
    expect(acquireCount).toBeLessThanOrEqual(waiterCount * calledCount);
    await entered(operator, 0);
  });

  it('takes the name of one that is gone soon after its expiry', async () => {
    const open = opener();
    const operator = open();
    const gone = open();
    const owner = start(gone, 'owner');
    const lease = defined(await owner.acquire(name));
    const waits = ['b', 'c', 'd', 'e'].map((id) => start(open(), id).acquire(name, { waitMs }));
    await entered(operator, 4);
    await gone.close();
    lease.end('stalled');
    const [record] = await operator.read([name], call);
    const remainingMs = record?.state === 'held' ? record.remainingMs : 0;
    const startedAtMs = performance.now();
    acquireCount = 0;
    const next = defined(await Promise.race(waits));
    const tookMs = performance.now() - startedAtMs;
    expect(tookMs).toBeGreaterThan(remainingMs - 50);
    expect(tookMs).toBeLessThan(remainingMs + 5_000);
    expect(next.term).toBeGreaterThan(lease.term);
    expect(acquireCount).toBeLessThanOrEqual(calledCount);
    for (const leases of processes) await leases.close();
    await Promise.allSettled(waits);
  });

  it('goes on while the name is suspended, and is called when it is resumed', async () => {
    const open = opener();
    const operator = open();
    const act = { by: 'operator', reason: 'test' };
    await operator.suspend(name, act, call);
    const waiting = start(open(), 'a').acquire(name, { waitMs });
    await entered(operator, 1);
    const startedAtMs = performance.now();
    await operator.resume(name, act, call);
    expect(await waiting).toBeDefined();
    expect(performance.now() - startedAtMs).toBeLessThan(5_000);
  });

  it('is over when it is aborted, and leaves the queue', async () => {
    const open = opener();
    const operator = open();
    await start(open(), 'owner').acquire(name);
    const controller = new AbortController();
    const waiting = start(open(), 'a').acquire(name, { waitMs, signal: controller.signal });
    await entered(operator, 1);
    controller.abort(new Error('changed my mind'));
    await expect(waiting).rejects.toThrow('changed my mind');
    await entered(operator, 0);
  });
});
