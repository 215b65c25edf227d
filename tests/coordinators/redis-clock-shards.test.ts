import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { own } from '../../bench/owner.js';
import { startRedis } from '../support/servers/index.js';

const program = join(import.meta.dirname, '../../bench/crashing-worker.mjs');
const hourMs = 60 * 60 * 1000;
const ttlMs = 800;
const shardCount = 8;

/*
 * Workers look at the leases of a group and never ask for one that is held, so nobody else would notice that the leases of
 * a dead one now live an hour longer.
 */
it('a dead shard worker is succeeded although the clock of the server was set back', {
  timeout: 60_000,
}, async () => {
  const redis = await startRedis({ clock: true });
  const survivor = own(redis.url, 'group', ttlMs, shardCount);
  const args = [program, redis.url, 'group', String(ttlMs), String(shardCount)];
  const doomed = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  try {
    await once(doomed, 'message');
    await survivor.worker.start();
    await expect.poll(() => survivor.beganAtMs.size, { timeout: 20_000 }).toBe(shardCount / 2);
    doomed.kill('SIGKILL');
    redis.stepClock(-hourMs);
    await expect.poll(() => survivor.beganAtMs.size, { timeout: 20_000 }).toBe(shardCount);
  } finally {
    doomed.kill('SIGKILL');
    await survivor.close();
    await redis.stop();
  }
});
