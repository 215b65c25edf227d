import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FaultProxy } from '../../support/proxy.js';
import { startRedis } from '../../support/servers/index.js';
import { until } from '../../support/until.js';
import { tenure } from '../command-line.js';
import { gone, type Mark, Scene, storeNames } from './harness.js';

const timeout = 60_000;
const sh = (script: string, ...args: string[]) => ['/bin/sh', '-c', script, 'sh', ...args];
const isGrandchild = (mark: Mark) => mark.role === 'grandchild';

/** What we say is marked as ours, line by line. */
function expectMarked(stderr: string): void {
  const unmarked = stderr.split('\n').filter((line) => !/^(tenure run: |$)/.test(line));
  expect(unmarked).toEqual([]);
}

describe.each(storeNames)('tenure run on %s', { timeout }, (store) => {
  it('runs the command in a group of its own, tells it its term, and none of our settings', async () => {
    const scene = new Scene(store);
    const script = 'env | sort; cut -d" " -f1,5,6 /proc/$$/stat; printf "%s\n" "$@"';
    const environment = {
      TENURE_URL: 'redis://u:secret@nowhere',
      TENURE_TIMEOUT: '5s',
      OWN: 'kept',
    };
    const wrapper = scene.run('a', [], sh(script, '$HOME', 'a b;'), environment);
    expect(await wrapper.ended).toEqual({ status: 0, signal: null });
    const lines = wrapper.stdout.split('\n');
    const term = /elected for "work", term (\d+): running as process group (\d+)/.exec(
      wrapper.stderr,
    );
    expect(lines.filter((line) => line.startsWith('TENURE_'))).toEqual([
      'TENURE_HOLDER=a',
      expect.stringMatching(/^TENURE_HOLDER_DIGEST=[0-9a-f]{32}$/),
      'TENURE_NAME=work',
      `TENURE_TERM=${term?.[1]}`,
      'TENURE_TTL_MS=2000',
    ]);
    expect(lines).toContain('OWN=kept');
    expect(lines).toContain(`${term?.[2]} ${term?.[2]} ${term?.[2]}`);
    expect(lines.slice(-3)).toEqual(['$HOME', 'a b;', '']);
    expectMarked(wrapper.stderr);
  });

  it.each([
    ['exit 0', 0],
    ['exit 7', 7],
    ['kill -TERM $$', 143],
    ['kill -KILL $$', 137],
  ])('exits as its command does: %s', async (script, status) => {
    const wrapper = new Scene(store).run('a', [], sh(script));
    expect((await wrapper.ended).status).toBe(status);
  });

  it('keeps for tenure diagnose that the command has failed, and with which status', async () => {
    const scene = new Scene(store);
    await scene.run('a', [], sh('exit 7')).ended;
    await scene.run('a', [], ['true']).ended;
    const { findings } = JSON.parse((await scene.tenure('diagnose', 'work', '-o', 'json')).stdout);
    expect(findings).toMatchObject([{ cause: 'work-failed' }, { cause: 'deploy' }]);
    expect(findings[0].evidence[0]).toMatch(/the work threw exit status 7 after/);
  });

  it('gives the name back at once, for the history, and leaves no candidate', async () => {
    const scene = new Scene(store);
    expect((await scene.run('a', [], ['true']).ended).status).toBe(0);
    expect((await scene.run('b', ['--no-wait'], ['true']).ended).status).toBe(0);
    const history = JSON.parse((await scene.tenure('history', 'work', '-o', 'json')).stdout);
    expect(history.entries).toMatchObject([
      { holderId: 'a', endReason: 'released' },
      { holderId: 'b', endReason: 'released' },
    ]);
    const found = JSON.parse((await scene.tenure('candidates', 'work', '-o', 'json')).stdout);
    expect(found.candidates).toEqual([]);
  });

  it('says for whom it waits, and exits with 75 if it is not elected in time', async () => {
    const scene = new Scene(store);
    const first = scene.run('a', [], ['sleep', '60']);
    const term = (await first.says(/term (\d+)/))[1];
    const [patient, hasty] = [
      scene.run('b', ['--wait', '3s'], ['true']),
      scene.run('c', ['--no-wait'], ['true']),
    ];
    expect((await patient.ended).status).toBe(75);
    expect(patient.stderr).toContain(`waiting for "work": held by a, term ${term}`);
    expect(patient.stderr).toContain('not elected for "work" within 3.0 s');
    expect((await hasty.ended).status).toBe(75);
    expect(hasty.stderr).toContain(`not elected for "work": it is held by a, term ${term}`);
    for (const { stderr } of [patient, hasty]) {
      expect(stderr).toContain('next:    tenure status work');
      expectMarked(stderr);
    }
  });

  it('exits with 77 if the name is suspended and it is not to wait', async () => {
    const scene = new Scene(store);
    expect(
      (await scene.tenure('suspend', 'work', '--reason', 'INC-1', '--by', 'ana', '--yes')).status,
    ).toBe(0);
    const wrapper = scene.run('a', ['--no-wait'], ['true']);
    expect((await wrapper.ended).status).toBe(77);
    expect(wrapper.stderr).toContain('suspended by ana: INC-1');
    expect(wrapper.stderr).toContain('next:    tenure resume work');
  });

  it('stops what its command leaves behind before it gives the name back', async () => {
    const scene = new Scene(store);
    const wrapper = scene.pulse('a', [], ['ms=600', 'status=3']);
    const { pid } = await scene.marked(isGrandchild);
    expect((await wrapper.ended).status).toBe(3);
    expect(wrapper.stderr).toContain(`the command has ended; stopping what it has left: ${pid}`);
    await gone(pid);
    expect(scene.marks.filter((mark) => mark.what === 'SIGTERM')).toMatchObject([{ pid }]);
  });
});

describe('tenure run', { timeout }, () => {
  it.each([
    [['nosuch-program'], 127, 'it is in no folder of the PATH'],
    [['/nowhere/at/all'], 127, 'there is no such file'],
    [['/etc/passwd'], 126, 'it is no program that you may run'],
  ])('says that it cannot run %j before it is elected', async (command, status, words) => {
    const scene = new Scene();
    const wrapper = scene.run('a', [], command);
    expect((await wrapper.ended).status).toBe(status);
    expect(wrapper.stderr).toContain(words);
    expect(wrapper.stderr).toContain('next:    ');
    expect(wrapper.stderr).not.toContain('elected');
    expectMarked(wrapper.stderr);
  });

  it('gives the name back when the program has vanished while it waited', async () => {
    const scene = new Scene();
    const program = join(scene.folder, 'program');
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o755);
    const first = scene.run('a', [], ['sleep', '60']);
    await first.says(/elected/);
    const second = scene.run('b', [], [program]);
    await second.says(/waiting/);
    rmSync(program);
    first.signal('SIGTERM');
    expect((await second.ended).status).toBe(127);
    expect((await scene.run('c', ['--no-wait'], ['true']).ended).status).toBe(0);
  });

  it('says so before it is elected if there is no command for losses', async () => {
    const wrapper = new Scene().run('a', ['--on-lost', 'nosuch-program'], ['true']);
    expect((await wrapper.ended).status).toBe(127);
    expect(wrapper.stderr).toContain('cannot run "nosuch-program"');
  });

  it('leaves its input to the command', async () => {
    const wrapper = new Scene().run('a', [], ['tr', 'a-z', 'A-Z']);
    wrapper.process.stdin?.end('for the command\n');
    expect((await wrapper.ended).status).toBe(0);
    expect(wrapper.stdout).toBe('FOR THE COMMAND\n');
  });

  it('runs a text in a shell if that is asked for', async () => {
    const wrapper = new Scene().run('a', ['--shell'], ['echo "<$1>" | tr a-z A-Z; exit 4', 'x y']);
    expect((await wrapper.ended).status).toBe(4);
    expect(wrapper.stdout).toBe('<X Y>\n');
  });

  it.each([
    [['--election', 'x', '--wait', '30', '--', 'true'], '--wait is not a duration'],
    [['--election', 'x', '--ttl', '30', '--', 'true'], '--ttl is not a duration'],
    [['--election', 'x', '--grace', '5', '--', 'true'], '--grace is not a duration'],
    [['--election', 'x', '--restart', 'always', '--', 'true'], 'Allowed choices are on-loss'],
    [['--election', 'x', '--on-lost', 'a && b', '--', 'true'], '--on-lost is for a shell'],
    [['--election', 'x', '--url', 'memory:', '--', 'true'], 'a memory that no other process sees'],
    [['--election', '../x', '--', 'true'], '--election'],
    [['--', 'true'], "required option '--election <name>' not specified"],
    [['--election', 'x'], "missing required argument 'command'"],
    [['--election', 'x', '--nonsense', '--', 'true'], "unknown option '--nonsense'"],
  ])('refuses %j as usage', async (args, words) => {
    const { status, stdout, stderr } = await tenure(['run', ...args], {
      TENURE_URL: 'redis://127.0.0.1:1',
    });
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
    expect(stderr.replace(/\s+(tenure run: +)?/g, ' ')).toContain(words);
    expectMarked(stderr);
  });

  it('exits with 69 if the store cannot be reached and it is not to wait', async () => {
    const url = 'redis://u:hunter2-secret@127.0.0.1:1';
    const args = ['run', '--election', 'x', '--url', url, '--no-wait', '--', 'true'];
    const { status, stderr } = await tenure(args);
    expect(status).toBe(69);
    expect(stderr).toContain('tenure run:   against: redis://127.0.0.1:1');
    expect(stderr).toContain('next:    redis-cli -u redis://127.0.0.1:1 --user u --askpass ping');
    expect(stderr).not.toContain('hunter2');
    expectMarked(stderr);
  });

  it('has the patience to connect to a slow store, although a request of its lease has little time', async () => {
    const scene = new Scene();
    const proxy = await FaultProxy.start(Number(new URL(scene.url).port));
    scene.url = `redis://127.0.0.1:${proxy.port}`;
    try {
      // One answer comes well within the 333 ms that a request has with this ttl; what connecting takes does not.
      proxy.down.set({ kind: 'delay', delayMs: 150 });
      const wrapper = scene.run('a', ['--no-wait', '--ttl', '4s'], ['true']);
      expect(await wrapper.ended).toEqual({ status: 0, signal: null });
    } finally {
      await proxy.stop();
    }
  });

  it('says that it waits for the store too, and begins when that is there', async () => {
    const scene = new Scene();
    const proxy = await FaultProxy.start(Number(new URL(scene.url).port));
    scene.url = `redis://127.0.0.1:${proxy.port}`;
    try {
      proxy.refuse(true);
      const wrapper = scene.run('a', [], ['true']);
      await wrapper.says(/Trying again\.\n/);
      proxy.refuse(false);
      expect((await wrapper.ended).status).toBe(0);
      expectMarked(wrapper.stderr);
    } finally {
      await proxy.stop();
    }
  });

  it('says that the store is lost to who waits, and that it answers again while another leads', async () => {
    const scene = new Scene();
    const leader = scene.run('a', [], ['sleep', '50']);
    await leader.says(/elected for "work"/);
    const proxy = await FaultProxy.start(Number(new URL(scene.url).port));
    try {
      const direct = scene.url;
      scene.url = `redis://127.0.0.1:${proxy.port}`;
      const standby = scene.run('b', [], ['true']);
      scene.url = direct;
      await standby.says(/waiting for "work"/);
      proxy.refuse(true);
      proxy.reset();
      await standby.says(/Trying again\.\n/);
      proxy.refuse(false);
      await standby.says(/the store answers again\n/);
      expectMarked(standby.stderr);
      standby.signal('SIGTERM');
      await standby.ended;
    } finally {
      leader.signal('SIGTERM');
      await leader.ended;
      await proxy.stop();
    }
  });

  it('exits with 78 if the store would not keep what it promises', async () => {
    const redis = await startRedis({
      args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    try {
      const scene = new Scene();
      scene.url = redis.url;
      const wrapper = scene.run('a', [], ['true']);
      expect((await wrapper.ended).status).toBe(78);
      expect(wrapper.stderr).toContain('against: redis://');
      expectMarked(wrapper.stderr);
    } finally {
      await redis.stop();
    }
  });
});

describe('a signal to tenure run', { timeout }, () => {
  it('is passed on to the whole group, which decides what it means', async () => {
    const scene = new Scene();
    const wrapper = scene.pulse('a');
    await scene.marked(isGrandchild);
    for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGHUP', 'SIGTERM'] as const) {
      wrapper.signal(signal);
      for (const role of ['child', 'grandchild'])
        await scene.marked((mark) => mark.what === signal && mark.role === role);
    }
    expect(await wrapper.ended).toEqual({ status: 0, signal: null });
    expect(wrapper.stderr).not.toContain('lost');
  });

  it('does not hurry a command that takes its time', async () => {
    const scene = new Scene();
    const script = 'trap "sleep 3; echo done; exit 5" INT; echo ready; while :; do sleep 0.1; done';
    const wrapper = scene.run('a', [], sh(script));
    await until('the command to be ready', () => wrapper.stdout !== '');
    wrapper.signal('SIGINT');
    expect((await wrapper.ended).status).toBe(5);
    expect(wrapper.stdout).toBe('ready\ndone\n');
  });

  it.each([
    ['SIGHUP', 129],
    ['SIGINT', 130],
    ['SIGQUIT', 131],
    ['SIGTERM', 143],
  ] as const)(
    '%s ends one that still waits with %d, and leaves nothing behind',
    async (signal, status) => {
      const scene = new Scene();
      const first = scene.run('a', [], ['sleep', '60']);
      await first.says(/elected/);
      const second = scene.run('b', [], ['true']);
      await second.says(/waiting/);
      const watchdog = await second.watchdog();
      second.signal(signal);
      expect(await second.ended).toEqual({ status, signal: null });
      expect(second.stderr).toContain(`stopped by ${signal}, cleaned up`);
      await gone(watchdog);
      const { stdout } = await scene.tenure('candidates', 'work', '-o', 'json');
      expect(JSON.parse(stdout).candidates).toMatchObject([{ id: 'a' }]);
    },
  );

  it('is ignored by one that still waits if it is for the command', async () => {
    const scene = new Scene();
    const first = scene.run('a', [], ['sleep', '60']);
    await first.says(/elected/);
    const second = scene.run('b', [], ['true']);
    await second.says(/waiting/);
    second.signal('SIGUSR1');
    second.signal('SIGUSR2');
    first.signal('SIGTERM');
    expect(await second.ended).toEqual({ status: 0, signal: null });
  });
});
