import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, root } from './bootstrap.mjs';

/**
 * Compiles a program that imports every entry of the packed package, as strictly as TypeScript can: with `skipLibCheck` off,
 * which is its default, it reads every declaration.
 *
 * @param {string} folder an empty one of its own.
 * @param {string} tarball
 * @param {Record<string, unknown>} entries `exports` of package.json.
 */
export function checkTypes(folder, tarball, entries) {
  const user = join(folder, 'user');
  const installed = join(user, 'node_modules/tenure');
  mkdirSync(installed, { recursive: true });
  // Its dependencies, and the clients of stores, are found one folder up.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  const names = Object.keys(entries).filter((entry) => entry !== './package.json');
  const lines = names.map(
    (entry, index) => `export * as m${index} from 'tenure${entry.slice(1)}';`,
  );
  writeFileSync(join(user, 'user.ts'), lines.join('\n'));
  const compilerOptions = {
    ...{ target: 'es2022', module: 'nodenext', strict: true, noEmit: true },
    ...{ skipLibCheck: false, types: ['node'] },
  };
  writeFileSync(
    join(user, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['user.ts'] }),
  );
  run(join(root, 'node_modules/.bin/tsc'), ['--project', user]);
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function run(program, args) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0)
    fail(`a program that imports the package does not compile:\n${stdout}${stderr}`);
}
