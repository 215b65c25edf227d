import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
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

  it.each([
    [[]],
    [['who']],
    [['status']],
    [['watch']],
    [['history']],
    [['candidates']],
    [['doctor']],
    [['handoff']],
    [['revoke']],
    [['suspend']],
    [['resume']],
    [['schedule']],
    [['jobs']],
    [['jobs', 'list']],
    [['jobs', 'history']],
    [['jobs', 'run']],
    [['jobs', 'pause']],
    [['jobs', 'resume']],
    [['jobs', 'cancel']],
    [['once']],
    [['once', 'list']],
    [['once', 'settle']],
    [['config']],
    [['migrate']],
    [['completion']],
    [['demo']],
    [['selftest']],
  ])('explains %j with examples', async (command) => {
    const { status, stdout } = await tenure([...command, '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain('Examples:');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each([
    ['no command', [], 'Usage: tenure'],
    ['an unknown command', ['destroy'], "unknown command 'destroy'"],
    ['an unknown option', ['demo', '--fast'], "tenure demo: unknown option '--fast'"],
    ['help on an unknown command', ['help', 'rnu'], "tenure: unknown command 'rnu'"],
    ['a mistyped command', ['rnu'], 'next: tenure --help'],
    [
      'a mistyped option, which is why another is missing',
      ['run', '--electoin', 'a', '--', 'true'],
      "tenure run: unknown option '--electoin' tenure run: (Did you mean --election?)",
    ],
    [
      'a missing option of a command that runs others',
      ['run', '--', 'true'],
      'tenure run: next: tenure run --help',
    ],
    ['a missing option', ['suspend', 'x'], 'next: tenure suspend --help'],
    ['a missing option of a job', ['jobs', 'pause', 'x'], 'next: tenure jobs pause --help'],
    ['an unknown command of jobs', ['jobs', 'destroy'], "tenure jobs: unknown command 'destroy'"],
    ['a missing file of jobs', ['schedule'], 'no file of jobs was named: use -f jobs.yaml'],
    ['two files of jobs', ['schedule', 'a.yaml', '-f', 'b.yaml'], 'two files of jobs were named'],
    ['jobs where none are kept', ['jobs', 'list', '--url', 'etcd://h'], 'for jobs, use postgres:'],
    ['effects where none are kept', ['once', 'list', '--url', 'etcd://h'], 'for effects, use post'],
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
      'use memory:, redis://host:port, rediss://host:port or redis+sentinel://',
    ],
    [
      'a sink of an unknown kind',
      ['demo', '--sink', `redis://u:${password}@localhost/x`],
      'use memory: or postgres://',
    ],
    ['a memory elsewhere', ['selftest', '--url', 'memory://x'], 'use memory:, redis://host:port'],
    ['a sink in a memory elsewhere', ['demo', '--sink', 'memory:x'], 'use memory: or postgres'],
    ['Redis without a host', ['selftest', '--url', 'redis://'], 'names no host'],
    ['Redis over TLS without a host', ['demo', '--url', 'rediss:'], 'names no host'],
    ['a database that is no number', ['selftest', '--url', 'redis://h/x'], 'not a number'],
    ['a text that is no URL', ['selftest', '--url', `redis://u:${password}#@h`], 'is not a URL'],
    ['a name that a terminal would obey', ['who', 'a\u001b[2J'], 'NAME holds characters that are'],
    ['a name with a hole', ['history', 'a//b'], 'NAME has an empty segment'],
    ['a group that is none', ['status', 'a/'], 'NAME or GROUP has an empty segment'],
    ['an act without a reason', ['suspend', 'x'], "required option '--reason <text>'"],
    ['a reason of two lines', ['suspend', 'x', '--reason', 'a\nb'], '--reason does not say'],
    [
      'a ttl that the store does not grant',
      ['run', '--election', 'x', '--ttl', '1s', '--url', 'zookeeper://h', '--', 'true'],
      '(got "1s"): tenure run: use 4s to 40s',
    ],
    ['a schema in a store that has none', ['migrate', '--url', 'etcd://h'], 'needs no migration'],
    [
      'a list of hosts that is none',
      ['who', 'x', '--url', `etcd://u:${password}@h1,,h2`],
      '--url is not a list of hosts',
    ],
    ['a handoff to nobody', ['handoff', 'x'], "required option '--to <id>'"],
    ['a successor that is no id', ['handoff', 'x', '--to', '-'], '--to is not a holder id'],
    [
      'a reservation without a unit',
      ['handoff', 'x', '--to', 'b', '--reserve', '30'],
      '--reserve is not a duration',
    ],
    ['a memory for several processes', ['who', 'x', '--url', 'memory:'], 'use sqlite:PATH'],
    ['messages in a file', ['demo', '--url', 'sqlite:x.db'], 'keeps leases, and no messages'],
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
      'redis-cli -u redis://127.0.0.1:1 --user u --askpass ping',
    ],
    ['selftest', ['--url', `redis://:${password}@127.0.0.1:1`], 'redis-cli -u redis://127.0.0.1:1'],
    [
      'demo',
      ['--sink', `postgres://u:${password}@127.0.0.1:1/x`],
      'psql postgres://u@127.0.0.1:1/x',
    ],
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
    expect(unwrapped(stderr)).toMatch(
      /use memory:( or|,) (sqlite:PATH|(redis|postgres):\/\/host:port)|use redis:\/\/host:port/,
    );
  });

  it.each([
    [['who', 'x'], { TENURE_URL: 'localhost:6379' }, 'TENURE_URL names no store known here'],
    [
      ['who', 'x'],
      { TENURE_URL: 'redis://h/x' },
      'TENURE_URL names a database that is not a number',
    ],
    [['who', 'x'], { TENURE_CONFIG: '/none.json' }, 'TENURE_CONFIG cannot be read: ENOENT'],
    [['demo'], { REDIS_URL: 'localhost:6379' }, 'REDIS_URL names no store known here'],
    [['selftest'], { REDIS_URL: 'redis://h/x' }, 'REDIS_URL names a database that is not a number'],
  ])('names the variable that is wrong: %j with %j', async (args, environment, message) => {
    const { status, stderr } = await tenure(args, environment);
    expect(status).toBe(64);
    expect(unwrapped(stderr)).toContain(message);
  });

  it('shows every setting with its source and without its password', async () => {
    const environment = { TENURE_URL: `redis://u:${password}@h:6379`, TENURE_TTL: '10s' };
    const { status, stdout } = await tenure(['config', '--namespace', 'n'], environment);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^url +redis:\/\/h:6379 +TENURE_URL +TENURE_URL$/m);
    expect(stdout).toMatch(/^namespace +n +--namespace +TENURE_NAMESPACE$/m);
    expect(stdout).toMatch(/^ttl +10s +TENURE_TTL/m);
    expect(stdout).toMatch(/^timeout +1m +default/m);
    expect(stdout).not.toContain(password);
    const asJson = await tenure(['config', '-o', 'json'], environment);
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      url: { value: 'redis://h:6379', source: 'TENURE_URL', problem: null },
    });
  });

  it('shows the other settings beside one that cannot be used', async () => {
    const { status, stdout, stderr } = await tenure(['config'], { TENURE_TTL: 'soon' });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^namespace +default/m);
    expect(unwrapped(stderr)).toContain('TENURE_TTL is not a duration');
  });

  it('works in the state folder of the user if nothing is set, with nothing to prepare', async () => {
    const home = mkdtempSync(join(tmpdir(), 'tenure-home-'));
    try {
      const environment = { HOME: home, XDG_STATE_HOME: '' };
      expect((await tenure(['who', 'x'], environment)).status).toBe(1);
      const file = join(home, '.local/state/tenure/tenure.db');
      expect(statSync(file).mode & 0o077).toBe(0);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it('makes no folder for a file that is named', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-'));
    try {
      const { status, stderr } = await tenure(['who', 'x', '--url', `sqlite:${folder}/no/x.db`]);
      expect(status).toBe(78);
      expect(unwrapped(stderr)).toContain(`the folder ${folder}/no does not exist. Create it.`);
      expect(unwrapped(stderr)).toContain(`against: sqlite:${folder}/no/x.db`);
      expect(existsSync(join(folder, 'no'))).toBe(false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names the package that is missing for the store, and how to get it', async () => {
    const hooks =
      'export async function resolve(name, context, next) { if (name === "libsql") throw Object.assign(new Error(name), { code: "ERR_MODULE_NOT_FOUND" }); return next(name, context); }';
    const program = `import { register } from 'node:module'; register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)});`;
    const home = mkdtempSync(join(tmpdir(), 'tenure-home-'));
    try {
      const { status, stderr } = await tenure(['who', 'x'], {
        HOME: home,
        XDG_STATE_HOME: '',
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}`,
      });
      const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
      // From Node 22.13 on nothing is missing.
      if (major > 22 || (major === 22 && minor >= 13)) return expect(status).toBe(1);
      expect(status).toBe(78);
      expect(unwrapped(stderr)).toContain('libsql is not installed');
      expect(stderr).toContain('next:    npm install libsql\n');
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it('ends a watch whose reader has gone, though nothing changes', async () => {
    const home = mkdtempSync(join(tmpdir(), 'tenure-home-'));
    try {
      const { stdout } = spawn(
        'bash',
        ['-c', `'${process.execPath}' '${main}' watch x | head -1; echo "\${PIPESTATUS[0]}"`],
        {
          env: { ...process.env, HOME: home, XDG_STATE_HOME: '' },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      expect(await text(stdout)).toMatch(/ x {2}free\n141\n$/);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it.each([
    [{}, true],
    [{ NO_COLOR: '1' }, false],
  ])('styles the answer on a terminal with %j: %s', async (environment, styled) => {
    const command = `'${process.execPath}' '${main}' config`;
    const child = spawn('sh', ['-c', 'script -qec "$0" /dev/null', command], {
      // Node takes a terminal under CI for one without colours.
      env: { ...process.env, TERM: 'xterm', CI: undefined, FORCE_COLOR: undefined, ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect((await text(child.stdout)).includes('\u001b[1mSETTING')).toBe(styled);
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
