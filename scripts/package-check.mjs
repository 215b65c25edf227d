/**
 * `npm run package:check`: looks at the package as a user would get it. Packs it, then asks publint,
 * "are the types wrong" and knip, and checks what is in the archive.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt, ensureDependencies, fail, root } from './bootstrap.mjs';
import { checkTypes } from './package-types.mjs';

ensureDependencies();
ensureBuilt();

const folder = mkdtempSync(join(tmpdir(), 'tenure-pack-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

// Built above already; the build's own output would also spoil the JSON.
const packed = spawnSync(
  'npm',
  ['pack', '--json', '--ignore-scripts', '--pack-destination', folder],
  {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
if (packed.status !== 0) fail('npm pack failed');
const [archive] = JSON.parse(packed.stdout);
/** @type {Set<string>} */
const contents = new Set(archive.files.map((/** @type {{ path: string }} */ file) => file.path));

const { bin, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** @param {unknown} value @returns {string[]} */
const paths = (value) =>
  typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(paths);
const promised = [...paths(bin), ...paths(exports), 'README.md', 'CHANGELOG.md', 'LICENSE'];
for (const path of promised.map((one) => one.replace(/^\.\//, ''))) {
  if (!contents.has(path)) fail(`the package promises ${path}, but the archive lacks it`);
}
const welcome =
  /^(?:dist\/.+\.(?:js|js\.map|d\.ts)|docs\/.+|examples\/.+|ops\/.+|(?:README|CHANGELOG|ARCHITECTURE|CONTRIBUTING)\.md|compose\.yaml|LICENSE|package\.json)$/;
// What the README links to travels with it.
const stray = [...contents].find((path) => !welcome.test(path));
if (stray) fail(`the archive holds ${stray}, which no user needs`);

/**
 * Shows what a checker says only if it objects.
 * @param {string} name
 * @param {string[]} args
 */
function check(name, args) {
  const program = join(root, 'node_modules/.bin', name);
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (status !== 0) fail(`${name} objects: ${error?.message ?? ''}\n${stdout}${stderr}`);
}

const tarball = join(folder, archive.filename);
check('publint', ['run', tarball, '--strict']);
check('attw', [tarball, '--profile', 'esm-only']);
checkTypes(folder, tarball, exports);
check('knip', ['--no-config-hints']);
console.log(`package: ${contents.size} files, ${Math.ceil(archive.size / 1024)} kB packed`);
