import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exhaust, runWithFewFiles, shipped } from './few-files.js';
import { isAlive, type Mark, Scene } from './harness.js';

const timeout = 60_000;
const isGrandchild = (mark: Mark) => mark.role === 'grandchild';

/** What becomes of a guard after `first`. */
function guardAfter(first: string): unknown {
  return runWithFewFiles(`
    import { Watch } from ${shipped('cli/supervise/watch.js')};
    import { realRuntime } from ${shipped('time/index.js')};
    import { kernelTimeOf, later } from ${shipped('cli/supervise/kernel-time.js')};
    const killAt = later(kernelTimeOf(realRuntime.now()), 60_000);
    const told = [];
    const watch = new Watch({ runtime: realRuntime, tell: (words) => told.push(words) });
    ${first};
    const unwatched = () => told.push('unwatched');
    const answer = await watch.guard(4_000_000, { termAt: killAt, killAt }, unwatched).then(
      () => 'guarded',
      ({ message }) => message,
    );
    await watch.dismiss();
    console.log(JSON.stringify({ answer, last: told.at(-1) }));
  `);
}

describe('where no watchdog can be had', { timeout }, () => {
  it.each([
    ['the system has no more files', 'exhaust(2)', /EMFILE/],
    ['the system refuses at once', 'process.execPath = "/dev/null/node"', /ENOTDIR/],
  ])('a guard fails, and tells so: %s', (_why, first, error) => {
    expect(guardAfter(first)).toEqual({
      answer: expect.stringMatching(new RegExp(`${error.source}.*as did 3 before it`)),
      last: 'unwatched',
    });
  });

  it('a command that runs is stopped, and the name given back', async () => {
    const scene = new Scene('SQLite');
    const preload = join(scene.folder, 'exhaust.mjs');
    writeFileSync(
      preload,
      `${exhaust} process.on('SIGWINCH', () => { exhaust(2); console.error('tenure run: exhausted'); });`,
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
