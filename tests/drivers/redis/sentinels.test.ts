import { afterEach, describe, expect, it } from 'vitest';
import { defineScript, RedisConnection, redisSource } from '../../../src/drivers/redis/index.js';
import { StoreMisconfiguredError, UnreachableError } from '../../../src/errors/index.js';
import { realRuntime, sleep } from '../../../src/time/index.js';
import {
  type RedisSentinels,
  type RedisServer,
  type SentinelOptions,
  startRedisSentinels,
} from '../../support/servers/index.js';
import { ask, hasReplicas, untilReached } from '../../support/servers/redis-replication.js';

const increase = defineScript('increase', "return number(call('INCR', KEYS[1]))");

/*
 * Real sentinels. Which of them says what is arranged by telling each to watch another server; what matters is whom the
 * connection then talks to.
 */
describe('a master behind sentinels', () => {
  const open: { close(): Promise<void> }[] = [];
  let set: RedisSentinels;

  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
    await set.stop();
  });

  const start = async (options: SentinelOptions = {}) => {
    set = await startRedisSentinels({ downAfterMs: 60_000, replicaCount: 1, ...options });
  };
  const connect = (url = set.url, options = {}, connectTimeoutMs = 1_000) => {
    const connection = new RedisConnection(redisSource(url, options), { connectTimeoutMs });
    open.push(connection);
    return connection;
  };
  const run = (connection: RedisConnection, timeoutMs = 5_000) =>
    connection.run(increase, ['counter'], [], timeoutMs);
  const servers = () => set.servers as [RedisServer, RedisServer];
  const tell = async (sentinel: number, { port }: RedisServer) => {
    const one = { ...servers()[0], port: set.sentinels[sentinel]?.port ?? 0 };
    await ask(one, 'SENTINEL', 'REMOVE', set.masterName);
    await ask(one, 'SENTINEL', 'MONITOR', set.masterName, '127.0.0.1', String(port), '2');
    await ask(one, 'SENTINEL', 'SET', set.masterName, 'down-after-milliseconds', '60000');
  };

  it('is the one whose own word it is, whatever most sentinels say', async () => {
    await start();
    const [master, replica] = servers();
    await tell(0, replica);
    await tell(1, replica);
    const connection = connect();
    await run(connection);
    expect(connection.address).toBe(`redis://127.0.0.1:${master.port}/0`);
    expect(await ask(master, 'GET', 'counter')).toBe('1');
  });

  it('that the sentinels have named, and know no more for a moment, is waited for', async () => {
    await start();
    const [master] = servers();
    const connection = connect();
    await run(connection);
    for (const { port } of set.sentinels)
      await ask({ ...master, port }, 'SENTINEL', 'REMOVE', set.masterName);
    const lost = new Promise((resolve) => connection.on('disconnected', resolve));
    await ask(master, 'CLIENT', 'KILL', 'TYPE', 'normal');
    await lost;
    await expect(run(connection, 800)).rejects.toBeInstanceOf(UnreachableError);
    for (const [sentinel] of set.sentinels.entries()) {
      const one = { ...master, port: set.sentinels[sentinel]?.port ?? 0 };
      await ask(one, 'SENTINEL', 'MONITOR', set.masterName, '127.0.0.1', String(master.port), '2');
    }
    expect(await run(connection, 10_000)).toBeDefined();
  });

  it('is the one that most sentinels know, if two say that they are', async () => {
    await start();
    const [former, present] = servers();
    await ask(present, 'REPLICAOF', 'NO', 'ONE');
    await tell(1, present);
    await tell(2, present);
    // The first one that is asked, and mostly the first one to answer, has the old news.
    const connection = connect();
    await run(connection);
    expect(connection.address).toBe(`redis://127.0.0.1:${present.port}/0`);
    expect(await ask(former, 'GET', 'counter')).toBeNull();
  });

  it('is found with sentinels that are frozen or gone', async () => {
    await start();
    set.sentinels[0]?.freeze();
    await set.sentinels[1]?.stop();
    const connection = connect();
    expect(await run(connection)).toBe('1');
    set.sentinels[0]?.thaw();
  });

  it('is looked for again when it turns into a replica on a connection that lives', async () => {
    await start();
    const [former, present] = servers();
    const connection = connect();
    const reasons: string[] = [];
    connection.on('disconnected', ({ reason }) => reasons.push(reason));
    expect(await run(connection)).toBe('1');
    await untilReached('the replica having it', () => hasReplicas(former, 1));
    await ask(present, 'REPLICAOF', 'NO', 'ONE');
    await ask(former, 'REPLICAOF', '127.0.0.1', String(present.port));
    const call = run(connection, 10_000);
    // As long as the sentinels tell of the old one, nobody is believed.
    await expect.poll(() => reasons).toEqual(['it answered with READONLY']);
    for (const sentinel of [0, 1, 2]) await tell(sentinel, present);
    expect(await call).toBe('2');
    expect(connection.address).toBe(`redis://127.0.0.1:${present.port}/0`);
  });

  it('is unreachable while every server that is named says it is a replica', async () => {
    await start();
    const [former] = servers();
    await ask(former, 'REPLICAOF', '127.0.0.1', '1');
    const call = run(connect(), 500);
    await expect(call).rejects.toBeInstanceOf(UnreachableError);
    await expect(call).rejects.toThrow('is a replica');
  });

  it('is asked for by its name, and one that nobody knows is a mistake in the URL', async () => {
    await start();
    const call = run(connect(set.url.replace(set.masterName, 'other')));
    await expect(call).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(call).rejects.toThrow('know no master "other"');
  });

  it('is found with the password of the sentinels, and without it the option is named', async () => {
    await start({ sentinelPassword: 'of-the-sentinels' });
    expect(await run(connect(set.url, { sentinelPassword: 'of-the-sentinels' }))).toBe('1');
    for (const options of [{}, { sentinelPassword: 'wrong' }]) {
      const call = run(connect(set.url, options));
      await expect(call).rejects.toBeInstanceOf(StoreMisconfiguredError);
      await expect(call).rejects.toThrow('sentinelPassword');
    }
  });

  it('is not asked for at a Redis server, nor are leases kept in a sentinel', async () => {
    await start();
    const [master] = servers();
    const atRedis = run(connect(`redis+sentinel://127.0.0.1:${master.port}/${set.masterName}`));
    await expect(atRedis).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(atRedis).rejects.toThrow('is no Sentinel');
    const atSentinel = run(connect(`redis://127.0.0.1:${set.sentinels[0]?.port}`));
    await expect(atSentinel).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(atSentinel).rejects.toThrow('is a Sentinel, which keeps no leases');
  });

  /** A campaign goes on: the one that is away may come back. */
  const isTriedAgain = async (connection: RedisConnection, because: string) => {
    const call = run(connection, 500);
    await expect(call).rejects.toBeInstanceOf(UnreachableError);
    await expect(call).rejects.toThrow(because);
  };

  it('is found although one of those that are named is no sentinel, and unreachable while the others are away', async () => {
    await start();
    const [master] = servers();
    const [sentinel] = set.sentinels;
    const hosts = `127.0.0.1:${master.port},127.0.0.1:${sentinel?.port}`;
    const connection = () => connect(`redis+sentinel://${hosts}/${set.masterName}`);
    expect(await run(connection())).toBe('1');
    await sentinel?.stop();
    await isTriedAgain(connection(), 'is no Sentinel');
  });

  it('is unreachable while one sentinel turns us away and the other ones are gone', async () => {
    await start({ sentinelPassword: 'of-the-sentinels' });
    for (const sentinel of set.sentinels.slice(1)) await sentinel.stop();
    await isTriedAgain(connect(), 'sentinelPassword');
  });

  it('is told of with the scheme that was written', async () => {
    await start();
    expect(redisSource('rediss+sentinel://h:1,h:2/main').address).toBe(
      'rediss+sentinel://h:1,h:2/main',
    );
  });

  it('is unreachable, within the time of the call, without any sentinel', async () => {
    await start();
    await Promise.all(set.sentinels.map((sentinel) => sentinel.stop()));
    const startedMs = performance.now();
    await expect(run(connect(), 400)).rejects.toThrow('no sentinel');
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  it('leaves no socket at whatever moment of the search the connection is closed', async () => {
    await start();
    const sockets = () =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length;
    const countBefore = sockets();
    for (let afterMs = 0; afterMs < 40; afterMs += 2) {
      const connection = connect(set.url, {}, 3_000);
      const call = run(connection).catch((error: { code: string }) => error.code);
      await sleep(realRuntime, afterMs);
      const startedMs = performance.now();
      await connection.close();
      await call;
      expect(performance.now() - startedMs).toBeLessThan(1_000);
    }
    await expect.poll(sockets).toBeLessThanOrEqual(countBefore);
  });
});
