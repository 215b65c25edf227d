import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/fencing/sqlite.md'), 'utf8');

const block = (language: string) =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ?? '';

// A child that compiles the sources takes its time on a busy machine.
it('docs/fencing/sqlite.md holds a program that prints what the page says', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-fence-docs-'));
  const program = block('js').replace(/'tenure(?:\/(\w+))?'/g, (_, entry = 'index') => {
    return `'${pathToFileURL(join(root, `src/${entry}.ts`))}'`;
  });
  const hooks = pathToFileURL(join(root, 'tests/support/typescript-hooks.mjs'));
  const register = `import { register } from 'node:module'; register('${hooks}');`;
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [
        // Node 22 says of its own SQLite that it is experimental.
        '--disable-warning=ExperimentalWarning',
        ...['--import', `data:text/javascript,${encodeURIComponent(register)}`],
        ...['--input-type=module', '--eval', program],
      ],
      { cwd: root, env: { ...process.env, DATABASE: join(folder, 'data.db') } },
    );
    expect(stderr).toBe('');
    expect(stdout).toBe(block('text'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
