import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { type RedisCoordinator, redisCoordinator } from '../../src/redis.js';
import { type RedisOptions, type RedisServer, startRedis } from '../support/servers/index.js';
import {
  ask,
  cutReplicasOf,
  hasReplicas,
  startReplicating,
  untilReached,
} from '../support/servers/redis-replication.js';
import { ann, bob, renew, take } from './redis-failover-fixture.js';

/*
 * What becomes of terms when a server loses data, one way each. The clock is the floor: a server that forgot all of them
 * still grants higher ones. What is lost of a lease, its holder learns at its next renewal.
 */
describe('a term is higher than every earlier one of its name', () => {
  const servers: RedisServer[] = [];
  const clients: RedisCoordinator[] = [];
  const admins: Redis[] = [];

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    for (const admin of admins.splice(0)) admin.disconnect();
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  const start = async (options: RedisOptions = {}) => {
    const server = await startRedis(options);
    servers.push(server);
    return server;
  };
  const connect = (server: RedisServer) => {
    const client = redisCoordinator(server.url);
    clients.push(client);
    return client;
  };
  const adminOf = (server: RedisServer) => {
    const admin = new Redis(server.url);
    admin.on('error', () => {});
    admins.push(admin);
    return admin;
  };

  it('after a restart with its data, and the lease is held all the while', async () => {
    const server = await start({ appendonly: 'always' });
    const client = connect(server);
    const term = await take(client, 'job', ann);
    await server.restart({ keepData: true });
    expect(await renew(client, 'job', ann, term)).toBe('renewed');
    await client.release([{ name: 'job', holder: ann, term }], { timeoutMs: 30_000 });
    expect(await take(client, 'job', bob)).toBeGreaterThan(term);
  });

  it('after a restart without, and its former holder has lost it', async () => {
    const server = await start();
    const client = connect(server);
    const warnings: string[] = [];
    client.on('warning', ({ message }) => warnings.push(message));
    const term = await take(client, 'job', ann);
    await server.restart({ keepData: false });
    expect(await take(client, 'job', bob)).toBeGreaterThan(term);
    expect(await renew(client, 'job', ann, term)).toBe('superseded');
    expect(warnings.join(), 'that it would, was said').toContain('append-only');
  });

  it('after a flush', async () => {
    const server = await start();
    const client = connect(server);
    const term = await take(client, 'job', ann);
    await adminOf(server).flushall();
    expect(await renew(client, 'job', ann, term)).toBe('vanished');
    expect(await take(client, 'job', bob)).toBeGreaterThan(term);
  });

  it('after an eviction, by a policy that somebody set while it ran; whoever connects later is refused', async () => {
    const server = await start();
    const client = connect(server);
    const admin = adminOf(server);
    const term = await take(client, 'job', ann);
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await admin.config('SET', 'maxmemory', '4mb');
    const left = async () => (await admin.keys('{tenure:*')).length;
    for (let i = 0; (await left()) > 0 && i < 2_000; i++)
      await admin.set(`filler-${i}`, 'x'.repeat(100_000));
    expect(await left(), 'the lease and the last term are gone').toBe(0);
    expect(await renew(client, 'job', ann, term)).toBe('vanished');
    expect(await take(client, 'job', bob)).toBeGreaterThan(term);
    await expect(connect(server).read(['job'], { timeoutMs: 30_000 })).rejects.toThrow(
      'maxmemory-policy is allkeys-lru',
    );
  });

  it('after a replica that was kept behind was promoted, and both of its masters live', async () => {
    const master = await startReplicating([]);
    servers.push(master);
    const replica = await startReplicating(['--replicaof', '127.0.0.1', String(master.port)]);
    servers.push(replica);
    await untilReached('replication', () => hasReplicas(master, 1));
    const client = connect(master);
    const known = await take(client, 'known', ann);
    await untilReached('replication', () => hasReplicas(master, 1));
    await cutReplicasOf(master);
    const forgotten = await take(client, 'job', ann);
    await ask(replica, 'REPLICAOF', 'NO', 'ONE');
    const successor = connect(replica);
    expect(await renew(successor, 'known', ann, known)).toBe('renewed');
    const term = await take(successor, 'job', bob);
    expect(term).toBeGreaterThan(forgotten);
    expect(await renew(client, 'job', ann, forgotten), 'each believes its own').toBe('renewed');
  });
});
