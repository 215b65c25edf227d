import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../../scripts/bootstrap.mjs';
import { isAlive, type Mark, Scene } from './harness.js';

const timeout = 60_000;
const isGrandchild = (mark: Mark) => mark.role === 'grandchild';

/** Takes all the files that this process may have open, but for so few that nothing can be started with them. */
const exhaust = `
import { closeSync, openSync } from 'node:fs';
const exhaust = () => {
  const taken = [];
  try {
    for (;;) taken.push(openSync('/dev/null'));
  } catch {}
  for (const file of taken.slice(-2)) closeSync(file);
};
`;

/** What becomes of a guard in a process of its own, with few files, after `first`. */
function guardAfter(first: string): string {
  const module = (name: string) => JSON.stringify(join(root, `dist/${name}`));
  const program = `
    ${exhaust}
    import { Watch } from ${module('cli/supervise/watch.js')};
    import { realRuntime } from ${module('time/index.js')};
    import { kernelTimeOf, later } from ${module('cli/supervise/kernel-time.js')};
    const killAt = later(kernelTimeOf(realRuntime.now()), 60_000);
    const told = [];
    const watch = new Watch({ runtime: realRuntime, tell: (words) => told.push(words) });
    ${first};
    const answer = await watch.guard(4_000_000, { termAt: killAt, killAt }, () => told.push('unwatched')).then(
      () => 'guarded',
      ({ message }) => message,
    );
    await watch.dismiss();
    console.log(JSON.stringify({ answer, last: told.at(-1) }));`;
  const shell = 'ulimit -n 60; exec "$0" --input-type=module -e "$1"';
  return execFileSync('/bin/sh', ['-c', shell, process.execPath, program], { encoding: 'utf8' });
}

describe('where no watchdog can be had', { timeout }, () => {
  it.each([
    ['the system has no more files', 'exhaust()', /EMFILE/],
    ['the system refuses at once', 'process.execPath = "/dev/null/node"', /ENOTDIR/],
  ])('a guard fails, and tells so: %s', (_why, first, error) => {
    const { answer, last } = JSON.parse(guardAfter(first));
    expect(answer).toMatch(error);
    expect(answer).toContain('as did 3 before it');
    expect(last).toBe('unwatched');
  });

  it('a command that runs is stopped, and the name given back', async () => {
    const scene = new Scene('SQLite');
    const preload = join(scene.folder, 'exhaust.mjs');
    writeFileSync(
      preload,
      `${exhaust} process.on('SIGWINCH', () => { exhaust(); console.error('tenure run: exhausted'); });`,
    );
    const wrapper = scene.pulse('a', [], [], { NODE_OPTIONS: `--import ${preload}` });
    const { pid } = await scene.marked(isGrandchild);
    const watchdog = await wrapper.watchdog();
    wrapper.signal('SIGWINCH');
    await wrapper.says(/exhausted/);
    process.kill(watchdog, 'SIGKILL');
    expect(await wrapper.ended).toEqual({ status: 70, signal: null });
    expect(wrapper.stderr).toMatch(/EMFILE.*as did 3 before it; stopping the command/);
    expect(isAlive(pid)).toBe(false);
    expect((await scene.run('b', ['--no-wait'], ['true']).ended).status).toBe(0);
  });
});
