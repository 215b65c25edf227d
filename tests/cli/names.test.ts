import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { realRuntime } from '../../src/time/index.js';
import { NodeProgram } from '../support/node-program.js';
import { main, startTenure, tenure } from './command-line.js';

const run = promisify(execFile);
const candidateFile = join(import.meta.dirname, 'candidate.mjs');

describe.each([
  ['SQLite', (folder: string) => `sqlite:${join(folder, 'leases.db')}`],
  ['Redis', () => inject('redisUrl')],
])('the commands about names on %s', { timeout: 60_000 }, (_store, urlIn) => {
  let folder: string;
  let settings: Record<string, string>;
  const programs: NodeProgram[] = [];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tenure-names-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.kill()));
  });

  function freshNamespace(): void {
    const namespace = `names-${realRuntime.randomHex(4)}`;
    settings = { TENURE_URL: urlIn(folder), TENURE_NAMESPACE: namespace, TENURE_BY: 'ana@desk' };
  }

  const cli = (...args: string[]) => tenure(args, settings);

  async function candidate(id: string, ttlMs = 2_000): Promise<NodeProgram> {
    const { TENURE_URL: url = '', TENURE_NAMESPACE: namespace = '' } = settings;
    const program = new NodeProgram([candidateFile, url, namespace, id, 'payments', `${ttlMs}`]);
    programs.push(program);
    await program.says(/^ready$/);
    return program;
  }

  /** Until a command's answer is as wanted: what a process did arrives there a moment later. */
  async function eventually(args: string[], wanted: RegExp): Promise<string> {
    const startedMs = performance.now();
    for (;;) {
      const { stdout, stderr } = await cli(...args);
      if (wanted.test(stdout)) return stdout;
      if (performance.now() - startedMs > 20_000)
        throw new Error(`waited in vain for ${wanted} in ${stdout}${stderr}`);
    }
  }

  it('tell who leads, who waits, and what becomes of a handoff, a suspension and a crash', async () => {
    freshNamespace();
    expect(await cli('who', 'payments')).toEqual({
      status: 1,
      stdout: '',
      stderr: 'tenure who: nobody holds payments: it is free\n',
    });
    const first = await candidate('replica-1');
    const [, term = ''] = await first.says(/^leads (\d+)$/);
    expect(await cli('who', 'payments')).toEqual({ status: 0, stdout: 'replica-1\n', stderr: '' });
    const watching = startTenure(['watch', 'payments', '-o', 'jsonl'], settings);
    await watching.printed('"holderId":"replica-1"');

    const second = await candidate('replica-2');
    await eventually(['candidates', 'payments'], /^1 +replica-2 +waiting/m);
    expect((await cli('candidates', 'payments')).stdout).toMatch(/^- +replica-1 +leads/m);
    const { names } = JSON.parse((await cli('status', '-o', 'json')).stdout);
    expect(names).toMatchObject([
      { name: 'payments', state: 'held', holderId: 'replica-1', term: Number(term), ttlMs: 2_000 },
    ]);

    const handoff = await cli('handoff', 'payments', '--to', 'replica-2', '--yes');
    expect(handoff, handoff.stderr).toMatchObject({ status: 0 });
    expect(handoff.stdout).toContain('now it is held by replica-2');
    expect(handoff.stderr).not.toContain('risk:');
    await first.says(/^ends revoked$/);
    await second.says(/^leads \d+$/);
    await watching.printed('"holderId":"replica-2"');

    const suspend = await cli('suspend', 'payments', '--reason', 'INC-12', '--yes');
    expect(suspend).toMatchObject({
      status: 0,
      stdout: 'payments is suspended, and nobody holds it\n',
    });
    expect(await cli('who', 'payments')).toEqual({
      status: 1,
      stdout: '',
      stderr: 'tenure who: nobody holds payments: it is suspended by ana@desk: INC-12\n',
    });
    await watching.printed('"state":"suspended"');

    await first.kill();
    const resume = await cli('resume', 'payments', '--reason', 'INC-12 is over');
    expect(resume, resume.stderr).toMatchObject({ status: 0 });
    expect(resume.stdout).toMatch(/^payments is resumed: held by replica-2, term \d+\n$/);

    await second.kill();
    const history = await eventually(['history', 'payments'], /^\S+ +term.*expired$/m);
    expect(
      history
        .split('\n')
        .slice(1, -1)
        .map((line) => line.split(/ {2,}/)[1]),
    ).toEqual([
      `term ${term}`,
      'revoke for replica-2',
      expect.stringMatching(/^term/),
      'suspend',
      'resume',
      expect.stringMatching(/^term/),
    ]);
    watching.process.kill('SIGINT');
    const { status, stderr } = await watching.ended;
    expect({ status, stderr }).toEqual({ status: 130, stderr: '' });
  });

  it('say that an effect was not seen in time, and leave it to come', async () => {
    freshNamespace();
    const first = await candidate('replica-1', 10_000);
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
    freshNamespace();
    const first = await candidate('replica-1');
    await first.says(/^leads/);
    const command = `'${process.execPath}' '${main}' suspend payments --reason INC-12`;
    // util-linux's script gives the command a terminal, and its exit status on.
    const asked = (answer: string) =>
      run('sh', ['-c', `printf '${answer}\\n' | script -qec "$0" /dev/null`, command], {
        env: { ...process.env, ...settings },
      });
    await expect(asked('n')).rejects.toMatchObject({
      code: 77,
      stdout: expect.stringMatching(/Go on\? \[y\/N\].*nothing was done/s),
    });
    expect((await cli('who', 'payments')).stdout).toBe('replica-1\n');
    expect((await asked('y')).stdout).toContain('payments is suspended, and nobody holds it');
    expect((await cli('who', 'payments')).status).toBe(1);
  });
});
