import { execFile } from 'node:child_process';
import { access, copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findCompiler, findSpin } from '../scripts/server-binaries.mjs';

/** @typedef {import('./variants.mjs').Variant} Variant */

/**
 * What came of a search.
 *
 * @typedef {object} Found
 * @property {boolean} holds every state that there is was looked at, and none was wrong
 * @property {number} stateCount
 * @property {string[]} arises the situations that were met
 * @property {string[]} unreached steps of the model that nothing led to
 * @property {string[]} trace if it does not hold: what led there, a line for each step
 * @property {string} output all that the search said
 */

/** A search takes less than 10 s on an idle core. */
const limitMs = 300_000;
const run = promisify(execFile);

/**
 * Searches every state of a variant, in a folder of its own, which is gone afterwards.
 *
 * @param {Variant} variant
 * @param {number} [deepest] how many steps it may follow; more than there are, else it does not hold
 * @returns {Promise<Found>}
 */
export async function search({ model, defines, live = false, fails }, deepest = 1_000_000) {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-model-'));
  try {
    await copyFile(join(import.meta.dirname, model), join(folder, model));
    const mustFail = fails !== undefined;
    const flags = defines.map((define) => `-D${define}`);
    const spin = needed('spin', findSpin());
    await told(folder, spin, ['-a', ...flags, ...(mustFail ? [] : ['-DSEARCH']), model]);
    await told(folder, needed('gcc', findCompiler()), compilation(live, mustFail));
    const output = await told(folder, './pan', [
      '-w22',
      `-m${deepest}`,
      ...(live ? ['-a', '-f'] : []),
    ]);
    const trace = await traceOf(folder, spin, ['-t', ...flags, model], `${model}.trail`);
    return { ...understood(output), trace };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * What has to fail is compiled quickly, and searched breadth first, which finds the shortest way there.
 *
 * @param {boolean} live
 * @param {boolean} mustFail
 */
function compilation(live, mustFail) {
  const kind = live ? ['-DNFAIR=3'] : mustFail ? ['-DSAFETY', '-DBFS'] : ['-DSAFETY'];
  return ['-w', mustFail ? '-O0' : '-O1', ...kind, '-o', 'pan', 'pan.c'];
}

/**
 * @param {string} name
 * @param {string | undefined} path
 */
function needed(name, path) {
  if (path === undefined) throw new Error(`${name} is not installed: apt-get install ${name}`);
  return path;
}

/**
 * @param {string} folder
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<string>} what it said
 */
async function told(folder, program, args) {
  const options = { cwd: folder, timeout: limitMs, maxBuffer: 64 * 1024 * 1024 };
  const { stdout, stderr } = await run(program, args, options);
  return `${stdout}${stderr}`;
}

/**
 * @param {string} output
 * @returns {Omit<Found, 'trace'>}
 */
function understood(output) {
  const isWhole =
    !/max search depth|out of memory|Search not completed|search was halted|truncated/i.test(
      output,
    );
  const lines = output.split('\n').map((line) => line.trim());
  const arises = lines.filter((line) => line.startsWith('arises: ')).map((line) => line.slice(8));
  return {
    holds: isWhole && /, errors: 0$/m.test(output),
    stateCount: Number(/(\d+) states, stored/.exec(output)?.[1] ?? 0),
    arises: [...new Set(arises)],
    unreached: lines.filter((line) => /, state \d+, /.test(line) && !line.endsWith('"-end-"')),
    output,
  };
}

/**
 * @param {string} folder
 * @param {string} spin
 * @param {string[]} args
 * @param {string} trail
 */
async function traceOf(folder, spin, args, trail) {
  const isThere = await access(join(folder, trail)).then(
    () => true,
    () => false,
  );
  if (!isThere) return [];
  const lines = (await told(folder, spin, args)).split('\n').map((line) => line.trim());
  const end = lines.findIndex((line) => /^spin: (?:trail ends|.*Error)/.test(line));
  return lines
    .slice(0, end)
    .filter(
      (line) => line !== '' && !/^(?:ltl |starting claim|Never claim|spin: warning)/.test(line),
    );
}
