/**
 * `npm run test:long`: the suite on every supported Node, then the tests that take minutes.
 *
 * `npm run test:long -- --only nodes` or `--only long` runs one half; TENURE_LONG=nodes (or long)
 * does the same. Other arguments go to the test runner.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureDependencies, fail, npm, root, say } from './bootstrap.mjs';
import { ensureServers } from './ensure-servers.mjs';
import { storesOrFail } from './stores.mjs';
import { answerHelp, longUsage } from './usage.mjs';

answerHelp(longUsage);

const otherMajors = [22, 24];
const halves = ['nodes', 'long'];

const { values, tokens } = parseArgs({
  options: { only: { type: 'string' } },
  strict: false,
  tokens: true,
});
const only = values.only ?? process.env.TENURE_LONG;
if (only !== undefined && !halves.includes(String(only))) {
  fail(`--only takes one of ${halves.join(', ')}, not "${only}"`);
}
const ours = tokens.find((token) => token.kind === 'option' && token.name === 'only');
const ourLength = ours?.kind === 'option' ? (ours.inlineValue ? 1 : 2) : 0;
const runnerArgs = process.argv.slice(2);
if (ours) runnerArgs.splice(ours.index, ourLength);

/**
 * A Node of another major version: the binary that the registry has as a package, kept in the cache.
 * @param {number} major
 */
function nodeBinary(major) {
  const folder = join(root, `node_modules/.cache/tenure/node-${major}`);
  const packageName = `node-linux-${process.arch}`;
  const binary = join(folder, 'node_modules', packageName, 'bin/node');
  if (!existsSync(binary)) {
    say(`installing Node ${major} (${packageName}) under node_modules/.cache`);
    mkdirSync(folder, { recursive: true });
    // A package of its own, or npm would look for one further up and find ours.
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    npm(
      [
        ...['install', '--prefix', folder, '--no-save', '--no-package-lock', '--ignore-scripts'],
        ...['--no-fund', '--no-audit', '--loglevel=error', `${packageName}@${major}`],
      ],
      `installing Node ${major}`,
    );
  }
  return binary;
}

/**
 * Runs the test runner, shows its output as it comes, and reads the totals off its last line.
 * @param {string} name
 * @param {string} node
 * @param {string[]} args
 */
async function runPart(name, node, args) {
  console.log(`\n=== ${name} ===`);
  const startedMs = performance.now();
  const child = spawn(node, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    // What the tests start as `node` is then this Node too.
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` },
  });
  let tail = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    process.stdout.write(chunk);
    tail = (tail + chunk).slice(-1000);
  });
  /** @type {number | null} */
  const status = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const totals = /^(\d+) passed, (\d+) failed, (\d+) skipped$/m.exec(tail) ?? [];
  const [passed, failed, skipped] = totals.slice(1).map(Number);
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const part = { name, seconds, passed: passed ?? 0, failed: failed ?? 0, skipped: skipped ?? 0 };
  // A part that broke without a count, or counted nothing, must show in the total as well.
  const broke = status !== 0 || part.passed + part.failed === 0;
  if (broke && part.failed === 0) part.failed = 1;
  return part;
}

const stores = storesOrFail();
ensureDependencies();
ensureBuilt();
ensureServers(stores);

/** @type {Awaited<ReturnType<typeof runPart>>[]} */
const parts = [];
if (only !== 'long') {
  const current = Number.parseInt(process.versions.node, 10);
  parts.push(await runPart(`suite, Node ${process.version}`, process.execPath, runnerArgs));
  for (const major of otherMajors.filter((other) => other !== current)) {
    parts.push(await runPart(`suite, Node ${major}`, nodeBinary(major), runnerArgs));
  }
}
if (only !== 'nodes') {
  const args = ['--config', 'vitest.long.config.ts', ...runnerArgs];
  parts.push(await runPart(`long, Node ${process.version}`, process.execPath, args));
}

/** @param {'passed' | 'failed' | 'skipped'} key */
const sum = (key) => parts.reduce((total, part) => total + part[key], 0);
console.log('\npart                    passed  failed  skipped  seconds');
for (const { name, passed, failed, skipped, seconds } of parts) {
  const columns = [String(passed).padStart(6), String(failed).padStart(6)];
  columns.push(String(skipped).padStart(7), String(seconds).padStart(7));
  console.log(`${name.padEnd(24)}${columns.join('  ')}`);
}
process.exitCode = sum('failed') > 0 || sum('passed') === 0 ? 1 : 0;
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`);
