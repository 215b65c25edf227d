import { describe, expect, it } from 'vitest';
import { OutcomeUnknownError, StaleTermError } from '../../src/errors/index.js';
import { memoryFence } from '../../src/fences/memory/index.js';
import { redisStreams } from '../../src/redis.js';
import { cutReplicasOf } from '../support/servers/index.js';
import {
  acquire,
  ann,
  bob,
  call,
  FailoverFixture,
  renew,
  take,
  topologies,
} from './redis-failover-fixture.js';

const limitMs = 240_000;

/*
 * What a failover does to leases, on real servers: a primary that dies before its replicas heard of what it answered, and
 * one that is replaced by hand while it lives.
 */
describe.each(topologies)('with %s,', (_, start) => {
  const redis = new FailoverFixture(start);

  /** The primary dies, and what it answered since `during` began is forgotten. */
  const dieWithout = async (during: () => Promise<void>) => {
    const former = await redis.owner();
    await cutReplicasOf(former);
    await during();
    await former.kill();
    await redis.set.succeeded(redis.key, former);
    return former;
  };
  const recovered = async (former: { restart(o: { keepData: false }): Promise<void> }) => {
    await former.restart({ keepData: false });
    await redis.set.settled();
  };

  it('a grant that no replica had is forgotten: two hold the name, in different terms, and the fence refuses the older', {
    timeout: limitMs,
  }, async () => {
    const fence = memoryFence();
    const client = redis.client();
    const earlier = await take(client, 'other', bob);
    let forgotten = 0;
    const former = await dieWithout(async () => {
      forgotten = await take(client, 'job', ann);
      await fence.transaction({ name: 'job', holder: ann, term: forgotten }, async (table) => {
        table.set('job', 'by ann');
      });
    });
    const term = await take(redis.client(), 'job', bob);
    expect(term).toBeGreaterThan(forgotten);
    expect(forgotten).toBeGreaterThan(earlier);
    await fence.claim({ name: 'job', holder: bob, term });
    const late = fence.transaction({ name: 'job', holder: ann, term: forgotten }, async () => {});
    await expect(late).rejects.toBeInstanceOf(StaleTermError);
    expect(await renew(client, 'job', ann, forgotten)).toBe('superseded');
    expect(await client.history('job', call)).toMatchObject([{ term }]);
    await recovered(former);
  });

  it('what was forgotten of a lease ends it early: the history shows both terms, and the fence refuses the older', {
    timeout: limitMs,
  }, async () => {
    const ttlMs = 3_000;
    const client = redis.client();
    const early = await take(client, 'job', ann, ttlMs);
    // The replicas have the grant.
    await redis.set.settled();
    const former = await dieWithout(async () => {
      // Renewed where it was granted, for longer than the replica has heard of it.
      const startedMs = performance.now();
      while (performance.now() - startedMs < ttlMs + 200)
        expect(await renew(client, 'job', ann, early, ttlMs)).toBe('renewed');
      expect(await renew(client, 'job', ann, early, 60_000)).toBe('renewed');
    });
    const term = await take(redis.client(), 'job', bob);
    expect(term).toBeGreaterThan(early);
    const fence = memoryFence();
    await fence.claim({ name: 'job', holder: bob, term });
    const late = fence.claim({ name: 'job', holder: ann, term: early });
    await expect(late).rejects.toBeInstanceOf(StaleTermError);
    expect(await client.history('job', call)).toMatchObject([
      { term: early, endReason: 'expired' },
      { term, endReason: undefined },
    ]);
    await recovered(former);
  });

  it('with `replicas: 1` a grant that no replica has is none: it is refused, and given back', {
    timeout: limitMs,
  }, async () => {
    // A replica on a busy machine takes its time. What none has is known after a shorter one: sentinels make no replica a
    // master that has been without one for five seconds.
    const patient = redis.client({ replicas: 1, replicaTimeoutMs: 5_000 });
    const term = await take(patient, 'held', ann);
    const careful = redis.client({ replicas: 1, replicaTimeoutMs: 500 });
    await careful.read(['held'], call);
    const former = await dieWithout(async () => {
      await expect(acquire(careful, 'job', ann)).rejects.toMatchObject({
        code: 'TENURE_STORE_REFUSED',
        storeCode: 'NOT_REPLICATED',
      });
      expect(await redis.client().read(['job'], call)).toEqual([undefined]);
      await expect(renew(careful, 'held', ann, term)).rejects.toBeInstanceOf(OutcomeUnknownError);
      const suspending = careful.suspend('job', { by: 'ops', reason: 'test' }, call);
      await expect(suspending).rejects.toBeInstanceOf(OutcomeUnknownError);
      const writing = careful.writeDocument('pins', '{}', 0, call);
      await expect(writing).rejects.toBeInstanceOf(OutcomeUnknownError);
    });
    expect(await renew(redis.client(), 'held', ann, term)).toBe('renewed');
    expect(await take(redis.client(), 'job', bob)).toBeGreaterThan(term);
    await recovered(former);
    // Until the former master has caught up as a replica.
    const again = () => take(careful, 'again', ann).catch(() => 0);
    await expect.poll(again).toBeGreaterThan(term);
  });

  it('a failover by hand: the lease is renewed on the new master, in its term, and nobody else is granted it', {
    timeout: limitMs,
  }, async () => {
    const client = redis.client();
    const other = redis.client();
    const term = await take(client, 'job', ann);
    const former = await redis.owner();
    let isOver = false;
    const outcomes = new Set<string>();
    const renewing = (async () => {
      while (!isOver) {
        outcomes.add(await renew(client, 'job', ann, term).catch((error) => error.code));
        const seen = await acquire(other, 'job', bob).catch(() => undefined);
        outcomes.add(`others: ${seen?.outcome ?? 'no answer'}`);
      }
    })();
    const present = await redis.set.failover(redis.key);
    expect(present).not.toBe(former);
    expect(await renew(client, 'job', ann, term)).toBe('renewed');
    isOver = true;
    await renewing;
    const harmless = ['TENURE_OUTCOME_UNKNOWN', 'renewed', 'others: held', 'others: no answer'];
    expect([...outcomes].filter((outcome) => !harmless.includes(outcome))).toEqual([]);
    expect(client.promises.exclusion).toContain('failover');
    expect(await redis.owner()).toBe(present);
    await redis.set.settled();
  });

  it('whoever watches and waits is woken and called on the new master, too', {
    timeout: limitMs,
  }, async () => {
    const client = redis.client();
    const woken: (string | undefined)[] = [];
    client.watch('group', (name) => woken.push(name));
    const called: (string | undefined)[] = [];
    client.onCalled(bob, ({ name }) => called.push(name));
    const waiting = { name: 'group/job', holder: bob, standing: 'waiting', preference: 0 } as const;
    await expect.poll(() => woken.length).toBe(1);
    await redis.set.failover(redis.key);
    const term = await take(client, 'group/job', ann);
    await client.enroll([{ ...waiting, ttlMs: 60_000 }], call);
    // The subscriber comes back by itself, and then wakes without a name.
    await expect.poll(() => woken.length).toBeGreaterThan(1);
    await client.release([{ name: 'group/job', holder: ann, term }], call);
    await expect.poll(() => woken.at(-1)).toBe('group/job');
    await expect.poll(() => called.at(-1)).toBe('group/job');
    await redis.set.settled();
  });
});

describe('with sentinels, streams', () => {
  const redis = new FailoverFixture(topologies[0]?.[1] ?? expect.fail());

  it('go on at the new master: sequences go on, and a repeated message is known', {
    timeout: limitMs,
  }, async () => {
    const streams = redisStreams(redis.set.url, { topic: 'orders', connectTimeoutMs: 500 });
    const publish = async (id: string) => {
      const message = { shard: 1, key: 'customer', id, payload: '{}' };
      return (await streams.publish([message], call))[0];
    };
    try {
      expect(await publish('a')).toEqual({ outcome: 'appended', seq: 1 });
      await redis.set.settled();
      await redis.set.failover(redis.key);
      expect(await publish('a')).toEqual({ outcome: 'duplicate', seq: 1 });
      expect(await publish('b')).toEqual({ outcome: 'appended', seq: 2 });
    } finally {
      await streams.close();
    }
  });
});
