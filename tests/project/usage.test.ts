import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { benchUsage, chaosUsage, longUsage, modelUsage, soakUsage } from '../../scripts/usage.mjs';

const root = join(import.meta.dirname, '../..');

const programs = [
  { script: 'chaos', usage: chaosUsage },
  { script: 'soak', usage: soakUsage },
  { script: 'bench', usage: benchUsage },
  { script: 'model', usage: modelUsage },
  { script: 'test:long', usage: longUsage },
];

/** As `npm run` starts it. */
function run(script: string, ...args: readonly string[]) {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [, file = ''] = /^node (\S+)$/.exec(scripts[script]) ?? [];
  return spawnSync(process.execPath, [join(root, file), ...args], { cwd: root, encoding: 'utf8' });
}

describe.each(programs)('npm run $script', ({ script, usage }) => {
  it.each(['--help', '-h'])('says how it is called, and does nothing else: %s', (flag) => {
    const { status, stdout, stderr } = run(script, flag);
    expect([status, stdout, stderr]).toEqual([0, `${usage}\n`, '']);
  });
});

it('npm run soak says what it does not take, without a stack', () => {
  const { status, stdout, stderr } = run('soak', '--nonsense');
  expect([status, stdout]).toEqual([64, '']);
  expect(stderr.endsWith(`\n\n${soakUsage}\n`)).toBe(true);
  expect(stderr).toContain('--nonsense');
  expect(stderr).not.toMatch(/^\s+at /m);
}, 60_000);

it.each([
  ['chaos', chaosUsage],
  ['soak', soakUsage],
])('the usage of npm run %s names every option there is', (script, usage) => {
  const text = readFileSync(join(root, `tests/${script}/main.ts`), 'utf8');
  const [, block = ''] = /\n {4}options: \{\n([\s\S]*?)\n {4}\},/.exec(text) ?? [];
  const names = [...block.matchAll(/^ {6}'?([a-z-]+)'?:/gm)].map(([, name]) => `--${name}`);
  expect(names.length).toBeGreaterThan(3);
  expect([...usage.matchAll(/\[(--[a-z-]+)/g)].map(([, name]) => name).sort()).toEqual(
    names.sort(),
  );
});
