import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { startRedis } from '../../support/servers/index.js';
import { until } from '../../support/until.js';
import {
  gone,
  isAlive,
  livesOf,
  type Mark,
  nowMs,
  overlapsOf,
  Scene,
  storeNames,
  ttlMs,
} from './harness.js';

const timeout = 60_000;
const isGrandchild = (mark: Mark) => mark.role === 'grandchild';
const by = ['--by', 'ana', '--yes'];

describe.each(storeNames)('a loss on %s', { timeout }, (store) => {
  it('stops the command, and the successor begins when it has stopped, long before the ttl', async () => {
    const scene = new Scene(store);
    const first = scene.pulse('a', ['--ttl', '20s']);
    await scene.marked(isGrandchild);
    const second = scene.pulse('b', ['--ttl', '20s']);
    await second.says(/waiting/);
    const revokedMs = nowMs();
    await scene.tenure('revoke', 'work', '--reason', 'stuck', ...by);
    expect(await first.ended).toEqual({ status: 76, signal: null });
    expect(first.stderr).toMatch(/lost "work", term \d+: an operator ended it; stopping/);
    const begun = await scene.marked((mark) => mark.wrapper === 'b');
    expect(begun.atMs - revokedMs).toBeLessThan(15_000);
    expect(overlapsOf(livesOf(scene.marks))).toEqual([]);
    const told = scene.marks.filter((mark) => mark.what === 'SIGTERM');
    expect(new Set(told.map(({ role }) => role))).toEqual(new Set(['child', 'grandchild']));
    second.signal('SIGTERM');
    await second.ended;
  });

  it('is followed by another campaign if that is wanted: never two commands at a time, and why is told between', async () => {
    const scene = new Scene(store);
    const onLost = `echo "$TENURE_REASON $TENURE_NAME $TENURE_TERM $TENURE_URL" >> ${scene.folder}/lost`;
    const options = ['--shell', '--restart', 'on-loss', '--on-lost', onLost];
    const script = `exec "${process.execPath}" "$@"`;
    const words = [`${import.meta.dirname}/pulse.mjs`, scene.marksFile, 'a', 'stubborn'];
    const wrapper = scene.run('a', options, [script, ...words], { TENURE_URL: 'redis://secret@h' });
    const first = await scene.marked(isGrandchild);
    await scene.tenure('revoke', 'work', '--reason', 'stuck', ...by);
    await wrapper.says(/campaigning for "work" again/);
    const second = await scene.marked((mark) => isGrandchild(mark) && mark.term > first.term);
    expect(overlapsOf(livesOf(scene.marks))).toEqual([]);
    expect(scene.fileText('lost')).toBe(`revoked work ${first.term} \n`);
    expect(isAlive(first.pid)).toBe(false);
    const [, group] = /again in .*\n.*running as process group (\d+)/.exec(wrapper.stderr) ?? [];
    process.kill(-Number(group), 'SIGKILL');
    expect(await wrapper.ended).toEqual({ status: 137, signal: null });
    expect(isAlive(second.pid)).toBe(false);
  });
});

describe('a revoked wrapper that campaigns again', { timeout }, () => {
  it('leaves the name to another one that waits, each time', async () => {
    const scene = new Scene('SQLite');
    const options = ['--restart', 'on-loss', '--ttl', '10s'];
    scene.pulse('a', options);
    let { term } = await scene.marked(isGrandchild);
    const second = scene.pulse('b', options);
    await second.says(/waiting/);
    for (const next of ['b', 'a', 'b', 'a']) {
      // The other one waits again by then.
      await scene.waits(next);
      await scene.tenure('revoke', 'work', '--reason', 'move', ...by);
      const last = term;
      const elected = await scene.marked((mark) => isGrandchild(mark) && mark.term > last);
      expect(elected.wrapper).toBe(next);
      term = elected.term;
    }
    expect(overlapsOf(livesOf(scene.marks))).toEqual([]);
  });
});

describe('a loss', { timeout }, () => {
  it('leaves no time to a command whose name somebody else may have: the record is gone', async () => {
    const redis = await startRedis();
    const client = new Redis(redis.url);
    try {
      const scene = new Scene();
      scene.url = redis.url;
      const wrapper = scene.pulse('a', ['--ttl', '10s'], ['stubborn']);
      await scene.marked(isGrandchild);
      await client.flushall();
      const flushedMs = nowMs();
      expect(await wrapper.ended).toEqual({ status: 76, signal: null });
      expect(wrapper.stderr).toContain('its record is gone from the store');
      expect(wrapper.stderr).toMatch(/process group \d+ was killed/);
      // One renewal interval until it is noticed, and next to nothing more.
      const lastMs = Math.max(...livesOf(scene.marks).map(({ toMs }) => toMs));
      expect(lastMs - flushedMs).toBeLessThan(10_000 / 3 + 1_000);
    } finally {
      client.disconnect();
      await redis.stop();
    }
  });

  it('kills also a command that stands still, and what job control has set apart', async () => {
    const scene = new Scene();
    const script = `set -m; "$0" "$1" "$2" a nested & echo $$; kill -STOP $$; wait`;
    const words = [process.execPath, `${import.meta.dirname}/pulse.mjs`, scene.marksFile];
    const wrapper = scene.run('a', [], ['/bin/bash', '-c', script, ...words]);
    const { pid } = await scene.marked(isGrandchild);
    const shell = await until('the shell', () => Number(wrapper.stdout) || undefined);
    process.kill(pid, 'SIGSTOP');
    wrapper.signal('SIGKILL');
    await gone(pid);
    await gone(shell);
  });

  it('is not followed by another campaign if it was told to stop before', async () => {
    const scene = new Scene();
    const wrapper = scene.pulse('a', ['--restart', 'on-loss'], ['stubborn']);
    await scene.marked(isGrandchild);
    wrapper.signal('SIGTERM');
    await scene.marked((mark) => mark.what === 'SIGTERM');
    await scene.tenure('revoke', 'work', '--reason', 'stuck', ...by);
    expect((await wrapper.ended).status).toBe(76);
  });

  it('keeps the name from everybody for the lock-delay that was asked for', async () => {
    const scene = new Scene();
    const first = scene.pulse('a', ['--grace', '3s']);
    await scene.marked(isGrandchild);
    const second = scene.pulse('b');
    await second.says(/waiting/);
    first.signal('SIGKILL');
    const killedMs = nowMs();
    await second.says(/in its lock-delay/);
    const begun = await scene.marked((mark) => mark.wrapper === 'b');
    // The ttl began with a renewal before the kill: at most a third of it, and some, was over.
    expect(begun.atMs - killedMs).toBeGreaterThan(3_000 + ttlMs / 2);
  });
});
