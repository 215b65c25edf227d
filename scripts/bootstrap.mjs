/**
 * Brings a fresh clone to the point where it can run: dependencies installed, `dist/` built.
 *
 * Only Node's own modules here, since nothing else is there yet. Silent when there is nothing to do;
 * otherwise one line on standard error says what is being done, so that standard output stays the
 * program's own.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';

export const root = join(import.meta.dirname, '..');

/** @param {string} line */
export function say(line) {
  process.stderr.write(`tenure: ${line}\n`);
}

/**
 * Ends the process with a message instead of a stack trace: the reader wants to know what to do.
 * @param {string} message
 * @returns {never}
 */
export function fail(message) {
  say(message);
  process.exit(1);
}

/**
 * Runs a program to its end. What it prints is shown only if it fails.
 * @param {string} command
 * @param {string[]} args
 * @param {string} what said when it fails
 */
function runOrFail(command, args, what) {
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return;
  process.stderr.write(`${stdout ?? ''}${stderr ?? ''}`);
  fail(`${what} failed: ${error?.message ?? signal ?? `exit status ${status}`}`);
}

/**
 * npm as this Node sees it: the one that started us, or the one on the path.
 * @param {string[]} args
 * @param {string} what
 */
export function npm(args, what) {
  const caller = process.env.npm_execpath;
  if (caller?.endsWith('npm-cli.js') && existsSync(caller)) {
    runOrFail(process.execPath, [caller, ...args], what);
  } else {
    runOrFail('npm', args, what);
  }
}

/**
 * Compares what npm says it installed with what the lock asks for. Contents, not times: a checkout
 * touches the lock without changing it. Another installer (pnpm) leaves no such list; then it is
 * enough that every direct dependency is there.
 * @returns {string | undefined} why an installation is needed
 */
function whyInstall() {
  if (!existsSync(join(root, 'node_modules'))) return 'no node_modules yet';
  const installedList = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(installedList)) {
    const { dependencies, devDependencies } = readJson(join(root, 'package.json'));
    const missing = Object.keys({ ...dependencies, ...devDependencies }).find(
      (name) => !existsSync(join(root, 'node_modules', name, 'package.json')),
    );
    return missing && `${missing} is missing`;
  }
  const installed = readJson(installedList).packages;
  for (const [path, wanted] of Object.entries(readJson(join(root, 'package-lock.json')).packages)) {
    if (path === '' || wanted.optional || wanted.peer) continue;
    const version = installed[path]?.version;
    if (version !== wanted.version || !existsSync(join(root, path, 'package.json'))) {
      return `${path.replace(/^.*node_modules\//, '')} ${wanted.version} is missing`;
    }
  }
  return undefined;
}

export function ensureDependencies() {
  const why = whyInstall();
  if (!why) return;
  say(`installing dependencies with npm ci (${why})`);
  // --include=dev: the compiler is a development dependency, whatever NODE_ENV says.
  npm(['ci', '--include=dev', '--no-fund', '--no-audit', '--loglevel=error'], 'npm ci');
}

/**
 * @param {string} folder
 * @returns {string[]} absolute paths, sorted; empty when the folder is not there
 */
export function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

const stampFile = join(root, 'dist/.stamp');

function sourceStamp() {
  const hash = createHash('sha256');
  const settings = ['tsconfig.json', 'tsconfig.build.json', 'package.json'];
  const files = [...filesUnder(join(root, 'src')), ...settings.map((name) => join(root, name))];
  for (const file of files)
    hash.update(relative(root, file)).update('\0').update(readFileSync(file));
  return hash.digest('hex');
}

/** Builds `dist/` with the compiler, and takes away what no source stands behind any more. */
export function build() {
  const stamp = sourceStamp();
  rmSync(stampFile, { force: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  runOrFail(process.execPath, [compiler, '--project', 'tsconfig.build.json'], 'building dist/');
  for (const file of filesUnder(join(root, 'dist'))) {
    const source = relative(join(root, 'dist'), file).replace(/(\.d\.ts|\.js)(\.map)?$/, '.ts');
    if (!source.startsWith('.') && !existsSync(join(root, 'src', source))) rmSync(file);
  }
  const main = join(root, 'dist/cli/main.js');
  if (existsSync(main)) chmodSync(main, statSync(main).mode | 0o111);
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(stampFile, stamp);
}

export function ensureBuilt() {
  const built = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : undefined;
  if (built === sourceStamp()) return;
  say(`building dist/ (${built === undefined ? 'not built yet' : 'sources changed'})`);
  build();
}

/** @param {string} file */
function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}
