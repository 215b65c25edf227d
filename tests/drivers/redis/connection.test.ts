import { constants } from 'node:buffer';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineScript, RedisConnection, redisSource } from '../../../src/drivers/redis/index.js';
import {
  ClosedError,
  OptionError,
  OutcomeUnknownError,
  StoreRefusedError,
  tooLateCode,
  UnreachableError,
} from '../../../src/errors/index.js';
import { realRuntime, sleep } from '../../../src/time/index.js';
import { FaultProxy } from '../../support/proxy.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';
import { withClients } from './changed-client.js';

const echo = defineScript('echo', 'return ARGV[2]');
/** For a busy machine; far below the timeouts that would apply if ours did not. */
const slackMs = 3_000;
const increase = defineScript('increase', "return number(call('INCR', KEYS[1]))");

describe('a Redis connection', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let admin: Redis;
  let connection: RedisConnection;

  beforeEach(async () => {
    server = await startRedis();
    proxy = await FaultProxy.start(server.port);
    admin = new Redis(server.url);
    admin.on('error', () => {});
    connection = new RedisConnection(redisSource(`redis://127.0.0.1:${proxy.port}`), {
      connectTimeoutMs: 500,
    });
  });

  afterEach(async () => {
    await connection.close();
    admin.disconnect();
    await proxy.stop();
    await server.stop();
  });

  const run = (timeoutMs = 2_000) => connection.run(increase, ['counter'], [], timeoutMs);
  const elapsedOf = async (promise: Promise<unknown>) => {
    const startedAtMs = realRuntime.now().monotonicMs;
    const outcome = await promise.catch((error: unknown) => error);
    return { outcome, tookMs: realRuntime.now().monotonicMs - startedAtMs };
  };

  it('runs a script and returns what its body returned', async () => {
    expect(await connection.run(echo, [], ['text'], 1_000)).toBe('text');
  });

  it('sends the text of a script again after SCRIPT FLUSH, and runs it once', async () => {
    expect(await run()).toBe('1');
    await admin.script('FLUSH');
    expect(await run()).toBe('2');
  });

  it('pipelines concurrent calls on one socket', async () => {
    await run();
    proxy.down.hold();
    const calls = Promise.all([run(), run(), run()]);
    await expect.poll(() => admin.get('counter')).toBe('4');
    proxy.heal();
    expect(await calls).toEqual(['2', '3', '4']);
    expect(proxy.connectionCount).toBe(1);
  });

  it('settles within its timeout on a frozen server, as unknown, and then works on a new socket', async () => {
    await run();
    server.freeze();
    const { outcome, tookMs } = await elapsedOf(run(200));
    expect(outcome).toBeInstanceOf(OutcomeUnknownError);
    expect(tookMs).toBeLessThan(200 + slackMs);
    const second = await elapsedOf(run(200));
    expect(second.outcome).toBeInstanceOf(UnreachableError);
    expect(second.tookMs).toBeLessThan(200 + slackMs);
    server.thaw();
    expect(await run(5_000)).toBe('2');
  });

  it('does not let a request that was held up run after its deadline', async () => {
    await run();
    proxy.up.hold();
    expect((await elapsedOf(run(100))).outcome).toBeInstanceOf(OutcomeUnknownError);
    proxy.up.flush();
    proxy.heal();
    // What was flushed came first, on its own socket; the server answers in that order.
    expect(await connection.run(echo, [], ['after'], 2_000)).toBe('after');
    expect(await admin.get('counter')).toBe('1');
  });

  it('never matches a late reply with a later request', async () => {
    await connection.run(echo, [], ['warm'], 1_000);
    proxy.down.hold();
    expect((await elapsedOf(connection.run(echo, [], ['first'], 100))).outcome).toBeInstanceOf(
      OutcomeUnknownError,
    );
    proxy.heal();
    expect(await connection.run(echo, [], ['second'], 2_000)).toBe('second');
  });

  it('makes every call in flight unknown when one of them gives up the socket', async () => {
    await run();
    proxy.down.swallow();
    const patient = elapsedOf(run(10_000));
    const impatient = elapsedOf(run(100));
    expect((await impatient).outcome).toBeInstanceOf(OutcomeUnknownError);
    const { outcome, tookMs } = await patient;
    expect(outcome).toBeInstanceOf(OutcomeUnknownError);
    expect(tookMs).toBeLessThan(5_000);
  });

  it('reports a reset in flight as unknown and runs nothing twice', async () => {
    await run();
    proxy.down.hold();
    const call = elapsedOf(run(5_000));
    await proxy.down.caught();
    proxy.reset();
    expect((await call).outcome).toBeInstanceOf(OutcomeUnknownError);
    proxy.heal();
    expect(await run()).toBe('3');
  });

  it('says that what no message can hold was not sent, and goes on with all else', async () => {
    await run();
    const ends: string[] = [];
    connection.on('disconnected', ({ reason }) => ends.push(reason));
    const half = 'x'.repeat(constants.MAX_STRING_LENGTH / 2);
    const [before, tooLong, after] = await Promise.allSettled([
      run(),
      connection.run(echo, [], [half, half], 2_000),
      run(),
    ]);
    expect(tooLong).toMatchObject({ reason: expect.any(OptionError) });
    expect([before, after]).toMatchObject([{ value: '2' }, { value: '3' }]);
    expect(ends).toEqual([]);
  });

  it('does not know what became of a call in which the client library threw, and believes nothing more on its socket', async () => {
    const source = redisSource(`redis://127.0.0.1:${proxy.port}`);
    let isBroken = false;
    const throwing = new RedisConnection(
      withClients(source, (client) => {
        const call = client.call.bind(client);
        client.call = (command, args) => {
          const answer = call(command, args);
          if (!isBroken) return answer;
          isBroken = false;
          answer.catch(() => {});
          throw new Error('it is broken');
        };
      }),
    );
    await throwing.run(increase, ['counter'], [], 2_000);
    isBroken = true;
    const { outcome } = await elapsedOf(throwing.run(increase, ['counter'], [], 5_000));
    expect(outcome).toBeInstanceOf(OutcomeUnknownError);
    expect(await throwing.run(echo, [], ['after'], 5_000)).toBe('after');
    await throwing.close();
  });

  it('settles what the client library forgets when its socket ends (ioredis#2193)', async () => {
    const source = redisSource(`redis://127.0.0.1:${proxy.port}`);
    const forgetful = new RedisConnection(
      withClients(source, (client) => {
        const call = client.call.bind(client);
        client.call = (command, args) =>
          new Promise((resolve) => {
            call(command, args).then(resolve, () => {});
          });
      }),
    );
    // The text of the script goes first, since the answer NOSCRIPT would be forgotten, too.
    await admin.script('LOAD', increase.lua);
    await forgetful.run(increase, ['counter'], [], 1_000);
    proxy.down.hold();
    const call = elapsedOf(forgetful.run(increase, ['counter'], [], 60_000));
    await proxy.down.caught();
    proxy.reset();
    expect((await call).outcome).toBeInstanceOf(OutcomeUnknownError);
    await forgetful.close();
  });

  it('reports a reply that was cut in the middle as unknown', async () => {
    await run();
    proxy.down.set({ kind: 'cut', afterBytes: 5 });
    expect((await elapsedOf(run(5_000))).outcome).toBeInstanceOf(OutcomeUnknownError);
    expect(await run()).toBe('3');
  });

  it('is unreachable, not unknown, while nothing could be sent, and waits no longer than it may', async () => {
    proxy.refuse(true);
    const { outcome, tookMs } = await elapsedOf(run(300));
    expect(outcome).toBeInstanceOf(UnreachableError);
    expect(tookMs).toBeGreaterThan(250);
    expect(tookMs).toBeLessThan(300 + slackMs);
    expect((outcome as Error).message).toContain(String(proxy.port));
  });

  it('waits for a server that comes back within the timeout', async () => {
    await run();
    await server.kill();
    await expect.poll(() => proxy.connectionCount).toBe(0);
    const call = run(10_000);
    await server.restart({ keepData: false });
    expect(await call).toBe('1');
  });

  it('tries again while a script of somebody else blocks the server, and then says BUSY', async () => {
    await run();
    await admin.config('SET', 'busy-reply-threshold', '1');
    const other = new Redis(server.url);
    other.eval('while true do end', 0).catch(() => {});
    await expect.poll(() => admin.ping().catch((error: Error) => error.message)).toMatch(/^BUSY/);
    const { outcome, tookMs } = await elapsedOf(run(1_000));
    expect(outcome).toBeInstanceOf(StoreRefusedError);
    expect((outcome as StoreRefusedError).storeCode).toBe('BUSY');
    expect(tookMs).toBeLessThan(1_000 + slackMs);
    const patient = run(10_000);
    await admin.script('KILL');
    expect(await patient).toBe('2');
    other.disconnect();
  });

  it('reports what the server refuses by the name the server gives it', async () => {
    await run();
    await admin.config('SET', 'maxmemory', '1');
    const write = connection.run(
      defineScript('write', "return call('SET', KEYS[1], 'x')"),
      ['key'],
      [],
      1_000,
    );
    await expect(write).rejects.toMatchObject({ code: 'TENURE_STORE_REFUSED', storeCode: 'OOM' });
  });

  it('reports a script that breaks off as unknown, without what it was given', async () => {
    const broken = defineScript('broken', "call('INCR', KEYS[1]) error('bad ' .. ARGV[2])");
    const { outcome } = await elapsedOf(connection.run(broken, ['counter'], ['hush'], 1_000));
    expect(outcome).toBeInstanceOf(OutcomeUnknownError);
    expect((outcome as Error).message).toMatch(/line \d+/);
    expect((outcome as Error).message).not.toContain('hush');
  });

  it('refuses calls after close, settles those in flight, and leaves no socket', async () => {
    await run();
    proxy.down.swallow();
    const inFlight = elapsedOf(run(10_000));
    await proxy.down.caught();
    await connection.close();
    expect((await inFlight).outcome).toBeInstanceOf(OutcomeUnknownError);
    await expect(run()).rejects.toBeInstanceOf(ClosedError);
    await connection.close();
    await expect.poll(() => proxy.connectionCount).toBe(0);
  });

  it('keeps no socket open for a server that does not say goodbye', async () => {
    const openSockets = () =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'TCPSocketWrap').length;
    await admin.ping();
    const countBefore = openSockets();
    const direct = new RedisConnection(redisSource(server.url));
    await direct.run(increase, ['counter'], [], 1_000);
    server.freeze();
    await direct.close();
    // ioredis itself would wait two seconds for the other side.
    await expect.poll(openSockets, { timeout: 1_500 }).toBe(countBefore);
  });

  it('gives up waiting for a connection when it is closed', async () => {
    proxy.refuse(true);
    const waiting = elapsedOf(run(10_000));
    await connection.close();
    const { outcome, tookMs } = await waiting;
    expect(outcome).toBeInstanceOf(ClosedError);
    expect(tookMs).toBeLessThan(5_000);
  });

  it('leaves no socket at whatever moment of its opening it is closed', async () => {
    proxy.down.set({ kind: 'delay', delayMs: 20 });
    for (let afterMs = 0; afterMs <= 80; afterMs += 5) {
      const opening = new RedisConnection(redisSource(`redis://127.0.0.1:${proxy.port}`));
      const waiting = elapsedOf(opening.run(echo, [], ['text'], 10_000));
      await sleep(realRuntime, afterMs);
      await opening.close();
      await waiting;
    }
    await expect.poll(() => proxy.connectionCount).toBe(0);
  });

  it.each(['return 7', 'return false', 'return {}', "return {'x', 'done'}", "return 'OK'"])(
    'takes an answer that is none of ours for an unknown outcome: %s',
    async (lua) => {
      const foreign = { ...echo, lua, sha: '0'.repeat(40) };
      await expect(connection.run(foreign, [], [], 1_000)).rejects.toBeInstanceOf(
        OutcomeUnknownError,
      );
      expect(await connection.run(echo, [], ['still there'], 1_000)).toBe('still there');
    },
  );

  it('knows the server clock anew after a step forward, and goes on at once', async () => {
    // A script that claims the server's clock is an hour ahead, as after a step.
    const ahead = defineScript('ahead', 'return 1');
    const stepped = { ...ahead, lua: ahead.lua.replaceAll('number(now)', 'number(now + 3600000)') };
    await connection.run({ ...stepped, sha: '0'.repeat(40) }, [], [], 1_000);
    // Now our estimate is an hour ahead: a request would be allowed to run an hour late.
    await run();
    proxy.up.hold();
    expect((await elapsedOf(run(100))).outcome).toBeInstanceOf(OutcomeUnknownError);
    proxy.heal();
    expect(await connection.run(echo, [], ['after'], 2_000)).toBe('after');
    expect(await admin.get('counter')).toBe('1');
  });

  it('answers too late, with nothing executed, if the server insists', async () => {
    const script = defineScript('late', "return call('INCR', KEYS[1])");
    const lua = script.lua.replace("call('TIME')", "{ '99999999999', '0' }");
    const late = connection.run({ ...script, lua, sha: '1'.repeat(40) }, ['counter'], [], 1_000);
    // The first answer moves the estimate to that clock, so the second try is in time.
    expect(await late).toBe(1);
    await expect(
      connection.run(
        { ...script, lua: script.lua.replace('tonumber(ARGV[1])', '0'), sha: '2'.repeat(40) },
        ['counter'],
        [],
        1_000,
      ),
    ).rejects.toMatchObject({ storeCode: tooLateCode });
    expect(await admin.get('counter')).toBe('1');
  });
});
