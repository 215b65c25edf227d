import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { root } from '../../../scripts/bootstrap.mjs';
import { gone, isAlive, type Mark, Scene, ttlMs } from './harness.js';

const timeout = 60_000;
const isGrandchild = (mark: Mark) => mark.role === 'grandchild';

describe('the watchdog of tenure run', { timeout }, () => {
  it('is replaced when it dies, and its replacement does the same', async () => {
    const scene = new Scene();
    const wrapper = scene.pulse('a');
    const { pid } = await scene.marked(isGrandchild);
    const first = await wrapper.watchdog();
    process.kill(first, 'SIGKILL');
    await wrapper.says(/the watchdog ended \(SIGKILL\); another one takes its place/);
    await gone(first);
    const second = await wrapper.watchdog();
    expect(second).not.toBe(first);
    // It has to have heard of the group, which it has when it lets us wait for it to start.
    await sleep(ttlMs / 2);
    wrapper.signal('SIGKILL');
    await gone(pid);
    await gone(second);
  });

  it('is not missed for long: if every one dies, the command is stopped and the name given back', async () => {
    const scene = new Scene();
    const wrapper = scene.pulse('a');
    const { pid } = await scene.marked(isGrandchild);
    let last = 0;
    for (let count = 0; count < 4; count++) {
      while ((await wrapper.watchdog()) === last) await sleep(10);
      last = await wrapper.watchdog();
      process.kill(last, 'SIGKILL');
    }
    expect(await wrapper.ended).toEqual({ status: 70, signal: null });
    expect(wrapper.stderr).toContain('as did 3 before it; stopping the command');
    expect(isAlive(pid)).toBe(false);
    expect((await scene.run('b', ['--no-wait'], ['true']).ended).status).toBe(0);
  });

  it('does no harm when it was frozen itself for longer than the ttl', async () => {
    const scene = new Scene();
    const wrapper = scene.pulse('a');
    const { pid } = await scene.marked(isGrandchild);
    const watchdog = await wrapper.watchdog();
    process.kill(watchdog, 'SIGSTOP');
    await sleep(ttlMs * 1.5);
    process.kill(watchdog, 'SIGCONT');
    await sleep(ttlMs / 2);
    expect(isAlive(pid)).toBe(true);
    expect(isAlive(watchdog)).toBe(true);
    wrapper.signal('SIGTERM');
    expect((await wrapper.ended).status).toBe(0);
    await gone(watchdog);
  });

  it('is replaced when it stands still before the command begins', async () => {
    const scene = new Scene();
    const first = scene.run('a', [], ['sleep', '60']);
    await first.says(/elected/);
    const second = scene.run('b', [], ['true']);
    await second.says(/waiting/);
    const watchdog = await second.watchdog();
    process.kill(watchdog, 'SIGSTOP');
    first.signal('SIGTERM');
    expect(await second.ended).toEqual({ status: 0, signal: null });
    expect(second.stderr).toMatch(/the watchdog ended \(SIGKILL\); another one[\s\S]*elected/);
    expect(isAlive(watchdog)).toBe(false);
  });

  it('ignores what ends a whole service, and goes with its wrapper', async () => {
    const scene = new Scene();
    const wrapper = scene.pulse('a');
    const { pid } = await scene.marked(isGrandchild);
    const watchdog = await wrapper.watchdog();
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(watchdog, signal);
    await sleep(200);
    expect(isAlive(watchdog)).toBe(true);
    wrapper.signal('SIGKILL');
    await gone(pid);
    await gone(watchdog);
  });

  it('goes with a wrapper that is killed while it waits', async () => {
    const scene = new Scene();
    const first = scene.run('a', [], ['sleep', '60']);
    await first.says(/elected/);
    const second = scene.run('b', [], ['true']);
    await second.says(/waiting/);
    const watchdog = await second.watchdog();
    second.signal('SIGKILL');
    await gone(watchdog);
  });

  it('is told of a command before that begins: one whose wrapper ends first never runs', () => {
    const scene = new Scene();
    const made = join(scene.folder, 'made');
    const module = join(root, 'dist/cli/supervise/gated-child.js');
    const program = (last: string) =>
      `const { GatedChild } = await import(${JSON.stringify(module)});
       const child = await GatedChild.start(['/usr/bin/touch', ${JSON.stringify(made)}], {});
       ${last};
       console.log((await child.ended).code);`;
    const run = (last: string) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', program(last)], {
        encoding: 'utf8',
      });
    // The output ends when the child does, which has the pipe too.
    run('process.exit(0)');
    expect(existsSync(made)).toBe(false);
    expect(run('child.open()')).toBe('0\n');
    expect(existsSync(made)).toBe(true);
  });
});
