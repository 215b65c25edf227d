import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { redisCoordinator } from '../../src/redis.js';
import { SteppableClock } from '../support/clock-shim/steppable-clock.js';
import { Guard } from '../support/servers/process.js';
import { diagnosedWhen, freshNamespace, isWitnessed, name } from './leader.js';
import { LeaderProcess } from './leader-process.js';

const url = inject('redisUrl');
const ttlMs = 4_800;
/** Longer than that is a loss, whenever the last renewal was. */
const tooLongMs = 4_000;

const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Scene {
  readonly lead: (
    id?: string,
    wrapper?: readonly string[],
    more?: {
      readonly environment?: Readonly<Record<string, string>>;
      readonly ttlMs?: number;
    },
  ) => LeaderProcess;
  readonly operator: ReturnType<typeof redisCoordinator>;
}

async function withProcesses(body: (scene: Scene) => Promise<void>): Promise<void> {
  const namespace = freshNamespace();
  const operator = redisCoordinator(url, { namespace });
  const processes: LeaderProcess[] = [];
  const lead: Scene['lead'] = (id = 'replica-1', wrapper = [], more = {}) => {
    const settings = { url, namespace, id, name, ttlMs: more.ttlMs ?? ttlMs };
    const leader = new LeaderProcess(settings, more.environment, wrapper);
    processes.push(leader);
    return leader;
  };
  try {
    await body({ lead, operator });
  } finally {
    await Promise.all(processes.map((leader) => leader.kill()));
    await operator.close();
  }
}

/** The first processor that this process may use. */
function processor(): string {
  const status = readFileSync('/proc/self/status', 'utf8');
  return /^Cpus_allowed_list:\s*(\d+)/m.exec(status)?.[1] ?? '0';
}

/** Programs that compute without end on one processor; they end with this process. */
function hogs(count: number, onProcessor: string): () => Promise<void> {
  const command = ['-c', onProcessor, '/bin/sh', '-c', 'while :; do :; done'];
  const running = Array.from({ length: count }, () => {
    const guard = new Guard(['KILL'], undefined);
    const child = spawn('taskset', command, { stdio: 'ignore' });
    guard.watch(child.pid);
    return { child, guard };
  });
  return async () => {
    const ends = running.map(async ({ child, guard }) => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      guard.dismiss();
    });
    await Promise.all(ends);
  };
}

describe.concurrent('of a process that leads, the cause that is named first', {
  timeout: 60_000,
}, () => {
  it('is that it was stopped, where it neither computed nor waited for a processor', () =>
    withProcesses(async ({ lead, operator }) => {
      const leader = lead();
      await leader.tells('renewed');
      leader.signal('SIGSTOP');
      await after(tooLongMs);
      leader.signal('SIGCONT');
      await leader.tells('lost');
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      expect(findings[0]).toMatchObject({ cause: 'process-paused', endingCount: 1 });
      expect(findings[0]?.evidence[0]).toMatch(/stood still for .* s without computing/);
    }));

  it('is its own work, where that blocked the event loop', () =>
    withProcesses(async ({ lead, operator }) => {
      const leader = lead();
      await leader.tells('renewed');
      leader.order('block', { forMs: tooLongMs });
      await leader.tells('lost');
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      expect(findings[0]).toMatchObject({ cause: 'loop-blocked', endingCount: 1 });
      expect(findings[0]?.advice.join()).toMatch(/renewFrom: 'thread'/);
    }));

  it('is its end, where it was killed', () =>
    withProcesses(async ({ lead, operator }) => {
      const leader = lead();
      await leader.tells('renewed');
      await leader.kill();
      const { findings } = await diagnosedWhen(operator, ({ period }) => period.lostCount > 0);
      expect(findings[0]).toMatchObject({ cause: 'process-died', endingCount: 1 });
    }));

  it('is the clock of its machine, where that was set', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tenure-clock-'));
    const clock = new SteppableClock(join(folder, 'clock'));
    try {
      await withProcesses(async ({ lead, operator }) => {
        // Nothing but the clock is to happen, on a busy machine too.
        const leader = lead('replica-1', [], { environment: clock.environment, ttlMs: 15_000 });
        await leader.tells('elected');
        clock.step(60_000);
        const isTold = ({ findings }: { findings: readonly { cause: string }[] }) =>
          findings.some(({ cause }) => cause === 'clock-stepped');
        const { findings } = await diagnosedWhen(operator, isTold);
        expect(findings[0]).toMatchObject({ cause: 'clock-stepped', endingCount: 0 });
        expect(findings[0]?.evidence[0]).toMatch(
          /the wall clock of replica-1 was set by \+(?:59|60)\d{3} ms/,
        );
        expect(findings[0]?.advice[0]).toMatch(/NTP/);
      });
    } finally {
      clock.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('is the shared id, where two live processes have one', () =>
    withProcesses(async ({ lead, operator }) => {
      const first = lead('replica-1');
      await first.tells('elected');
      const second = lead('replica-1');
      await Promise.race([first.tells('duplicate'), second.tells('duplicate')]);
      const isTold = ({ findings }: { findings: readonly { cause: string }[] }) =>
        findings.some(({ cause }) => cause === 'duplicate-ids');
      // A deploy beside it explains less.
      await first.leave();
      await second.tells('elected');
      const { findings } = await diagnosedWhen(operator, isTold);
      expect(findings[0]).toMatchObject({ cause: 'duplicate-ids', endingCount: 0 });
      expect(findings[0]?.evidence[0]).toMatch(/under the id replica-1/);
    }));
});

/** Not beside the others, which need a processor. */
describe('of a process that computes, the cause that is named first', { timeout: 60_000 }, () => {
  it('is the want of a processor, where others took it', () =>
    withProcesses(async ({ lead, operator }) => {
      const leader = lead('replica-1', ['taskset', '-c', processor()]);
      await leader.tells('renewed');
      setPriority(leader.pid, 19);
      const stop = hogs(3, processor());
      try {
        leader.order('compute');
        // It tells nothing as long as it has no processor; the store knows when its time is over.
        while ((await operator.read([name], { timeoutMs: 30_000 }))[0] !== undefined)
          await after(50);
      } finally {
        await stop();
      }
      await leader.tells('lost');
      const { findings } = await diagnosedWhen(operator, isWitnessed);
      expect(findings[0]).toMatchObject({ cause: 'cpu-starved' });
      expect(findings[0]?.evidence[0]).toMatch(/waited for a processor for .*, and ran for/);
    }));
});
