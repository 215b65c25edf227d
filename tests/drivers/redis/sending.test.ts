import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RedisClient } from '../../../src/drivers/redis/client.js';
import { openIoredis } from '../../../src/drivers/redis/ioredis.js';
import { withSending } from '../../../src/drivers/redis/ioredis-sending.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';

let server: RedisServer;
let client: RedisClient;

beforeAll(async () => {
  server = await startRedis();
  client = await openIoredis({ host: '127.0.0.1', port: server.port }, 2_000);
  await client.connect();
});

afterAll(async () => {
  client?.disconnect();
  await server?.stop();
});

const ask = (command: string, ...args: (string | number)[]) =>
  new Promise((resolve, reject) => {
    client.sendTaking?.(command, args, { resolve, reject });
  });

describe('a command that is sent without a promise', () => {
  it('is offered by the copy of ioredis that is installed here', () => {
    expect(client.sendTaking).toBeTypeOf('function');
  });

  it.each([
    ['texts', ['ü', '', 'a\r\nb', '😀'], ['ü', '', 'a\r\nb', '😀']],
    ['numbers', [7, 1.5], ['7', '1.5']],
  ])('carries %s as they are, and its answer as `call` would', async (_, args, there) => {
    await client.call('del', ['list']);
    expect(await ask('rpush', 'list', ...args)).toBe(args.length);
    const answer = await ask('lrange', 'list', 0, -1);
    expect(answer).toEqual(there);
    expect(answer).toEqual(await client.call('lrange', ['list', 0, -1]));
    expect(await ask('get', 'nothing')).toBeNull();
  });

  it('is refused with the server’s own error, and in its own place between others', async () => {
    await client.call('set', ['word', 'text']);
    const outcomes = await Promise.allSettled([
      ask('get', 'word'),
      ask('incr', 'word'),
      client.call('get', ['word']),
      ask('append', 'word', '!'),
    ]);
    expect(outcomes).toMatchObject([
      { value: 'text' },
      { reason: { name: 'ReplyError', message: expect.stringMatching(/^ERR value is not/) } },
      { value: 'text' },
      { value: 5 },
    ]);
  });

  it('is not offered where the commands of a copy of ioredis are made otherwise', () => {
    class OtherCommand {
      readonly resolve = () => {};
      transformReply(reply: unknown): unknown {
        return reply;
      }
    }
    const other = new Redis({ lazyConnect: true });
    withSending(other as unknown as RedisClient, { Redis, Command: OtherCommand });
    expect(other).not.toHaveProperty('sendTaking');
    other.disconnect();
  });
});
