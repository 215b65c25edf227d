import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProcessGroup } from '../../../src/cli/supervise/process-group.js';
import { listProcesses, parseStat } from '../../../src/cli/supervise/process-table.js';
import { until } from '../../support/until.js';
import { runWithFewFiles, shipped } from './few-files.js';

/** A shell in a session of its own. */
async function session(script: string, shell = '/bin/sh'): Promise<ProcessGroup> {
  const child = spawn(shell, ['-c', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const group = new ProcessGroup(child.pid ?? 0);
  onTestFinished(() => group.kill());
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await until('the session to be ready', () => output.includes('ready'));
  return group;
}

const goneSoon = (group: ProcessGroup) => until('the end of the group', () => group.isGone);

/** Who is sent two signals in one moment may obey the second first. */
async function standsStill(group: ProcessGroup): Promise<void> {
  group.forward('SIGSTOP');
  const isStopped = (pid: number) => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  await until('everybody to stand still', () => group.pids.every(isStopped));
}

const endsItsFirstThread = `
  #include <pthread.h>
  #include <stdio.h>
  #include <unistd.h>
  void *goesOn(void *unused) {
    puts("ready");
    fflush(stdout);
    for (;;) sleep(1);
  }
  int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, goesOn, NULL);
    pthread_exit(NULL);
  }
`;

describe('the table of processes', () => {
  it.each([
    ['1234 (node) S 1 77 88 0 -1', { pid: 1234, isDead: false, group: 77, session: 88 }],
    ['9 (a) b (c)) R 1 2 3 0', { pid: 9, isDead: false, group: 2, session: 3 }],
    ['9 (sh) Z 1 2 3 0', { pid: 9, isDead: true, group: 2, session: 3 }],
    ['9 (sh) X 1 2 3 0', { pid: 9, isDead: true, group: 2, session: 3 }],
    [
      '9 (t) Z 1 2 3 0 -1 42 13 0 0 0 0 0 0 0 20 0 2 0',
      { pid: 9, isDead: false, group: 2, session: 3 },
    ],
    [
      '9 (t) Z 1 2 3 0 -1 42 13 0 0 0 0 0 0 0 20 0 1 0',
      { pid: 9, isDead: true, group: 2, session: 3 },
    ],
  ])('is read whatever programs call themselves: %s', (text, entry) => {
    expect(parseStat(text)).toEqual(entry);
  });

  it.each(['', 'x', '12 node S', '12 (node)'])('takes nothing else for an entry: %j', (text) => {
    expect(parseStat(text)).toBeUndefined();
  });

  it('has us in it', () => {
    expect(listProcesses()?.map(({ pid }) => pid)).toContain(process.pid);
  });
});

describe('a process group', () => {
  it.each([0, 1, -5, Number.NaN, 1.5])('is never everybody, nor ourselves: %f', (id) => {
    expect(() => new ProcessGroup(id)).toThrow(RangeError);
  });

  it('is gone when its last member is, not with its first', async () => {
    const group = await session('sleep 60 & echo ready');
    await until('the shell to end', () => group.pids.length === 1);
    expect(group.isGone).toBe(false);
    group.terminate();
    await goneSoon(group);
    expect(group.pids).toEqual([]);
  });

  it('includes what job control has put into groups of its own', async () => {
    const group = await session('set -m; sleep 60 & sleep 60 & echo ready; wait', '/bin/bash');
    const own = listProcesses()?.filter(({ session: id }) => id === group.id) ?? [];
    expect(new Set(own.map((entry) => entry.group)).size).toBeGreaterThan(1);
    expect(group.pids).toHaveLength(own.length);
    group.kill();
    await goneSoon(group);
  });

  it('is stopped also while it stands still', async () => {
    const group = await session('sleep 60 & echo ready; wait');
    await standsStill(group);
    group.terminate();
    await goneSoon(group);
  });

  it('is killed also while it stands still', async () => {
    const group = await session('trap "" TERM; sleep 60 & echo ready; wait; sleep 60');
    await standsStill(group);
    group.kill();
    await goneSoon(group);
  });

  it('lives as long as any thread of a program whose first one has ended', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-run-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const program = join(folder, 'program');
    writeFileSync(`${program}.c`, endsItsFirstThread);
    execFileSync('cc', ['-pthread', '-o', program, `${program}.c`]);
    const group = await session(`exec ${program}`);
    const stat = () => readFileSync(`/proc/${group.id}/stat`, 'utf8');
    await until('the first thread to end', () => / Z /.test(stat()));
    expect(group.isGone).toBe(false);
    expect(group.pids).toEqual([group.id]);
    group.kill();
    await goneSoon(group);
  });

  it('is not taken for gone while this process has no file left to look with', () => {
    const answers = runWithFewFiles(`
      import { ProcessGroup } from ${shipped('cli/supervise/process-group.js')};
      const group = new ProcessGroup(4_000_000);
      const release = exhaust(0);
      const blind = group.isGone;
      release();
      console.log(JSON.stringify([blind, group.isGone]));
    `);
    expect(answers).toEqual([false, true]);
  });

  it('may be signalled when it is gone, to no effect', async () => {
    const group = await session('echo ready');
    await goneSoon(group);
    group.forward('SIGTERM');
    group.terminate();
    group.kill();
  });
});
