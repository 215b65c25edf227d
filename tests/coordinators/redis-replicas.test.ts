import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AcquireRequest } from '../../src/coordinators/index.js';
import { OutcomeUnknownError } from '../../src/errors/index.js';
import {
  type RedisCoordinator,
  type RedisCoordinatorOptions,
  redisCoordinator,
} from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { FaultProxy } from '../support/proxy.js';
import type { RedisServer } from '../support/servers/index.js';
import {
  ask,
  hasReplicas,
  startReplicating,
  untilReached,
} from '../support/servers/redis-replication.js';
import { acquire, ann, bob, renew, take } from './redis-failover-fixture.js';

const operator = { by: 'ops', reason: 'test' };

/*
 * What counts with `replicas: 1`, on a master with one replica. Cut off, it stays connected, and hears nothing more: the
 * server counts it among those that have what was written before.
 */
describe('a coordinator that waits for a replica', () => {
  let master: RedisServer;
  let replica: RedisServer;
  let between: FaultProxy;
  let careful: RedisCoordinator;
  const clients: RedisCoordinator[] = [];

  beforeAll(async () => {
    // Nothing is sent to the replica but what a test writes.
    master = await startReplicating(['--repl-ping-replica-period', '3600']);
    between = await FaultProxy.start(master.port);
    replica = await startReplicating(['--replicaof', '127.0.0.1', String(between.port)]);
  });
  beforeEach(async () => {
    await heal();
    await ask(master, 'FLUSHALL');
    await untilReached('the replica', () => hasReplicas(master, 1));
    await untilReached('its first answer', () => hasAnswered());
    careful = connect({ replicas: 1, replicaTimeoutMs: 400 });
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });
  afterAll(async () => {
    await Promise.all([master.stop(), replica.stop()]);
    await between.stop();
  });

  const connect = (options: RedisCoordinatorOptions = {}, port = master.port) => {
    const client = redisCoordinator(`redis://127.0.0.1:${port}`, options);
    clients.push(client);
    return client;
  };
  /** A replica that has just been connected may be busy with what it was sent as a whole. */
  const hasAnswered = () =>
    acquire(connect({ replicas: 1, replicaTimeoutMs: 1_000 }), 'first', ann).then(
      () => true,
      () => false,
    );
  const heal = async () => {
    between.heal();
    await untilReached('the replica', () => hasReplicas(master, 1));
  };
  const request = (name: string, parts: Partial<AcquireRequest> = {}): AcquireRequest => {
    return { name, holder: ann, attempt: realRuntime.randomHex(16), ttlMs: 60_000, ...parts };
  };

  it('is granted what the replica has', async () => {
    const term = await take(careful, 'job', ann);
    const there = await ask(replica, 'GET', '{tenure:default}:lease:job');
    expect(there).toContain(`|${term}|`);
    expect(await renew(careful, 'job', ann, term)).toBe('renewed');
  });

  it('gives back all that one call was granted, if the replica did not get it in time', async () => {
    const held = await take(careful, 'held', bob);
    between.down.hold();
    const batch = [request('a'), request('held'), request('b', { keepHistory: true })];
    await expect(careful.acquire(batch, call)).rejects.toMatchObject({
      storeCode: 'NOT_REPLICATED',
    });
    const [a, other, b] = await careful.read(['a', 'held', 'b'], call);
    expect([a, b]).toEqual([undefined, undefined]);
    expect(other, 'what others hold is theirs').toMatchObject({ holder: bob, term: held });
    expect(await careful.history('b', call)).toMatchObject([{ endReason: 'not-replicated' }]);
  });

  it('learns at once that a name is held, whatever becomes of the replica', async () => {
    await take(careful, 'job', bob);
    between.down.hold();
    expect(await careful.acquire([request('job')], call)).toMatchObject([{ outcome: 'held' }]);
    expect(await careful.read(['job'], call)).toMatchObject([{ holder: bob }]);
  });

  it('does not take the repetition of an attempt on a new connection for confirmed', async () => {
    const attempt = request('job');
    between.down.hold();
    // By one that waits for nobody; the other connection then finds it, and writes nothing.
    expect(await connect().acquire([attempt], call)).toMatchObject([{ outcome: 'granted' }]);
    await expect(careful.acquire([attempt], call)).rejects.toMatchObject({
      storeCode: 'NOT_REPLICATED',
    });
  });

  it.each([
    ['a suspension', (client: RedisCoordinator) => client.suspend('job', operator, call)],
    ['a revocation', (client: RedisCoordinator) => client.revoke('job', operator, call)],
  ])('does not take %s that is repeated on a new connection for confirmed', async (_, act) => {
    await take(careful, 'job', bob);
    between.down.hold();
    await act(connect());
    await expect(act(careful)).rejects.toBeInstanceOf(OutcomeUnknownError);
    await heal();
    await act(careful);
  });

  it('cannot renew while the replica is away, and can again when it is back', async () => {
    const term = await take(careful, 'job', ann);
    between.down.hold();
    await expect(renew(careful, 'job', ann, term)).rejects.toBeInstanceOf(OutcomeUnknownError);
    await heal();
    expect(await renew(careful, 'job', ann, term)).toBe('renewed');
  });

  it('asks on the connection that wrote: a script that the server has forgotten is confirmed as well', async () => {
    await take(careful, 'one', ann);
    await ask(master, 'SCRIPT', 'FLUSH');
    await take(careful, 'two', ann);
    // So that a question that comes too early would be answered with yes.
    await untilReached('the replica', () => hasReplicas(master, 1));
    between.down.hold();
    await ask(master, 'SCRIPT', 'FLUSH');
    await expect(careful.acquire([request('three')], call)).rejects.toMatchObject({
      storeCode: 'NOT_REPLICATED',
    });
  });

  it('says that the outcome is unknown, if it cannot give back what was not confirmed', async () => {
    const proxy = await FaultProxy.start(master.port);
    const client = connect({ replicas: 1, replicaTimeoutMs: 300 }, proxy.port);
    await take(client, 'warm', ann);
    between.down.hold();
    const acquiring = client.acquire([request('job')], { timeoutMs: 800 });
    const reader = connect();
    await expect.poll(() => reader.read(['job'], call)).toMatchObject([{ state: 'held' }]);
    proxy.down.swallow();
    await expect(acquiring).rejects.toBeInstanceOf(OutcomeUnknownError);
    await client.close();
    await proxy.stop();
  });

  it('says so, if the server denies it to wait', async () => {
    await ask(master, 'ACL', 'SETUSER', 'hasty', 'on', '>x', '~*', '&*', '+@all', '-wait');
    const url = `redis://hasty:x@127.0.0.1:${master.port}`;
    const client = redisCoordinator(url, { replicas: 1 });
    clients.push(client);
    await expect(client.acquire([request('job')], call)).rejects.toThrow('WAIT is denied');
    expect(await client.read(['job'], call)).toEqual([undefined]);
  });
});
