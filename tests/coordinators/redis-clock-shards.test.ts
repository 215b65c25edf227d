import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { own } from '../../bench/owner.js';
import { startRedis } from '../support/servers/index.js';

it('a dead worker is succeeded after the server clock was set back', {
  timeout: 60000,
}, async () => {
  const redis = await startRedis({ clock: true });
  const owner = own(redis.url, 'g', 2000, 8);
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../bench/crashing-worker.mjs'), redis.url, 'g', '2000', '8'],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  await once(child, 'message');
  await owner.worker.start();
  await expect.poll(() => owner.beganAtMs.size, { timeout: 15000 }).toBe(4);
  child.kill('SIGKILL');
  if (process.env.STEP) redis.stepClock(-3600_000);
  try {
    await expect.poll(() => owner.beganAtMs.size, { timeout: 15000 }).toBe(8);
  } finally {
    await owner.close();
    await redis.stop();
  }
});
