import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/ordering.md'), 'utf8');

function blocks(language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  return [...page.matchAll(pattern)].map(([, code]) => code ?? '');
}

/** The module of this project that a package path stands for. */
function source(specifier: string): string {
  const entry = specifier === 'tenure' ? 'index' : specifier.slice('tenure/'.length);
  return pathToFileURL(join(root, 'src', `${entry}.ts`)).href;
}

describe('docs/ordering.md', () => {
  // A child that compiles all of the sources takes its time on a busy machine.
  it('holds a program that prints what the page says', { timeout: 60_000 }, async () => {
    const program = blocks('js')
      .join('\n')
      .replace(/'(tenure(?:\/\w+)?)'/g, (_, name) => `'${source(name)}'`);
    const hooks = pathToFileURL(join(root, 'tests/support/typescript-hooks.mjs'));
    const register = `import { register } from 'node:module'; register('${hooks}');`;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [
        ...['--import', `data:text/javascript,${encodeURIComponent(register)}`],
        ...['--input-type=module', '--eval', program],
      ],
      { cwd: root },
    );
    expect(stderr).toBe('');
    expect(stdout).toBe(blocks('text')[0]);
  });
});
