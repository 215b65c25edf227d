import { describe, expect, it } from 'vitest';
import { FaultProxy } from '../../support/proxy.js';
import { gone, livesOf, type Mark, nowMs, overlapsOf, Scene, ttlMs } from './harness.js';

const timeout = 60_000;
const isGrandchild = (mark: Mark) => mark.role === 'grandchild';

/** Everybody of the wrapper is there and working. */
async function working(scene: Scene, id: string): Promise<void> {
  await scene.marked((mark) => mark.wrapper === id && isGrandchild(mark));
}

describe('a command under a lease', { timeout }, () => {
  it.each([[[]], [['stubborn']]])(
    'is gone, with its children, before the successor begins when its wrapper is killed %j',
    async (words) => {
      const scene = new Scene();
      const first = scene.pulse('a', [], words);
      await working(scene, 'a');
      const watchdog = await first.watchdog();
      const second = scene.pulse('b');
      await second.says(/waiting for "work": held by a, term \d+/);
      first.signal('SIGKILL');
      const killedMs = nowMs();
      await working(scene, 'b');
      const marks = scene.marks;
      const lives = livesOf(marks);
      expect(overlapsOf(lives)).toEqual([]);
      const lastMs = Math.max(...lives.filter((one) => one.wrapper === 'a').map((one) => one.toMs));
      expect(lastMs - killedMs).toBeLessThan(ttlMs);
      expect(marks.filter((mark) => mark.what === 'SIGTERM' && mark.wrapper === 'a')).not.toEqual(
        [],
      );
      await gone(watchdog);
      expect(first.stderr).toContain('watchdog: the wrapper is gone; stopping process group');
    },
  );

  it.each([[[]], [['stubborn']]])(
    'is gone before the successor begins when its wrapper stands still %j; that one exits with 76',
    async (words) => {
      const scene = new Scene();
      const first = scene.pulse('a', [], words);
      await working(scene, 'a');
      const watchdog = await first.watchdog();
      const second = scene.pulse('b');
      await second.says(/waiting for/);
      first.signal('SIGSTOP');
      const stoppedMs = nowMs();
      await working(scene, 'b');
      await gone(watchdog);
      first.signal('SIGCONT');
      expect(await first.ended).toEqual({ status: 76, signal: null });
      expect(first.stderr).toMatch(/lost "work", term \d+: its deadline passed/);
      const lives = livesOf(scene.marks);
      expect(overlapsOf(lives)).toEqual([]);
      const lastMs = Math.max(...lives.filter((one) => one.wrapper === 'a').map((one) => one.toMs));
      expect(lastMs - stoppedMs).toBeLessThan(ttlMs);
    },
  );

  it('gets SIGTERM, then SIGKILL in time, when the store does not answer any more; exit status 76', async () => {
    const scene = new Scene();
    const proxy = await FaultProxy.start(Number(new URL(scene.url).port));
    const direct = scene.url;
    try {
      scene.url = `redis://127.0.0.1:${proxy.port}`;
      const first = scene.pulse('a', [], ['stubborn']);
      await working(scene, 'a');
      scene.url = direct;
      const second = scene.pulse('b');
      await second.says(/waiting for/);
      proxy.up.set({ kind: 'swallow' });
      expect(await first.ended).toEqual({ status: 76, signal: null });
      expect(first.stderr).toContain('the lease is uncertain');
      expect(first.stderr).toMatch(/process group \d+ was killed/);
      await working(scene, 'b');
      const marks = scene.marks;
      const told = marks.filter((mark) => mark.what === 'SIGTERM');
      expect(new Set(told.map((mark) => mark.role))).toEqual(new Set(['child', 'grandchild']));
      const lives = livesOf(marks);
      expect(overlapsOf(lives)).toEqual([]);
      // It was left the time between giving up and the end.
      const lastMs = Math.max(...lives.filter((one) => one.wrapper === 'a').map((one) => one.toMs));
      expect(lastMs - Math.min(...told.map((mark) => mark.atMs))).toBeGreaterThan(ttlMs / 10);
    } finally {
      await proxy.stop();
    }
  });
});
