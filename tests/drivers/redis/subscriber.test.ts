import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RedisSubscriber, redisSource } from '../../../src/drivers/redis/index.js';
import { FaultProxy } from '../../support/proxy.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';

describe('a Redis subscriber', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let admin: Redis;
  let subscriber: RedisSubscriber;

  beforeEach(async () => {
    server = await startRedis();
    proxy = await FaultProxy.start(server.port);
    admin = new Redis(server.url);
    admin.on('error', () => {});
    subscriber = new RedisSubscriber(redisSource(`redis://127.0.0.1:${proxy.port}`), {
      connectTimeoutMs: 200,
      heartbeatMs: 100,
    });
  });

  afterEach(async () => {
    await subscriber.close();
    admin.disconnect();
    await proxy.stop();
    await server.stop();
  });

  const listen = (channel: string) => {
    const heard: (string | undefined)[] = [];
    const stop = subscriber.subscribe(channel, (message) => heard.push(message));
    return { heard, stop };
  };
  const subscriberCount = async (channel: string) =>
    Number(((await admin.call('PUBSUB', 'NUMSUB', channel)) as unknown[])[1]);

  it('wakes its listeners once it listens, and then with each message', async () => {
    const { heard } = listen('a');
    await expect.poll(() => heard).toEqual([undefined]);
    await admin.publish('a', 'x');
    await expect.poll(() => heard).toEqual([undefined, 'x']);
  });

  it('serves many channels and listeners over one socket', async () => {
    const first = listen('a');
    const second = listen('a');
    const other = listen('b');
    await expect.poll(() => other.heard.length).toBe(1);
    const later = listen('c');
    await expect.poll(() => later.heard.length).toBe(1);
    for (const channel of ['a', 'b', 'c']) await admin.publish(channel, `to ${channel}`);
    await expect.poll(() => later.heard).toEqual([undefined, 'to c']);
    expect(first.heard).toEqual([undefined, 'to a']);
    expect(second.heard).toEqual([undefined, 'to a']);
    expect(other.heard).toEqual([undefined, 'to b']);
    expect(proxy.connectionCount).toBe(1);
  });

  it('leaves a channel with its last listener, and closes the socket with the last channel', async () => {
    const first = listen('a');
    const second = listen('a');
    const other = listen('b');
    await expect.poll(() => subscriberCount('b')).toBe(1);
    first.stop();
    first.stop();
    await admin.publish('a', 'x');
    await expect.poll(() => second.heard).toContain('x');
    expect(first.heard).not.toContain('x');
    second.stop();
    await expect.poll(() => subscriberCount('a')).toBe(0);
    expect(proxy.connectionCount).toBe(1);
    other.stop();
    await expect.poll(() => proxy.connectionCount).toBe(0);
  });

  it('keeps the others when it leaves one of several channels, and its heartbeat is answered', async () => {
    await subscriber.close();
    subscriber = new RedisSubscriber(redisSource(`redis://127.0.0.1:${proxy.port}`), {
      connectTimeoutMs: 2_000,
      heartbeatMs: 50,
    });
    const [dropped, first, second] = [listen('a'), listen('b'), listen('c')];
    await expect
      .poll(() => [dropped, first, second].map(({ heard }) => heard.length))
      .toEqual([1, 1, 1]);
    dropped.stop();
    await expect.poll(() => subscriberCount('a')).toBe(0);
    let heartbeats = 0;
    const heard = (bytes: Buffer) => {
      if (bytes.includes('ping')) heartbeats += 1;
    };
    proxy.up.set({ kind: 'overhear', heard });
    // The next one is sent when the one before was answered, or on another socket.
    await expect.poll(() => heartbeats).toBeGreaterThan(2);
    await admin.publish('b', 'x');
    await admin.publish('c', 'y');
    await expect.poll(() => second.heard).toEqual([undefined, 'y']);
    expect(first.heard).toEqual([undefined, 'x']);
    expect(proxy.connectionCount).toBe(1);
  });

  it('listens again after everybody had left', async () => {
    const first = listen('a');
    first.stop();
    const second = listen('a');
    await expect.poll(() => second.heard).toEqual([undefined]);
    await admin.publish('a', 'x');
    await expect.poll(() => second.heard).toEqual([undefined, 'x']);
  });

  it('comes back after a reset, and wakes: it may have missed something', async () => {
    const { heard } = listen('a');
    await expect.poll(() => heard.length).toBe(1);
    proxy.reset();
    await expect.poll(() => heard.length).toBe(2);
    await admin.publish('a', 'x');
    await expect.poll(() => heard).toEqual([undefined, undefined, 'x']);
  });

  it('notices a socket that is dead without a word', async () => {
    const { heard } = listen('a');
    await expect.poll(() => heard.length).toBe(1);
    proxy.up.swallow();
    proxy.down.swallow();
    await expect.poll(() => proxy.up.caughtBytes).toBeGreaterThan(0);
    await expect.poll(() => proxy.connectionCount).toBe(0);
    proxy.heal();
    await expect.poll(() => heard.length).toBe(2);
  });

  it('waits longer and longer for a server that refuses, and says why', async () => {
    await admin.acl('SETUSER', 'default', 'resetchannels');
    const warnings: string[] = [];
    subscriber.on('warning', ({ message }) => warnings.push(message));
    const { heard } = listen('a');
    await expect.poll(() => warnings.length).toBe(3);
    expect(warnings[0]).toContain('NOPERM');
    expect(heard).toEqual([]);
  });

  it('goes on when a listener throws', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    subscriber.subscribe('a', () => {
      throw new Error('a bug');
    });
    const { heard } = listen('a');
    await expect.poll(() => heard).toEqual([undefined]);
    await admin.publish('a', 'x');
    await expect.poll(() => heard).toEqual([undefined, 'x']);
    process.off('warning', onWarning);
    expect(warnings[0]?.name).toBe('TenureListenerWarning');
  });

  it('leaves nothing open when it is closed, in any state', async () => {
    listen('a');
    await subscriber.close();
    await subscriber.close();
    await expect.poll(() => proxy.connectionCount).toBe(0);
    const late = listen('a');
    late.stop();
    expect(proxy.connectionCount).toBe(0);
  });
});
