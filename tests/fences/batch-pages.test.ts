import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { programsOf, readPage } from '../support/page-programs.js';
import { startEtcd, startRedis } from '../support/servers/index.js';

const root = join(import.meta.dirname, '../..');
const pages = [
  ['redis', 'REDIS_URL', startRedis],
  ['etcd', 'ETCD_URL', startEtcd],
] as const;

/** The module of this project that a package path stands for. */
function source(specifier: string): string {
  const entry = specifier === 'tenure' ? 'index' : specifier.slice('tenure/'.length);
  return pathToFileURL(join(root, 'src', `${entry}.ts`)).href;
}

// A child that compiles all of the sources takes its time on a busy machine.
it.each(pages)(
  'docs/fencing/%s.md holds a program that prints what the page says',
  { timeout: 90_000 },
  async (page, variable, start) => {
    // Its text is followed by the word "prints".
    const text = readPage(`fencing/${page}.md`).replace(
      '```\n\nprints\n\n```text',
      '```\n\n```text',
    );
    const [{ program, output } = { program: '', output: '' }] = programsOf(text);
    const code = program.replace(/'(tenure(?:\/\w+)?)'/g, (_, name) => `'${source(name)}'`);
    const hooks = pathToFileURL(join(root, 'tests/support/typescript-hooks.mjs'));
    const register = `import { register } from 'node:module'; register('${hooks}');`;
    const server = await start();
    try {
      const { stdout, stderr } = await promisify(execFile)(
        process.execPath,
        [
          ...['--import', `data:text/javascript,${encodeURIComponent(register)}`],
          ...['--input-type=module', '--eval', code],
        ],
        { cwd: root, env: { ...process.env, [variable]: server.url } },
      );
      expect(stderr).toBe('');
      expect(output).not.toBe('');
      expect(stdout).toBe(output);
    } finally {
      await server.stop();
    }
  },
);
