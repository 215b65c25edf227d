import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrationSql } from '../../../src/fences/mysql/index.js';
import { type MariaDbServer, startMariaDb } from '../../support/servers/index.js';
import { runSql } from './subject.js';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/fencing/mysql.md'), 'utf8');

function blocks(language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  return [...page.matchAll(pattern)].map(([, code]) => code ?? '');
}

let server: MariaDbServer;

beforeAll(async () => {
  server = await startMariaDb();
}, 60_000);

afterAll(async () => await server.stop());

describe('docs/fencing/mysql.md', () => {
  // A child that compiles the sources takes its time on a busy machine.
  it('holds a program that prints what the page says', { timeout: 60_000 }, async () => {
    const program = blocks('js')
      .join('\n')
      .replace(/'tenure(?:\/(\w+))?'/g, (_, entry = 'index') => {
        return `'${pathToFileURL(join(root, `src/${entry}.ts`))}'`;
      });
    const hooks = pathToFileURL(join(root, 'tests/support/typescript-hooks.mjs'));
    const register = `import { register } from 'node:module'; register('${hooks}');`;
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [
        ...['--import', `data:text/javascript,${encodeURIComponent(register)}`],
        ...['--input-type=module', '--eval', program],
      ],
      { cwd: root, env: { ...process.env, DATABASE_URL: server.url } },
    );
    expect(stderr).toBe('');
    expect(stdout).toBe(blocks('text')[0]);
  });

  it('shows the SQL that is run, and privileges that can be granted', async () => {
    const [tables, grants = ''] = blocks('sql');
    expect(tables).toBe(migrationSql());
    for (const text of migrationSql()
      .split(';\n')
      .filter((one) => one.trim() !== ''))
      await runSql(server.url, text);
    await runSql(server.url, "CREATE USER writer IDENTIFIED BY 'pw'");
    for (const text of grants.split(';\n').filter((one) => one.trim() !== ''))
      await runSql(server.url, text);
  });
});
