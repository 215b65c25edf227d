import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/bootstrap.mjs';
import { startRedis } from '../support/servers/index.js';
import { main, tenure } from './command-line.js';

const password = 'hunter2-secret';

/** A message as one line, however it was wrapped. */
const unwrapped = (message: string) => message.replace(/\s+/g, ' ');

/** Runs `tenure` with its answer written to a full disk. */
async function onFullDisk(args: readonly string[]) {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const stderr = text(child.stderr as Readable);
  const [status] = await once(child, 'close');
  return { status, stderr: await stderr };
}

describe.concurrent('the command line', () => {
  it('tells its version', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(await tenure(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each([[[]], [['demo']], [['selftest']]])('explains %j with examples', async (command) => {
    const { status, stdout } = await tenure([...command, '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain('Examples:');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each([
    ['no command', [], 'Usage: tenure'],
    ['an unknown command', ['destroy'], "unknown command 'destroy'"],
    ['an unknown option', ['demo', '--fast'], "unknown option '--fast'"],
    ['an unknown format', ['selftest', '-o', 'yaml'], 'Allowed choices are text, json'],
    ['a surplus argument', ['selftest', 'twice'], 'too many arguments'],
    [
      'an unknown sabotage',
      ['selftest', '--sabotage', 'no-brain'],
      'hash-by-length, no-nx, blind-renewal, parallel, no-fence or all',
    ],
    [
      'a store of an unknown kind',
      ['demo', '--url', `mysql://u:${password}@localhost/x`],
      'use memory:, redis://host:port or rediss://host:port',
    ],
    [
      'a sink of an unknown kind',
      ['demo', '--sink', `redis://u:${password}@localhost/x`],
      'use memory: or postgres://',
    ],
    ['a memory elsewhere', ['selftest', '--url', 'memory://x'], 'use memory:, which is one store'],
    ['a sink in a memory elsewhere', ['demo', '--sink', 'memory:x'], 'use memory:, which is one'],
    ['Redis without a host', ['selftest', '--url', 'redis://'], 'names no host'],
    ['Redis over TLS without a host', ['demo', '--url', 'rediss:'], 'names no host'],
    ['a database that is no number', ['selftest', '--url', 'redis://h/x'], 'not a number'],
    ['a text that is no URL', ['selftest', '--url', `redis://u:${password}#@h`], 'is not a URL'],
  ])('refuses %s as usage', async (_what, args, message) => {
    const { status, stdout, stderr } = await tenure(args);
    expect(status).toBe(64);
    expect(stdout).toBe('');
    expect(unwrapped(stderr)).toContain(message);
    expect(stderr).not.toContain(password);
    expect(stderr.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each([
    ['demo', ['--url', `rediss://u:${password}@127.0.0.1:1`], 'redis-cli -u rediss://127.0.0.1:1'],
    [
      'demo',
      ['--url', `redis://u:${password}@127.0.0.1:1`],
      'redis-cli -u redis://127.0.0.1:1 ping',
    ],
    ['selftest', ['--url', `redis://:${password}@127.0.0.1:1`], 'redis-cli -u redis://127.0.0.1:1'],
    ['demo', ['--sink', `postgres://u:${password}@127.0.0.1:1/x`], 'psql postgres://127.0.0.1:1/x'],
  ])('says that the store of %s cannot be reached', async (command, args, next) => {
    const { status, stdout, stderr } = await tenure([command, ...args]);
    expect(status).toBe(69);
    expect(stderr).toMatch(new RegExp(`^tenure ${command}: `));
    expect(stderr).toContain(`next:    ${next}`);
    expect(stdout + stderr).not.toContain(password);
    expect(stderr.split('\n').filter((line) => line.length > 80)).toEqual([]);
    const scheme = /\w+:\/\//.exec(next)?.[0];
    if (scheme?.startsWith('redis')) expect(unwrapped(stderr)).toContain(`connect to ${scheme}`);
  });

  it.each([[['selftest']], [['--help']], [['demo', '--help']], [['selftest', '-o', 'json']]])(
    'tells a full disk from a failed verdict: %j',
    async (args) => {
      const { status, stderr } = await onFullDisk(args);
      expect(stderr).toContain('the output could not be written: ENOSPC');
      expect(stderr).not.toContain('    at ');
      expect(status).toBe(74);
    },
  );

  it.each([
    ['demo', '--sink', 'postgres://u:p#@h'],
    ['demo', '--sink', 'mysql://h'],
    ['selftest', '--url', 'redis://h/x'],
    ['selftest', '--url', 'redis://u:p#@h'],
  ])('shows how a URL is written without taking it for a password: %s %s %s', async (...args) => {
    const { status, stderr } = await tenure(args);
    expect(status).toBe(64);
    expect(stderr).not.toContain('***');
    expect(unwrapped(stderr)).toMatch(/use (memory: or |memory:, )?(redis|postgres):\/\/host:port/);
  });

  it('says that a store would not keep its promise', async () => {
    const redis = await startRedis({
      args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    try {
      const { status, stderr } = await tenure(['selftest', '--url', redis.url]);
      expect(status).toBe(78);
      expect(stderr).toMatch(/Set\s+maxmemory-policy\s+to\s+noeviction/);
    } finally {
      await redis.stop();
    }
  });
});
