import { tracingChannel } from 'node:diagnostics_channel';
import { Command, Redis } from 'ioredis';
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

/** What those who measure take of a command. */
interface MeasuredCommand {
  readonly name: string;
  readonly args: readonly unknown[];
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

class OtherCommand {
  transformReply(reply: unknown): unknown {
    return reply;
  }
}

class OwnCommand extends OtherCommand {
  readonly resolve = () => {};
  initPromise(): void {}
}

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

  it('is answered where who measures puts functions around its two, and calls ours without the command', async () => {
    const seen: string[] = [];
    class Measured extends Redis {
      override sendCommand(...sent: Parameters<Redis['sendCommand']>): unknown {
        const command = sent[0] as unknown as MeasuredCommand;
        const result = super.sendCommand(...sent);
        const { name, args, resolve, reject } = command;
        command.resolve = (reply) => {
          seen.push(`${name} ${args.join(' ')} was answered`);
          resolve(reply);
        };
        command.reject = (error) => {
          seen.push(`${name} ${args.join(' ')} failed`);
          reject(error);
        };
        return result;
      }
    }
    const measured = new Measured({ port: server.port, lazyConnect: true });
    const { sendTaking } = withSending(measured as unknown as RedisClient, { Redis, Command });
    await measured.connect();
    seen.length = 0;
    const asked = (...args: string[]) =>
      new Promise((resolve, reject) => sendTaking?.('set', args, { resolve, reject }));
    expect(await asked('word', 'text')).toBe('OK');
    await expect(asked('word')).rejects.toMatchObject({ name: 'ReplyError' });
    expect(seen).toEqual(['set word text was answered', 'set word failed']);
    measured.disconnect();
  });

  it('is seen whole by who listens to the traces of ioredis: its arguments, its end and its error', async () => {
    const seen: string[] = [];
    const see = (what: string) => (event: unknown) => {
      const { command, args } = event as { command: string; args: readonly string[] };
      seen.push(`${what} ${command} ${args.length}`);
    };
    const listeners = {
      ...{ start: see('start'), end() {}, asyncStart() {} },
      ...{ asyncEnd: see('answer'), error: see('error') },
    };
    const channel = tracingChannel('ioredis:command');
    channel.subscribe(listeners);
    try {
      expect(await ask('set', 'word', 'text')).toBe('OK');
      await expect(ask('incr', 'word')).rejects.toMatchObject({ name: 'ReplyError' });
      await expect
        .poll(() => seen)
        .toEqual(['start set 2', 'answer set 2', 'start incr 1', 'error incr 1', 'answer incr 1']);
    } finally {
      channel.unsubscribe(listeners);
    }
  });

  it.each([
    ['are resolved by the class itself', OwnCommand],
    ['have no promise to leave out', OtherCommand],
  ])('is not offered where the commands of a copy of ioredis %s', (_, Other) => {
    const other = new Redis({ lazyConnect: true });
    withSending(other as unknown as RedisClient, { Redis, Command: Other });
    expect(other).not.toHaveProperty('sendTaking');
    other.disconnect();
  });
});
