import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { durabilityWarnings, parseFacts } from '../../../src/drivers/redis/checks.js';
import {
  defineScript,
  RedisConnection,
  type RedisConnectionEvents,
  RedisSession,
  RedisSubscriber,
  redisSource,
} from '../../../src/drivers/redis/index.js';
import { OptionError, StoreMisconfiguredError } from '../../../src/errors/index.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { withClients } from './changed-client.js';

const increase = defineScript('increase', "return number(call('INCR', KEYS[1]))");
const password = 'correct-horse-battery';

describe('before anything else a Redis server is checked:', () => {
  let server: RedisServer;
  let admin: Redis;
  const open: RedisConnection[] = [];

  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
  });
  afterEach(async () => {
    for (const connection of open.splice(0)) await connection.close();
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  const connect = (url = server.url) => {
    const connection = new RedisConnection(redisSource(url), { connectTimeoutMs: 500 });
    open.push(connection);
    return connection;
  };
  const run = (connection: RedisConnection) => connection.run(increase, ['counter'], [], 1_000);
  const failureOf = (connection: RedisConnection): Promise<Error> =>
    run(connection).then(
      () => expect.fail('the server was accepted'),
      (error: Error) => error,
    );

  it('an evicting one is refused, by the name and value of the setting, and nothing is sent to it', async () => {
    const before = await admin.get('counter');
    await admin.config('SET', 'maxmemory', '100mb');
    for (const policy of ['allkeys-lru', 'volatile-ttl']) {
      await admin.config('SET', 'maxmemory-policy', policy);
      const error = await failureOf(connect());
      expect(error).toBeInstanceOf(StoreMisconfiguredError);
      expect(error.message).toContain(`maxmemory-policy is ${policy}`);
      expect(error.message).toContain('noeviction');
    }
    expect(await admin.get('counter')).toBe(before);
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await run(connect());
    await admin.config('SET', 'maxmemory', '0');
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    // Without a limit nothing is evicted.
    await run(connect());
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
  });

  it('a policy that became evicting is noticed after the next reconnect', async () => {
    const connection = connect();
    await run(connection);
    await admin.config('SET', 'maxmemory', '100mb');
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect
      .poll(() => run(connection).catch((error: Error) => error))
      .toBeInstanceOf(StoreMisconfiguredError);
    await admin.config('SET', 'maxmemory', '0');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    // Once it is mended, the same connection goes on.
    await expect.poll(() => run(connection).catch(() => undefined)).toMatch(/^\d+$/);
  });

  it('a replica is refused, even a writable one', async () => {
    const args = ['--replicaof', server.host, String(server.port), '--replica-read-only', 'no'];
    const replica = await startRedis({ args });
    try {
      const error = await failureOf(connect(replica.url));
      expect(error).toBeInstanceOf(StoreMisconfiguredError);
      expect(error.message).toContain('role:slave');
    } finally {
      await replica.stop();
    }
  });

  it('a master that becomes a replica under us is refused', async () => {
    const demoted = await startRedis();
    try {
      const connection = connect(demoted.url);
      await run(connection);
      const other = new Redis(demoted.url);
      await other.replicaof(server.host, server.port);
      other.disconnect();
      const error = await failureOf(connection);
      expect(error).toBeInstanceOf(StoreMisconfiguredError);
      expect(error.message).toContain('role:slave');
    } finally {
      await demoted.stop();
    }
  });

  it('a wrong or missing password is told at once, and never shown', async () => {
    const guarded = await startRedis({ args: ['--requirepass', password] });
    const address = `${guarded.host}:${guarded.port}`;
    try {
      const wrong = connect(`redis://:hunter2-secret@${address}`);
      const startedAt = performance.now();
      const errors = [
        await failureOf(wrong),
        await failureOf(wrong),
        await failureOf(connect(`redis://${address}`)),
      ];
      expect(performance.now() - startedAt).toBeLessThan(900);
      for (const error of errors) {
        expect(error).toBeInstanceOf(StoreMisconfiguredError);
        expect(JSON.stringify([error.message, error.stack, String(error.cause)])).not.toMatch(
          /hunter2|correct-horse/,
        );
      }
      expect(errors.map(({ message }) => /WRONGPASS|NOAUTH/.exec(message)?.[0])).toEqual([
        'WRONGPASS',
        'WRONGPASS',
        'NOAUTH',
      ]);
      await run(connect(`redis://:${password}@${address}`));
    } finally {
      await guarded.stop();
    }
  });

  it('where INFO is denied it says so, and goes on', async () => {
    await admin.acl('SETUSER', 'blind', 'on', `>${password}`, '~*', '+@all', '-info');
    const connection = connect(server.url.replace('//', `//blind:${password}@`));
    const warnings: RedisConnectionEvents['warning'][] = [];
    const connected: RedisConnectionEvents['connected'][] = [];
    connection.on('warning', (event) => warnings.push(event));
    connection.on('connected', (event) => connected.push(event));
    await run(connection);
    expect(warnings[0]?.message).toContain('INFO is denied');
    expect(connected[0]?.facts).toBeUndefined();
  });

  it('what it says about itself is passed on', async () => {
    const connection = connect();
    const connected: RedisConnectionEvents['connected'][] = [];
    connection.on('connected', (event) => connected.push(event));
    await run(connection);
    expect(connected).toHaveLength(1);
    expect(connected[0]?.facts).toMatchObject({
      role: 'master',
      maxmemoryPolicy: 'noeviction',
      appendOnlyFile: false,
      persistenceHealthy: true,
    });
  });

  it('one that would lose its data is reported, once and not at every connect', async () => {
    const connection = connect();
    const warnings: string[] = [];
    const connected: unknown[] = [];
    connection.on('warning', ({ message }) => warnings.push(message));
    connection.on('connected', (event) => connected.push(event));
    await run(connection);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect.poll(() => connected.length).toBe(2);
    expect(warnings).toEqual([expect.stringContaining('appendonly yes')]);
    await admin.config('SET', 'appendonly', 'yes');
    const safe = connect();
    safe.on('warning', ({ message }) => warnings.push(message));
    await run(safe);
    expect(warnings).toHaveLength(1);
    await admin.config('SET', 'appendonly', 'no');
  });

  it('one that hides how it keeps its data is not accused', () => {
    expect(durabilityWarnings(parseFacts('redis_version:7.0.15\r\n'))).toEqual([]);
    const failed = 'aof_enabled:1\r\naof_last_write_status:err\r\n';
    expect(durabilityWarnings(parseFacts(failed))).toEqual([expect.stringContaining('failed')]);
  });

  it('one that is too old is refused', async () => {
    expect(parseFacts('redis_version:6.2.14\r\nrole:master\r\n').version).toBe('6.2.14');
    const source = redisSource(server.url);
    const connection = new RedisConnection(
      withClients(source, (client) => {
        const call = client.call.bind(client);
        client.call = (command, args) =>
          command === 'info'
            ? Promise.resolve('redis_version:6.2.14\r\nrole:master\r\n')
            : call(command, args);
      }),
    );
    open.push(connection);
    expect((await failureOf(connection)).message).toContain('runs Redis 6.2.14');
  });
});

describe('the address of a server, for messages,', () => {
  it.each([
    ['redis://u:hunter2@host', 'redis://host:6379/0'],
    ['rediss://u:hunter2@host:7000/3', 'rediss://host:7000/3'],
    ['rediss://[::1]', 'rediss://[::1]:6379/0'],
  ])('of %s is %s', (url, address) => {
    expect(redisSource(url).address).toBe(address);
  });

  it('of a client over TLS says so', () => {
    const client = { duplicate: () => ({}), options: { host: 'host', tls: {} } };
    expect(redisSource(client).address).toBe('rediss://host:6379/0');
  });
});

describe('what is not a Redis server is refused at construction:', () => {
  it.each([
    ['http://localhost', 'is not a Redis URL'],
    ['localhost:6379', 'is not a Redis URL'],
    ['redis://localhost/zero', 'names a database'],
    // ioredis takes parameters for options, this one for "run it again after a reconnect".
    ['redis://localhost?autoResendUnfulfilledCommands=true', 'has parameters'],
  ])('%s', (url, problem) => {
    expect(() => redisSource(url)).toThrow(OptionError);
    expect(() => redisSource(url)).toThrow(problem);
  });

  const secret = 's3cr';
  it.each([
    `default:${secret}et@host:6379`,
    `redis://user:pa/${secret}et@host`,
    `redis://:${secret}#et@host`,
    `redis:/user:${secret}et@host/0`,
    `redis://12345/${secret}et@host`,
    `redis://me:${secret}et@localhost?x=1`,
    `redis://me:${secret}%zz@localhost`,
    `redis://${secret}%zz@localhost`,
    `//me:${secret}et@host`,
  ])('without anything of it in the error: %s', (url) => {
    let thrown: unknown;
    try {
      redisSource(url);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(OptionError);
    expect(inspect(thrown, { showHidden: true })).not.toContain(secret);
    expect((thrown as Error).message).toContain('redis://host:port/database');
  });

  it('a user and a password that are percent-encoded are decoded', async () => {
    const guarded = await startRedis({ args: ['--requirepass', 'a@b/c#d%'] });
    try {
      const url = `redis://:a%40b%2Fc%23d%25@${guarded.host}:${guarded.port}`;
      const connection = new RedisConnection(redisSource(url));
      expect(await connection.run(increase, ['counter'], [], 2_000)).toBe('1');
      await connection.close();
    } finally {
      await guarded.stop();
    }
  });

  it('options in place of a client, without showing what is in them', () => {
    const options = { host: 'localhost', password } as never;
    expect(() => redisSource(options)).toThrow(OptionError);
    try {
      redisSource(options);
    } catch (error) {
      expect(inspect(error)).not.toContain(password);
    }
  });

  it.each([-5, 0, Number.NaN, Number.POSITIVE_INFINITY, 'abc' as never, null as never])(
    'a time to connect that is none: %s',
    (connectTimeoutMs) => {
      const url = 'redis://localhost';
      const open = () => new RedisSession('a store', url, { connectTimeoutMs });
      expect(open).toThrow(OptionError);
      expect(open).toThrow('connectTimeoutMs');
      expect(() => new RedisConnection(redisSource(url), { connectTimeoutMs })).toThrow(
        OptionError,
      );
      expect(() => new RedisSubscriber(redisSource(url), { connectTimeoutMs })).toThrow(
        OptionError,
      );
    },
  );

  it('a client that is none', () => {
    expect(() => redisSource({} as never)).toThrow('is not a Redis client');
    expect(() => redisSource({ duplicate: () => ({}) })).toThrow('does not show how it connects');
  });
});

describe("a user's own client", () => {
  it('is duplicated with safe options, and neither used nor closed', async () => {
    const server = await startRedis();
    const own = new Redis(server.url, {
      keyPrefix: 'prefix:',
      db: 3,
      commandTimeout: 500,
      enableAutoPipelining: true,
    });
    await own.ping();
    const connection = new RedisConnection(redisSource(own));
    expect(connection.address).toBe(`redis://127.0.0.1:${server.port}/3`);
    await connection.run(increase, ['counter'], [], 1_000);
    await connection.close();
    expect(own.status).toBe('ready');
    own.disconnect();
    const admin = new Redis(server.url, { db: 3 });
    expect(await admin.keys('*')).toEqual(['counter']);
    admin.disconnect();
    await server.stop();
  });
});
