/**
 * Says which boot it is in, what time it is by the clock of a SQLite store, and what its own monotonic clock says, which
 * `--set-off=SECONDS` sets off by a time namespace.
 */
import { spawnSync } from 'node:child_process';
import { register } from 'node:module';

const seconds = /^--set-off=(\d+)$/.exec(process.argv[2] ?? '')?.[1];
if (seconds === undefined) {
  register('../../support/typescript-hooks.mjs', import.meta.url);
  const { kernelClock } = await import('../../../src/drivers/sqlite/clock.js');
  const clock = kernelClock();
  console.log(clock.bootId, clock.now().nowMs, Number(process.hrtime.bigint()) / 1e6);
} else {
  const namespace = ['--time', '--monotonic', seconds, '--fork', '--kill-child'];
  const self = [process.execPath, process.argv[1] ?? ''];
  const { status } = spawnSync('unshare', [...namespace, ...self], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
