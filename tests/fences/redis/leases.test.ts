import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OptionError } from '../../../src/errors/index.js';
import { Leases } from '../../../src/index.js';
import { LeaseEndedError } from '../../../src/leases/index.js';
import { type RedisFence, redisCoordinator, redisFence } from '../../../src/redis.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { withRedis } from './subject.js';

const namespace = 'fleet';
let server: RedisServer;
let fence: RedisFence;
let leases: Leases;
let coordinator: ReturnType<typeof redisCoordinator>;

beforeAll(async () => {
  server = await startRedis();
});

afterAll(async () => await server?.stop());

beforeEach(() => {
  fence = redisFence(server.url, { leases: { namespace } });
  coordinator = redisCoordinator(server.url, { namespace });
  leases = new Leases(coordinator);
});

afterEach(async () => {
  await leases.close();
  await fence.close();
  await coordinator.close();
});

const onServer = <Result>(body: (redis: Redis) => Promise<Result>) => withRedis(server.url, body);

/** A lease of a name of its own, and the same term and holder without the lease. */
async function acquired(name: string) {
  const lease = await leases.acquire(name, { ttlMs: 5_000 });
  if (lease === undefined) throw new Error('the name is taken');
  await fence.claim(lease);
  const token = { name, term: lease.term, holder: lease.holder };
  const write = () => fence.transaction(token, async (batch) => batch.command('INCR', name));
  return { lease, token, write };
}

async function refusedAs(attempt: Promise<unknown>, name: string, reason: string): Promise<void> {
  await expect(attempt).rejects.toBeInstanceOf(LeaseEndedError);
  await expect(attempt).rejects.toMatchObject({ leaseName: name, reason });
  expect(await onServer((redis) => redis.get(name))).toBeNull();
}

describe('the Redis fence beside the leases on one server', () => {
  it('lets the holder of a lease write', async () => {
    const { write } = await acquired('held');
    expect((await write()).reply).toBe(1);
    expect((await write()).reply).toBe(2);
  });

  it('refuses a lease that was released, although its term is the installed one', async () => {
    const { lease, write } = await acquired('released');
    await lease.release();
    await refusedAs(write(), 'released', 'vanished');
  });

  it('refuses a lease whose time is over', async () => {
    const { write } = await acquired('expired');
    await onServer(async (redis) => {
      const [key = ''] = await redis.keys('*:lease:expired');
      expect(await redis.pexpire(key, 1)).toBe(1);
      await expect.poll(() => redis.exists(key)).toBe(0);
    });
    await refusedAs(write(), 'expired', 'vanished');
  });

  it('refuses a lease that somebody else has, before that one writes or claims', async () => {
    const { lease, write } = await acquired('taken');
    await lease.release();
    const successor = await leases.acquire('taken', { ttlMs: 5_000 });
    expect(successor?.term).toBeGreaterThan(lease.term);
    await refusedAs(write(), 'taken', 'superseded');
  });

  it('refuses a lease that an operator has revoked', async () => {
    const { write } = await acquired('revoked');
    const act = { by: 'ops', reason: 'test' };
    await coordinator.revoke('revoked', act, { timeoutMs: 30_000 });
    await refusedAs(write(), 'revoked', 'revoked');
  });

  it('ends the lease that it refuses, at once and for the same reason', async () => {
    const held = await acquired('held-revoked');
    await coordinator.revoke('held-revoked', { by: 'ops', reason: 'test' }, { timeoutMs: 30_000 });
    const gone = await acquired('held-gone');
    await onServer(async (redis) => await redis.del(await redis.keys('*:lease:held-gone')));
    for (const [{ lease }, reason] of [
      [held, 'revoked'],
      [gone, 'vanished'],
    ] as const) {
      const { signal } = lease;
      await expect(fence.transaction(lease, async () => {})).rejects.toMatchObject({ reason });
      expect([lease.state, lease.endReason, lease.installedTerm]).toEqual([
        'lost',
        reason,
        undefined,
      ]);
      expect(signal.reason).toMatchObject({ reason });
    }
  });

  it('says what it needs of a token that tells the digest of its holder alone', async () => {
    const { token } = await acquired('distant');
    const distant = { ...token, holder: { digest: token.holder.digest } as never };
    const write = fence.transaction(distant, async (batch) => batch.command('INCR', 'distant'));
    await expect(write).rejects.toBeInstanceOf(OptionError);
    await expect(write).rejects.toThrow(/without `leases`/);
    expect(await onServer((redis) => redis.get('distant'))).toBeNull();
  });

  it('refuses a claim without a lease, and installs nothing for it', async () => {
    const { token } = await acquired('owned');
    const never = { ...token, name: 'never' };
    await expect(fence.claim(never)).rejects.toMatchObject({
      reason: 'vanished',
      message: expect.stringContaining(
        '`leases` have to name the store and namespace of the lease',
      ),
    });
    expect(await fence.installedTerm('never')).toBeUndefined();
  });
});
