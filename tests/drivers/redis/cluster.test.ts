import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { slotRanges } from '../../../src/drivers/redis/cluster.js';
import { defineScript, RedisConnection, redisSource } from '../../../src/drivers/redis/index.js';
import { StoreMisconfiguredError } from '../../../src/errors/index.js';
import { redisStreams } from '../../../src/redis.js';
import {
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../support/servers/index.js';
import { ask } from '../../support/servers/redis-replication.js';

const tag = '{tenure:cluster}';
const keys = [`${tag}:a`, `${tag}:b`, `${tag}:never`];
/** As the scripts of a coordinator: several keys, of which some never exist. */
const increase = defineScript(
  'increase',
  "call('GET', KEYS[3]) call('INCR', KEYS[2]) return number(call('INCR', KEYS[1]))",
);

describe('what a node says of the slots', () => {
  it('names a master by where it can be reached: without a host it means its own', () => {
    const reply = [
      [0, 5, ['10.0.0.1', 7001, 'one'], ['10.0.0.2', 7002, 'its replica']],
      [6, 8, ['', 7003, 'two']],
      [9, 9, ['?', 7003]],
      [10, 10, [null, 7003, 'two']],
      [11, 11, ['10.0.0.4', 0, 'without a port']],
      [12, 12],
    ];
    const asked = { host: 'asked', port: 7003 };
    expect(slotRanges(reply, 'asked')).toEqual([
      { first: 0, last: 5, master: { host: '10.0.0.1', port: 7001 }, masterId: 'one' },
      { first: 6, last: 8, master: asked, masterId: 'two' },
      { first: 9, last: 9, master: asked, masterId: undefined },
      { first: 10, last: 10, master: asked, masterId: 'two' },
    ]);
    expect(slotRanges('OK', 'asked')).toEqual([]);
  });
});

describe('a node of a cluster', () => {
  let cluster: RedisCluster;
  const open: RedisConnection[] = [];

  beforeAll(async () => {
    cluster = await startRedisCluster({ replicaCount: 0, nodeTimeoutMs: 10_000 });
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });
  afterAll(() => cluster.stop());

  const connect = (url = cluster.url, slotKey = tag) => {
    const connection = new RedisConnection(redisSource(url), { connectTimeoutMs: 1_000, slotKey });
    open.push(connection);
    return connection;
  };
  const run = (connection: RedisConnection, timeoutMs = 5_000) =>
    connection.run(increase, keys, [], timeoutMs);
  const placesOf = async () => {
    const from = await cluster.ownerOf(tag);
    const [to, third] = cluster.servers.filter((server) => server !== from);
    return { from, to: to as RedisServer, third: third as RedisServer };
  };
  const setSlot = async (server: RedisServer, ...how: string[]) =>
    ask(server, 'CLUSTER', 'SETSLOT', String(await cluster.slotOf(tag)), ...how);

  it('is the one that owns the slot, whichever node is asked', async () => {
    for (const { port } of cluster.servers) {
      const connection = connect(`redis+cluster://127.0.0.1:${port}`);
      await run(connection);
      expect(connection.address).toBe(`redis://127.0.0.1:${(await cluster.ownerOf(tag)).port}/0`);
    }
  });

  it('is waited for while the slot is on its way, and then followed', async () => {
    const { from, to } = await placesOf();
    const connection = connect();
    const before = Number(await run(connection));
    const reasons: string[] = [];
    connection.on('disconnected', ({ reason }) => reasons.push(reason));
    await setSlot(to, 'IMPORTING', await cluster.idOf(from));
    await setSlot(from, 'MIGRATING', await cluster.idOf(to));
    const migrate = (key: string) =>
      ask(from, 'MIGRATE', '127.0.0.1', String(to.port), key, '0', '5000');
    // No key has moved, one has, all have: each time a call is under way that ends only when the slot has arrived.
    const calls: Promise<unknown>[] = [];
    for (const move of [
      async () => 'OK',
      () => migrate(keys[0] ?? ''),
      () => migrate(keys[1] ?? ''),
    ]) {
      expect(await move()).toBe('OK');
      calls.push(run(connection, 10_000));
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(reasons).toEqual([]);
    await setSlot(to, 'NODE', await cluster.idOf(to));
    await setSlot(from, 'NODE', await cluster.idOf(to));
    expect((await Promise.all(calls)).map(Number).sort()).toEqual([1, 2, 3].map((n) => before + n));
    expect(connection.address).toBe(`redis://127.0.0.1:${to.port}/0`);
    expect(reasons).toEqual(['it answered with MOVED']);
    await expect.poll(() => cluster.ownerOf(tag)).toBe(to);
  });

  it('says that the slot is being moved, if that takes longer than the call may', async () => {
    const { from, to } = await placesOf();
    const connection = connect();
    await run(connection);
    await setSlot(to, 'IMPORTING', await cluster.idOf(from));
    await setSlot(from, 'MIGRATING', await cluster.idOf(to));
    const call = run(connection, 300);
    await expect(call).rejects.toMatchObject({ code: 'TENURE_STORE_REFUSED' });
    await expect(call).rejects.toThrow('is being moved');
    await setSlot(to, 'STABLE');
    await setSlot(from, 'STABLE');
    await run(connection);
  });

  it('is not looked for without an end, if the nodes send us around', async () => {
    const { from, to } = await placesOf();
    const connection = connect();
    let connectCount = 0;
    connection.on('connected', () => {
      connectCount += 1;
    });
    await run(connection);
    // It would not give away a slot that has keys.
    await ask(from, 'FLUSHALL');
    // The owner says it is the other one, which says it is the owner.
    await setSlot(from, 'NODE', await cluster.idOf(to));
    const call = run(connection, 10_000);
    await expect(call).rejects.toMatchObject({ storeCode: 'MOVED' });
    await expect(call).rejects.toThrow('do not agree');
    expect(connectCount).toBeLessThan(10);
    await setSlot(from, 'NODE', await cluster.idOf(from));
    expect(await run(connection)).toBe('1');
  });

  it('is one that covers the slot, or nobody is: the others say so', async () => {
    const { from } = await placesOf();
    const connection = connect();
    await run(connection);
    const slot = String(await cluster.slotOf(tag));
    await ask(from, 'CLUSTER', 'DELSLOTS', slot);
    const call = run(connection, 2_000);
    await expect(call).rejects.toThrow(/CLUSTERDOWN|owns slot/);
    await ask(from, 'CLUSTER', 'ADDSLOTS', slot);
    await cluster.settled();
    await run(connection);
  });

  it('is not one of a single server: that is told at once', async () => {
    const { from } = await placesOf();
    await expect(run(connect(`redis://127.0.0.1:${from.port}`))).resolves.toBeDefined();
    const { to } = await placesOf();
    const call = run(connect(`redis://127.0.0.1:${to.port}`));
    await expect(call).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(call).rejects.toThrow('redis+cluster://');
  });

  it('is not enough for streams, whose shards have slots of their own', () => {
    expect(() => redisStreams(cluster.url, { topic: 'orders' })).toThrow('leads to a cluster');
  });
});

it('a single server is no cluster, and says so', async () => {
  const server = await startRedis();
  const source = redisSource(`redis+cluster://127.0.0.1:${server.port}`);
  const connection = new RedisConnection(source, { slotKey: tag });
  const call = connection.run(increase, keys, [], 2_000);
  await expect(call).rejects.toBeInstanceOf(StoreMisconfiguredError);
  await expect(call).rejects.toThrow('Is it a cluster');
  await connection.close();
  await server.stop();
});
