import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const run = promisify(execFile);

/** Each program of the page with the output that is printed below it. */
const programs = [...readme.matchAll(/```js\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/g)].map(
  (match) => ({
    program: match[1] ?? '',
    output: match[2] ?? '',
  }),
);

describe('the README', () => {
  it('has programs to run', () => {
    expect(programs.length).toBe([...readme.matchAll(/```js\n/g)].length);
    expect(programs.length).toBeGreaterThan(1);
  });

  it.each(programs)(
    'shows a program that prints what it says: $output',
    async ({ program, output }) => {
      // Inside the package, where its own name resolves to what `npm run build` made.
      const folder = mkdtempSync(join(root, 'dist', '.readme-'));
      try {
        const file = join(folder, 'program.mjs');
        writeFileSync(file, program);
        const { stdout, stderr } = await run(process.execPath, [file]);
        expect(stdout).toBe(output);
        expect(stderr).toBe('');
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );

  it('links only to pages that exist', () => {
    for (const [, target] of readme.matchAll(/\]\(([^)#:]+)\)/g)) {
      expect(() => readFileSync(join(root, target ?? ''))).not.toThrow();
    }
  });

  it('has no gaps left to fill', () => {
    expect(readme).not.toMatch(
      /\b[A-Z]{4,}_[A-Z_]+\b(?<!REDIS_URL|TENURE_TERM|TENURE_URL|TENURE_STORES)/,
    );
  });
});
