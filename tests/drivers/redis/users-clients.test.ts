import { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { createClient as createClient5, createCluster as createCluster5 } from 'redis5';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  defineScript,
  RedisConnection,
  RedisSubscriber,
  redisSource,
} from '../../../src/drivers/redis/index.js';
import {
  OptionError,
  OutcomeUnknownError,
  StoreMisconfiguredError,
  UnreachableError,
} from '../../../src/errors/index.js';
import { type DuplicableRedisClient, redisCoordinator } from '../../../src/redis.js';
import { FaultProxy } from '../../support/proxy.js';
import {
  type RedisCluster,
  type RedisSentinels,
  type RedisServer,
  startRedis,
  startRedisCluster,
  startRedisSentinels,
} from '../../support/servers/index.js';

const increase = defineScript('increase', "return number(call('INCR', KEYS[1]))");
const host = '127.0.0.1';
const password = 'of-the-server';

interface Own {
  readonly client: DuplicableRedisClient;
  /** Whether its own connection still works. */
  works(): Promise<boolean>;
  end(): Promise<void>;
}

/** Clients with all that is not safe: queues, prefixes, timeouts, reconnecting. */
const kinds: readonly [string, (port: number) => Promise<Own>][] = [
  ['ioredis 6', (port) => ownIoredis(Redis, port)],
  ['ioredis 5', (port) => ownIoredis(Redis5 as unknown as typeof Redis, port)],
  ['node-redis 6', (port) => ownNodeRedis(createClient, port)],
  ['node-redis 5', (port) => ownNodeRedis(createClient5 as unknown as typeof createClient, port)],
];

async function ownIoredis(Client: typeof Redis, port: number): Promise<Own> {
  const options = { password, db: 3, keyPrefix: 'prefix:', enableAutoPipelining: true };
  const client = new Client(port, host, { ...options, commandTimeout: 500 });
  client.on('error', () => {});
  await client.ping();
  return {
    client,
    works: async () => client.status === 'ready' && (await client.ping()) === 'PONG',
    end: async () => client.disconnect(),
  };
}

async function ownNodeRedis(create: typeof createClient, port: number): Promise<Own> {
  const client = create({
    url: `redis://:${password}@${host}:${port}/3`,
    socket: { reconnectStrategy: () => 50 },
    pingInterval: 1_000,
    commandOptions: { timeout: 500 },
  });
  client.on('error', () => {});
  await client.connect();
  return {
    client,
    works: async () => client.isReady && (await client.ping()) === 'PONG',
    end: async () => client.destroy(),
  };
}

describe.each(kinds)('a client of %s', (_, own) => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let user: Own;
  let admin: Redis;
  const open: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    server = await startRedis({ args: ['--requirepass', password] });
    proxy = await FaultProxy.start(server.port);
    admin = new Redis(server.port, host, { password, db: 3 });
    user = await own(proxy.port);
  });
  afterEach(async () => {
    proxy.heal();
    await Promise.all(open.splice(0).map((one) => one.close()));
    await admin.flushall();
  });
  afterAll(async () => {
    await user.end();
    admin.disconnect();
    await proxy.stop();
    await server.stop();
  });

  const connect = () => {
    const connection = new RedisConnection(redisSource(user.client), { connectTimeoutMs: 1_000 });
    open.push(connection);
    return connection;
  };
  const run = (connection: RedisConnection, timeoutMs = 2_000) =>
    connection.run(increase, ['counter'], [], timeoutMs);

  it('is asked for its options, and neither used, changed nor closed', async () => {
    const connection = connect();
    expect(connection.address).toBe(`redis://${host}:${proxy.port}/3`);
    expect(await run(connection)).toBe('1');
    await connection.close();
    expect(await user.works()).toBe(true);
    expect(await admin.keys('*'), 'its database, without its prefix').toEqual(['counter']);
    const names = String(await admin.client('LIST')).match(/name=\w*/g);
    expect(names?.filter((name) => name === 'name=tenure')).toEqual([]);
  });

  it('has a copy that sends nothing twice: what was under way when its socket broke is unknown', async () => {
    const connection = connect();
    await run(connection);
    proxy.down.hold();
    const call = run(connection, 5_000);
    await proxy.down.caught();
    proxy.reset();
    await expect(call).rejects.toBeInstanceOf(OutcomeUnknownError);
    proxy.heal();
    expect(await run(connection)).toBe('3');
  });

  it('has a copy that keeps nothing back: what could not be sent is not executed, not even later', async () => {
    const connection = connect();
    await run(connection);
    const gone = new Promise((resolve) => connection.on('disconnected', resolve));
    proxy.refuse(true);
    proxy.reset();
    await gone;
    await expect(run(connection, 300)).rejects.toBeInstanceOf(UnreachableError);
    proxy.heal();
    expect(await run(connection)).toBe('2');
  });

  it('has a copy whose calls end by a deadline of ours on a server that is silent', async () => {
    const connection = connect();
    await run(connection);
    proxy.up.hold();
    const startedMs = performance.now();
    await expect(run(connection, 200)).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    proxy.up.heal();
    expect(await run(connection), 'the late one was not executed').toBe('2');
  });

  it('has copies that hear what is published, also after their socket was lost', async () => {
    const subscriber = new RedisSubscriber(redisSource(user.client));
    open.push(subscriber);
    const heard: (string | undefined)[] = [];
    subscriber.subscribe('channel', (message) => heard.push(message));
    await expect.poll(() => heard).toEqual([undefined]);
    await admin.publish('channel', 'one');
    await expect.poll(() => heard).toEqual([undefined, 'one']);
    proxy.reset();
    await expect.poll(() => heard).toEqual([undefined, 'one', undefined]);
    await admin.publish('channel', 'two');
    await expect.poll(() => heard.at(-1)).toBe('two');
  });

  it('whose password is wrong is told so', async () => {
    const wrong = redisSource(user.client);
    await admin.config('SET', 'requirepass', 'changed');
    const connection = new RedisConnection(wrong, { connectTimeoutMs: 1_000 });
    open.push(connection);
    await expect(run(connection)).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await admin.config('SET', 'requirepass', password);
  });

  it('runs leases', async () => {
    const coordinator = redisCoordinator(user.client);
    open.push(coordinator);
    expect(await coordinator.read(['job'], { timeoutMs: 30_000 })).toEqual([undefined]);
    expect(coordinator.promises.store).toBe('redis');
    expect(coordinator.recipe, 'a client cannot be sent to a thread').toBeUndefined();
  });
});

describe('a client that finds its server', () => {
  let set: RedisSentinels;
  let cluster: RedisCluster;
  const cleanUp: (() => unknown)[] = [];

  beforeAll(async () => {
    [set, cluster] = await Promise.all([
      startRedisSentinels({ replicaCount: 1, downAfterMs: 60_000 }),
      startRedisCluster({ replicaCount: 0, nodeTimeoutMs: 10_000 }),
    ]);
  });
  afterEach(async () => {
    for (const clean of cleanUp.splice(0)) await clean();
  });
  afterAll(() => Promise.all([set.stop(), cluster.stop()]));

  const works = async (client: DuplicableRedisClient, store: string) => {
    const coordinator = redisCoordinator(client, { namespace: store });
    cleanUp.push(() => coordinator.close());
    expect(await coordinator.read(['job'], { timeoutMs: 30_000 })).toEqual([undefined]);
    expect(coordinator.promises.store).toBe(store);
  };
  const sentinels = () => set.sentinels.map(({ port }) => ({ host, port }));
  const nodes = () => cluster.servers.map(({ port }) => ({ host, port }));
  const rootNodes = () => nodes().map(({ port }) => ({ url: `redis://${host}:${port}` }));

  it.each([
    ['ioredis 6', Redis],
    ['ioredis 5', Redis5 as unknown as typeof Redis],
  ])('by sentinels: %s', async (_, Client) => {
    const client = new Client({ sentinels: sentinels(), name: set.masterName });
    cleanUp.push(() => client.disconnect());
    await works(client, 'redis-sentinel');
    expect(await client.ping()).toBe('PONG');
  });

  it.each([
    ['ioredis 6', Cluster],
    ['ioredis 5', Cluster5 as unknown as typeof Cluster],
  ])('in a cluster: %s, connected or not', async (_, Client) => {
    for (const lazyConnect of [true, false]) {
      const client = new Client(nodes(), { lazyConnect });
      cleanUp.push(() => client.disconnect());
      await works(client, 'redis-cluster');
      expect(await client.set('a', '1')).toBe('OK');
    }
  });

  it.each([
    ['node-redis 6', createCluster],
    ['node-redis 5', createCluster5 as unknown as typeof createCluster],
  ])('in a cluster: %s, once it is connected', async (_, create) => {
    const client = create({ rootNodes: rootNodes() });
    expect(() => redisCoordinator(client)).toThrow(OptionError);
    expect(() => redisCoordinator(client)).toThrow('redis+cluster://');
    await client.connect();
    cleanUp.push(() => client.destroy());
    await works(client, 'redis-cluster');
    expect(await client.set('a', '1')).toBe('OK');
  });

  it('is refused where its options cannot be had, and the URL is named that can', async () => {
    const hidden = createSentinel({ name: set.masterName, sentinelRootNodes: sentinels() });
    expect(() => redisCoordinator(hidden as never)).toThrow(OptionError);
    expect(() => redisCoordinator(hidden as never)).toThrow('redis+sentinel://');
    expect(() => redisCoordinator(createClientPool() as never)).toThrow(OptionError);
    class Elsewhere {}
    const client = new Redis({ lazyConnect: true, Connector: Elsewhere as never });
    expect(() => redisCoordinator(client)).toThrow('Connector');
    const mapped = new Cluster([], { lazyConnect: true, natMap: () => ({ host, port: 1 }) });
    expect(() => redisCoordinator(mapped)).toThrow('natMap');
  });
});
