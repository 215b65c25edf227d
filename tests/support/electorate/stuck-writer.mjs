/**
 * A process that stops itself (SIGSTOP) in the middle of a request, which holds the lock of a SQLite file: `node
 * stuck-writer.mjs URL NAMESPACE`. Says `stopping inside` before that.
 */
import { Holder, realRuntime } from 'tenure';
import { sqliteCoordinator } from 'tenure/sqlite';

const [url = '', namespace = ''] = process.argv.slice(2);
const module = new URL('../../../dist/drivers/sqlite/clock.js', import.meta.url).href;
/** @type {import('../../../src/drivers/sqlite/clock.js').SqliteClock} */
const kernel = (await import(module)).kernelClock();
let isInside = false;
const clock = {
  ...kernel,
  /** First asked when the lock is had. */
  now() {
    if (isInside) {
      console.log('stopping inside');
      process.kill(process.pid, 'SIGSTOP');
    }
    return kernel.now();
  },
};
const coordinator = sqliteCoordinator(url, { namespace, clock });
await coordinator.read(['other'], { timeoutMs: 10_000 });
isInside = true;
const holder = Holder.create('stuck', realRuntime);
const request = { name: 'other', holder, attempt: realRuntime.randomHex(16), ttlMs: 1_000 };
await coordinator.acquire([request], { timeoutMs: 10_000 });
