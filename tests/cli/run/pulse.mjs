/**
 * What `tenure run` runs in these tests: appends `<wrapper> <role> <pid> <term> <kernel time in ms>` to a file every few
 * milliseconds for as long as it lives, and has a child that does the same.
 *
 * node pulse.mjs <file> <wrapper> [stubborn] [nested] [ms=<life>] [status=<n>]
 */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const [file = '', wrapper = '', ...words] = process.argv.slice(2);
const role = words.includes('nested') ? 'grandchild' : 'child';
const mark = (what = 'alive') => {
  const atMs = Number(process.hrtime.bigint()) / 1e6;
  const term = process.env.TENURE_TERM;
  appendFileSync(file, `${wrapper} ${role} ${process.pid} ${term} ${atMs.toFixed(3)} ${what}\n`);
};

/** @param {string} name */
function given(name) {
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']) {
  process.on(signal, () => {
    mark(signal);
    const isDeaf = words.includes('stubborn') || signal.startsWith('SIGUSR') || signal === 'SIGHUP';
    if (!isDeaf) process.exit(0);
  });
}
// Whoever reads this may send signals from now on.
mark('begun');
setInterval(mark, 10);
const lifeMs = given('ms');
if (lifeMs !== undefined)
  setTimeout(() => process.exit(Number(given('status') ?? 0)), Number(lifeMs));
if (role === 'child') {
  const options = [file, wrapper, 'nested', ...words.filter((word) => word === 'stubborn')];
  spawn(process.execPath, [process.argv[1] ?? '', ...options], { stdio: 'ignore' });
}
