import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { main } from './command-line.js';
import { NamesScene, tellStory } from './names-scene.js';

const run = promisify(execFile);
const ttlMs = 2_000;

describe.each([
  ['SQLite', (folder: string) => `sqlite:${join(folder, 'leases.db')}`],
  ['Redis', () => inject('redisUrl')],
])('the commands about names on %s', { timeout: 60_000 }, (_store, urlIn) => {
  let folder: string;
  const scenes: NamesScene[] = [];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tenure-names-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  afterEach(async () => {
    await Promise.all(scenes.splice(0).map((scene) => scene.end()));
  });

  function freshScene(): NamesScene {
    const scene = new NamesScene(urlIn(folder));
    scenes.push(scene);
    return scene;
  }

  it('tell who leads, who waits, and what becomes of a handoff, a suspension and a crash', () =>
    tellStory(freshScene(), ttlMs));

  it('say that an effect was not seen in time, and leave it to come', async () => {
    const scene = freshScene();
    const cli = (...args: string[]) => scene.cli(...args);
    const first = await scene.candidate('replica-1', 10_000);
    await first.says(/^leads/);
    first.signal('SIGSTOP');
    const late = await cli('revoke', 'payments', '--reason', 'stuck', '--yes', '--timeout', '50ms');
    expect(late.status).toBe(75);
    expect(late.stdout).toBe('');
    expect(late.stderr).toContain('it stands, and takes effect later');
    const inTime = await cli('revoke', 'payments', '--reason', 'stuck', '--yes');
    expect(inTime, inTime.stderr).toMatchObject({ status: 0 });
    expect(inTime.stderr).toContain('it was revoked before, by ana@desk: stuck');
    expect(inTime.stdout).toContain('of replica-1 at payments has ended; now it is free');
  });

  it('ask on a terminal, and take no for an answer', async () => {
    const scene = freshScene();
    const first = await scene.candidate('replica-1', ttlMs);
    await first.says(/^leads/);
    const command = `'${process.execPath}' '${main}' suspend payments --reason INC-12`;
    // util-linux's script gives the command a terminal, and its exit status on.
    const asked = (answer: string) =>
      run('sh', ['-c', `printf '${answer}\\n' | script -qec "$0" /dev/null`, command], {
        env: { ...process.env, ...scene.settings },
      });
    await expect(asked('n')).rejects.toMatchObject({
      code: 77,
      stdout: expect.stringMatching(/Go on\? \[y\/N\].*nothing was done/s),
    });
    expect((await scene.cli('who', 'payments')).stdout).toBe('replica-1\n');
    expect((await asked('y')).stdout).toContain('payments is suspended, and nobody holds it');
    expect((await scene.cli('who', 'payments')).status).toBe(1);
  });
});
