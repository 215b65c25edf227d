/**
 * `npm start` (or `pnpm start`, or `node scripts/start.mjs`): the command line from a fresh clone.
 *
 * Runs `demo`, or `selftest` with SELFTEST=1, or the command named first. With REDIS_URL it works
 * against that server; MOCK=1 keeps everything in memory whatever REDIS_URL says. Further arguments
 * are passed on.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt, ensureDependencies, fail, root } from './bootstrap.mjs';

ensureDependencies();
ensureBuilt();

const main = join(root, 'dist/cli/main.js');
if (!existsSync(main)) fail('dist/cli/main.js was not built: is src/cli/main.ts there?');

// npm takes the `--` before our arguments away, pnpm passes it on.
const given = process.argv[2] === '--' ? process.argv.slice(3) : process.argv.slice(2);
const [first, ...rest] = given;
const namesCommand = first !== undefined && !first.startsWith('-');
const args = namesCommand
  ? [first, ...rest]
  : [process.env.SELFTEST === '1' ? 'selftest' : 'demo', ...given];

// `demo` and `selftest` read REDIS_URL themselves, so MOCK=1 has to take it away.
if (process.env.MOCK === '1') delete process.env.REDIS_URL;

// In this process, so that signals and the exit status are the program's own.
process.argv = [process.execPath, main, ...args];
await import(pathToFileURL(main).href);
