/**
 * Says which boot it is in, what time it is by the clock of a SQLite store, and what its own monotonic clock says, which
 * `--set-off=SECONDS` sets off by a time namespace.
 */
import { register } from 'node:module';
import { runInNamespace } from '../../support/own-namespace.mjs';

const seconds = /^--set-off=(\d+)$/.exec(process.argv[2] ?? '')?.[1];
if (seconds === undefined) {
  register('../../support/typescript-hooks.mjs', import.meta.url);
  const { kernelClock } = await import('../../../src/drivers/sqlite/clock.js');
  const clock = kernelClock();
  console.log(clock.bootId, clock.now().nowMs, Number(process.hrtime.bigint()) / 1e6);
} else {
  process.exitCode = runInNamespace(['--time', '--monotonic', seconds], [process.argv[1] ?? '']);
}
