import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/bootstrap.mjs';
import { startRedis } from '../support/servers/index.js';
import { tenure } from './command-line.js';

const password = 'hunter2-secret';

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
    ['a text that is no URL', ['selftest', '--url', `redis://u:${password}#@h`], 'is not a URL'],
  ])('refuses %s as usage', async (_what, args, message) => {
    const { status, stdout, stderr } = await tenure(args);
    expect(status).toBe(64);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect(stderr).not.toContain(password);
  });

  it.each([
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
  });

  it('says that a store would not keep its promise', async () => {
    const redis = await startRedis({
      args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    try {
      const { status, stderr } = await tenure(['selftest', '--url', redis.url]);
      expect(status).toBe(78);
      expect(stderr).toContain('Set maxmemory-policy to noeviction');
    } finally {
      await redis.stop();
    }
  });
});
