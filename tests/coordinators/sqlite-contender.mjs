/**
 * One of several processes that add to one counter, each only while it holds the lease `counter`.
 *
 *     node sqlite-contender.mjs LEASES COUNTER ID [stop-inside]
 *
 * For every grant it prints, before it adds anything, `granted TERM ANSWERED UNTIL`: when it learned of it and until when
 * it believes in it, by the kernel's clock in ms; `stopped TERM AT` if it stopped believing before that, to release; and
 * for every addition `added TERM` once the counter has taken it, or `refused TERM`. With `stop-inside` it stops itself in
 * the middle of its first acquisition, holding the file's lock, and ends after that.
 */
import { register } from 'node:module';

register('../support/typescript-hooks.mjs', import.meta.url);
const { sqliteCoordinator } = await import('../../src/sqlite.js');
const { Holder } = await import('../../src/coordinators/index.js');
const { realRuntime } = await import('../../src/time/index.js');
const { kernelClock } = await import('../../src/drivers/sqlite/clock.js');
const { loadSqlite } = await import('../../src/drivers/sqlite/client.js');

const [leases = '', counter = '', id = '', wish = ''] = process.argv.slice(2);
const ttlMs = 400;
const kernel = kernelClock();
let readingCount = 0;
const clock = {
  ...kernel,
  now() {
    readingCount += 1;
    if (wish === 'stop-inside' && readingCount === 1) {
      console.log('stopping inside');
      process.kill(process.pid, 'SIGSTOP');
    }
    return kernel.now();
  },
};
const coordinator = sqliteCoordinator(leases, { clock });
const holder = Holder.create(id, realRuntime);
const database = (await loadSqlite()).open(counter);
database.exec('PRAGMA busy_timeout = 5000');
/** A guard at the resource: whoever comes with a lower term than was seen adds nothing. */
const add = database.prepare('UPDATE counter SET value = value + 1, term = ? WHERE term <= ?');

console.log('ready');
for (;;) {
  const sentMs = kernel.now().nowMs;
  const request = { name: 'counter', holder, attempt: realRuntime.randomHex(16), ttlMs };
  const [result] = await coordinator
    .acquire([request], { timeoutMs: 200 })
    .catch((error) => [{ outcome: `${error.name}: ${error.message}`, term: 0 }]);
  if (wish === 'stop-inside') {
    console.log(`came out: ${result?.outcome}`);
    process.exit(0);
  }
  if (result?.outcome !== 'granted') {
    if (result?.outcome !== 'held') console.log(result?.outcome);
    await new Promise((resolve) => setTimeout(resolve, 5 + 20 * Math.random()));
    continue;
  }
  const { term } = result;
  const untilMs = sentMs + ttlMs;
  console.log(`granted ${term} ${kernel.now().nowMs} ${untilMs}`);
  while (kernel.now().nowMs < untilMs - ttlMs / 2) {
    const { changes } = /** @type {{ changes: number }} */ (add.run(term, term));
    console.log(`${changes === 1 ? 'added' : 'refused'} ${term}`);
    await new Promise((resolve) => setTimeout(resolve, 10 * Math.random()));
  }
  // Every other time it lets the lease run out, as a process does that was killed.
  if (term % 2 === 0) {
    console.log(`stopped ${term} ${kernel.now().nowMs}`);
    await coordinator
      .release([{ name: 'counter', holder, term }], { timeoutMs: 200 })
      .catch(() => {});
  }
}
