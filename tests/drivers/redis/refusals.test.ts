import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { defineScript, RedisConnection, redisSource } from '../../../src/drivers/redis/index.js';
import { StoreMisconfiguredError, StoreRefusedError } from '../../../src/errors/index.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';

const increase = defineScript('increase', "return number(call('INCR', KEYS[1]))");

/* What a server answers instead of an answer. Nothing was executed in any of these cases. */
describe('a server that', () => {
  let server: RedisServer;
  let admin: Redis;
  let connection: RedisConnection;

  afterEach(async () => {
    await connection.close();
    admin.disconnect();
    await server.stop();
  });

  const start = async (...args: string[]) => {
    server = await startRedis({ appendonly: 'always', args });
    // Without its check, after which it would not show LOADING.
    admin = new Redis(server.url, { enableReadyCheck: false });
    admin.on('error', () => {});
    connection = new RedisConnection(redisSource(server.url));
  };
  const run = (timeoutMs = 2_000) => connection.run(increase, ['counter'], [], timeoutMs);

  it('has too few replicas for a write says NOREPLICAS', async () => {
    await start('--min-replicas-to-write', '1');
    await expect(run()).rejects.toMatchObject({ storeCode: 'NOREPLICAS' });
    await expect(run()).rejects.toThrow('min-replicas-to-write');
    await admin.config('SET', 'min-replicas-to-write', '0');
    expect(await run()).toBe('1');
  });

  it('has no such database is told as a mistake in the URL', async () => {
    await start();
    const there = new RedisConnection(redisSource(`${server.url}/99`));
    const asked = there.run(increase, ['counter'], [], 30_000);
    await expect(asked).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(asked).rejects.toThrow('/99 has no database of that number');
    await there.close();
  });

  it('cannot save what it has says MISCONF, and that is told as a mistake of its set-up', async () => {
    await start('--stop-writes-on-bgsave-error', 'yes', '--dbfilename', 'taken');
    expect(await run()).toBe('1');
    // A folder in the place of the file, so that the save fails, for root as well.
    mkdirSync(join(server.dir, 'taken', 'by a folder'), { recursive: true });
    await admin.config('SET', 'save', '3600 1');
    await admin.bgsave();
    await expect.poll(() => admin.info('persistence')).toContain('rdb_last_bgsave_status:err');
    await expect(run()).rejects.toBeInstanceOf(StoreMisconfiguredError);
    await expect(run()).rejects.toThrow('MISCONF');
    await admin.config('SET', 'save', '');
    expect(await run()).toBe('2');
  });

  it('is loading its data is waited for, as long as the call may', async () => {
    await start('--key-load-delay', '4000', '--loading-process-events-interval-bytes', '1024');
    await run();
    const pipeline = admin.pipeline();
    for (let i = 0; i < 2_500; i++) pipeline.set(`key-${i}`, 'x'.repeat(100));
    await pipeline.exec();
    await admin.bgrewriteaof();
    await expect.poll(() => admin.info('persistence')).toContain('aof_rewrite_in_progress:0');
    const restarting = server.restart({ keepData: true });
    const seen = () => admin.get('counter').catch(({ message }: Error) => message);
    await expect.poll(seen).toMatch(/^LOADING/);
    // It answers between two pieces of its data; what is asked in the last moment may have no answer at all.
    const hasty = () => run(1_000).catch((error: unknown) => error);
    await expect
      .poll(hasty, { timeout: 15_000 })
      .toMatchObject({ constructor: StoreRefusedError, storeCode: 'LOADING' });
    // Nobody is to miss it on a busy machine; from here on it may be over soon.
    await admin.config('SET', 'key-load-delay', '0').catch(() => undefined);
    expect(await run(60_000)).toBe('2');
    await restarting;
  });
});
