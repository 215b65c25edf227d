import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { redisCoordinator } from '../../src/coordinators/redis/index.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { main, tenure } from './command-line.js';

const run = promisify(execFile);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-completion-'));
  const shim = join(folder, 'tenure');
  writeFileSync(shim, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  chmodSync(shim, 0o755);
  mkdirSync(join(folder, 'work'));
  writeFileSync(join(folder, 'work/settings.json'), '{}');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What bash makes of a line when the cursor stands at its end and the tab key is pressed. */
async function pressTab(line: string, environment: Record<string, string> = {}): Promise<string[]> {
  const script = `
    eval "$(tenure completion bash)"
    COMP_LINE=$1 COMP_POINT=\${#1}
    eval "$(complete -p tenure | sed -n 's/.*-F \\([^ ]*\\).*/function=\\1/p')"
    "$function" tenure
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = await run('bash', ['--norc', '-c', script, 'bash', line], {
    cwd: join(folder, 'work'),
    env: {
      PATH: `${folder}:${process.env.PATH}`,
      HOME: folder,
      LC_ALL: 'C.UTF-8',
      ...environment,
    },
  });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
}

describe('completion in bash', () => {
  it('offers commands and options', async () => {
    expect(await pressTab('tenure su')).toEqual(['suspend']);
    expect(await pressTab('tenure jobs p')).toEqual(['pause']);
    expect(await pressTab('tenure handoff payments --res')).toEqual(['--reserve']);
  });

  it('offers only what follows the characters that bash cuts words at', async () => {
    expect(await pressTab('tenure status --output=w')).toEqual(['wide']);
    expect(await pressTab('tenure status --output=')).toEqual(['text', 'wide', 'json']);
  });

  it.each(['tenure', "tenure who 'a b", 'tenure who $(touch x) ', 'tenure nothing -- '])(
    'is silent at the line %j',
    async (line) => {
      await pressTab(line);
    },
  );

  it('creates no store to look names up in', async () => {
    expect(await pressTab('tenure who ')).toEqual([]);
    expect((await run('ls', ['-A', folder])).stdout.split('\n').sort()).toEqual([
      '',
      'tenure',
      'work',
    ]);
  });

  describe('with a store', () => {
    const namespace = `completion-${realRuntime.randomHex(4)}`;
    const settings = () => ({ TENURE_URL: inject('redisUrl'), TENURE_NAMESPACE: namespace });

    /** On a busy machine the store may be too slow to be waited for, now and then. */
    const offers = (line: string, words: string[]) =>
      vi.waitFor(async () => expect(await pressTab(line, settings())).toEqual(words), 15_000);

    it('offers the names that stand there, but none that a shell would obey', async () => {
      const coordinator = redisCoordinator(inject('redisUrl'), { namespace });
      const holder = Holder.create('replica-1', realRuntime);
      const names = ['payments', 'pay/rolls', 'pay@home', 'pay;reboot', 'pay$(id)', 'pay roll'];
      await coordinator.acquire(
        names.map((name) => ({
          name,
          holder,
          attempt: realRuntime.randomHex(16),
          ttlMs: 60_000,
        })),
        call,
      );
      await coordinator.close();
      await offers('tenure who ', ['pay@home', 'payments']);
      await offers('tenure who pay@', ['home']);
      await offers('tenure status payments pay/', ['pay/rolls']);
    });
  });

  describe('with a store that does not answer', () => {
    let silent: Server;
    const sockets = new Set<Socket>();
    beforeAll(async () => {
      silent = createServer((socket) => sockets.add(socket));
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    });
    afterEach(() => {
      for (const socket of sockets) socket.destroy();
    });
    afterAll(() => silent.close());

    it('offers nothing, and soon', async () => {
      const { port } = silent.address() as { port: number };
      const startedMs = performance.now();
      const line = ['complete', '--', 'who', '--url', `redis://127.0.0.1:${port}`, ''];
      expect(await tenure(line)).toEqual({ status: 0, stdout: '', stderr: '' });
      expect(performance.now() - startedMs).toBeLessThan(5_000);
      expect(sockets.size).toBeGreaterThan(0);
    });
  });

  it.each(['redis://127.0.0.1:1', 'mysql://h', 'nothing', 'memory:'])(
    'offers nothing, in silence, if the store is %s',
    async (url) => {
      expect(await tenure(['complete', '--', 'who', ''], { TENURE_URL: url })).toEqual({
        status: 0,
        stdout: '',
        stderr: '',
      });
    },
  );
});

describe('tenure completion', () => {
  it.each(['zsh', 'fish'])('prints a script for %s that asks the program', async (shell) => {
    const { status, stdout, stderr } = await tenure(['completion', shell]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('complete -- ');
  });

  it('knows no other shell', async () => {
    const { status, stderr } = await tenure(['completion', 'csh']);
    expect(status).toBe(64);
    expect(stderr.replace(/\s+/g, ' ')).toContain('Allowed choices are bash, zsh, fish');
  });
});
