import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startInside } from '../command-inside.js';
import { JobScene } from './scene.js';

/** A message as one line, however it was wrapped. */
const unwrapped = (message: string) => message.replace(/\s+/g, ' ');

let scene: JobScene;
beforeEach(() => {
  scene = new JobScene();
});
afterEach(async () => {
  await scene.close();
});

const why = ['--reason', 'audit', '--by', 'ana'];

describe('tenure jobs list', () => {
  it('says where it has looked if there is none', async () => {
    const { status, stdout, stderr } = await scene.jobs('list');
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toContain('no jobs in namespace default');
    expect(stderr).toContain(`at: ${scene.url}`);
  });

  it('shows each job with its next tick and who leads it', async () => {
    await scene.lead();
    const { stdout } = await scene.jobs('list');
    expect(stdout).toMatch(/^JOB +CRON +TIME ZONE +NEXT +LAST +LED BY +TERM\n/);
    expect(stdout).toMatch(
      /^settle +0 3 1 1 \* +Asia\/Tokyo +\d{4}-12-31T18:00:00Z +- +replica-1 +\d+$/m,
    );
  });

  it('is the same for programs', async () => {
    await scene.lead();
    await scene.jobs('pause', 'settle', ...why);
    const { stdout } = await scene.jobs('list', '-o', 'json');
    const [job] = JSON.parse(stdout).jobs;
    expect(job).toMatchObject({ job: 'settle', election: 'schedule', leaderId: 'replica-1' });
    expect(job).toMatchObject({ nextAtMs: null, open: null, latest: null, requestCount: 0 });
    expect(job.pause).toMatchObject({ by: 'ana', reason: 'audit', atMs: expect.any(Number) });
  });
});

describe('tenure jobs list, of a job that nobody runs,', () => {
  it('shows how the last run ended also while a later one is open', async () => {
    scene.work = () => {
      throw new Error('no money');
    };
    await scene.lead();
    await scene.jobs('run', 'settle', ...why, '--until-ended');
    let end = () => {};
    scene.work = () => new Promise<void>((resolve) => (end = resolve));
    await scene.jobs('run', 'settle', ...why);
    expect((await scene.jobs('list')).stdout).toMatch(/LAST +NOW.*\n.* failed +running +replica-1/);
    const [job] = JSON.parse((await scene.jobs('list', '-o', 'json')).stdout).jobs;
    expect(job).toMatchObject({ latest: { state: 'running' }, lastEnded: { state: 'failed' } });
    end();
  });

  it('says since when a run is open, once that is long', async () => {
    let end = () => {};
    scene.work = () => new Promise<void>((resolve) => (end = resolve));
    await scene.lead();
    await scene.jobs('run', 'settle', ...why);
    expect((await scene.jobs('list')).stdout).not.toContain('begun');
    scene.openSince(Date.now() - 3_600_000);
    expect((await scene.jobs('list')).stdout).toMatch(/^settle .* running .* begun 1 h.* ago$/m);
    const [job] = JSON.parse((await scene.jobs('list', '-o', 'json')).stdout).jobs;
    expect(job.openMs).toBeGreaterThanOrEqual(3_600_000);
    end();
  });

  it('says that nobody leads it, and who did', async () => {
    await scene.lead();
    await scene.schedule.close();
    const { stdout } = await scene.jobs('list');
    expect(stdout).toMatch(/^settle .* nobody leads it \(last: replica-1\)$/m);
    const [job] = JSON.parse((await scene.jobs('list', '-o', 'json')).stdout).jobs;
    expect(job).toMatchObject({ leadership: 'leaderless', electedId: null, overdueMs: 0 });
  });

  it('says who leads and does not run it, since a deployment left it out', async () => {
    await scene.lead();
    await scene.schedule.close();
    const next = scene.another('replica-2', 'renamed');
    await next.lead();
    const { stdout } = await scene.jobs('list');
    expect(stdout).toMatch(
      /^settle .* replica-2 leads schedule and does not run it \(last: replica-1\)$/m,
    );
    expect(stdout).toMatch(/^renamed .* replica-2 +\d+ *$/m);
    await next.close();
  });

  it('says since when it is due', async () => {
    await scene.lead();
    await scene.schedule.close();
    await scene.everyMinuteFrom(Date.now() - 3_600_000);
    const { stdout } = await scene.jobs('list');
    expect(stdout).toMatch(
      /nobody leads it \(last: replica-1\); due (59\.\d m|1\.0 h|\d+) .*ago$/m,
    );
  });

  it('says that it is suspended, and by what', async () => {
    await scene.lead();
    await scene.schedule.close();
    await scene.store.coordinator.suspend(
      'schedule',
      { by: 'ana', reason: 'x' },
      { timeoutMs: 30_000 },
    );
    const { stdout } = await scene.jobs('list');
    expect(stdout).toMatch(/^settle .* schedule is suspended: nobody may lead it$/m);
  });

  it('says that it cannot be read, and forgets it', async () => {
    await scene.lead();
    await scene.schedule.close();
    await scene.another('replica-2', 'other').lead();
    scene.corrupt('settle');
    const { status, stdout, stderr } = await scene.jobs('list');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^other .* replica-2 /m);
    expect(stdout).toMatch(/^settle .* it cannot be read, and nobody runs it$/m);
    expect(unwrapped(stderr)).toContain('settle: a stored job of a schedule cannot be read');
    const forgotten = await scene.jobs('forget', 'settle', '--yes');
    expect(forgotten).toMatchObject({ status: 0, stdout: expect.stringContaining('forgotten') });
    expect((await scene.jobs('list')).stdout).not.toContain('settle');
  });
});

describe('tenure jobs forget', () => {
  it('shows what it will do, and removes a job with its history once somebody agrees', async () => {
    await scene.lead();
    await scene.jobs('run', 'settle', ...why, '--until-ended');
    await scene.schedule.close();
    const asked = await scene.jobs('forget', 'settle');
    expect(asked.status).toBe(64);
    expect(asked.stderr).toContain('now:   nobody leads it (last: replica-1)');
    expect(asked.stderr).toContain('then:  it is gone, with its history and its pause\n');
    expect((await scene.jobs('list')).stdout).toContain('settle');
    const done = await scene.jobs('forget', 'settle', '--yes');
    expect(done).toMatchObject({ status: 0, stdout: 'settle is forgotten, with its history\n' });
    expect((await scene.jobs('list')).stderr).toContain('no jobs in namespace default');
    expect((await scene.jobs('history', 'settle')).status).toBe(1);
  });

  it('does not while a run of it is open', async () => {
    scene.work = ({ stopping }) =>
      new Promise((_, reject) => {
        stopping.addEventListener('abort', () => reject(stopping.reason), { once: true });
      });
    await scene.lead();
    await scene.jobs('run', 'settle', ...why);
    const { status, stdout } = await scene.jobs('forget', 'settle', '--yes');
    expect(status).toBe(1);
    expect(unwrapped(stdout)).toMatch(/"settle" was not forgotten: its run settle!\w+ is running/);
    expect((await scene.jobs('history', 'settle')).stdout).toContain('running');
  });

  it('says that who leads makes it anew if it defines it', async () => {
    await scene.lead();
    const anew = new Promise((resolve) => scene.schedule.events.on('jobForgotten', resolve));
    const { stderr, status } = await scene.jobs('forget', 'settle', '--yes');
    expect(status).toBe(0);
    expect(stderr).toContain('replica-1 makes it anew at once, if that process defines it still');
    await anew;
    expect(await scene.jobs('run', 'settle', ...why, '--until-ended')).toMatchObject({ status: 0 });
  });
});

describe('a task of node-cron', () => {
  it('is not asked for a run, which nobody would begin', async () => {
    await scene.nodeCronTask('sweep');
    const { status, stderr } = await scene.jobs('run', 'sweep', ...why);
    expect(status).toBe(64);
    expect(unwrapped(stderr)).toContain(
      'JOB is a task of node-cron, which is not run on demand (got "sweep"): run it in a process',
    );
    const [view] = (await scene.store.look(['sweep'], { timeoutMs: 30_000 })).jobs;
    expect(view?.requests).toEqual([]);
  });

  it('that is resumed is due when node-cron says', async () => {
    await scene.nodeCronTask('sweep');
    await scene.jobs('pause', 'sweep', ...why);
    const { stdout } = await scene.jobs('resume', 'sweep');
    expect(stdout).toMatch(/is resumed .*; node-cron says when it is due\n$/);
  });
});

describe('tenure jobs run', () => {
  it('waits until the run has begun, and with --until-ended until it has succeeded', async () => {
    await scene.lead();
    const begun = await scene.jobs('run', 'settle', ...why);
    expect(begun.status).toBe(0);
    expect(begun.stdout).toMatch(/^run settle!\w+ has (begun on replica-1|ended: succeeded)\n$/);
    const ended = await scene.jobs('run', 'settle', ...why, '--until-ended');
    expect(ended.stdout).toMatch(/^run settle!\w+ has ended: succeeded\n$/);
    expect(scene.contexts.map(({ run }) => run.kind)).toEqual(['manual', 'manual']);
  });

  it('ends with 1 if the run fails, and says how', async () => {
    scene.work = () => {
      throw new Error('no such file');
    };
    await scene.lead();
    const { status, stdout } = await scene.jobs('run', 'settle', ...why, '--until-ended');
    expect(status).toBe(1);
    expect(stdout).toContain('has ended: failed (asked for by ana; no such file)');
  });

  it('stands although nobody leads in time, and begins later', async () => {
    await scene.lead();
    await scene.schedule.close();
    const { status, stderr } = await scene.jobs('run', 'settle', ...why, '--timeout', '300ms');
    expect(status).toBe(75);
    expect(unwrapped(stderr)).toContain(
      'it stands: nobody leads it (last: replica-1). It begins when a process that defines settle leads',
    );
    expect(unwrapped(stderr)).toMatch(
      /withdraw: tenure jobs cancel settle '?settle!\w+'? --reason TEXT --url sqlite:/,
    );
    expect(stderr).toContain(`next: tenure jobs history settle --url ${scene.url}`);
    expect((await scene.jobs('list')).stdout).toContain('a run is asked for');
  });
});

describe('tenure jobs pause and resume', () => {
  it('keep the first pause, and tell of it', async () => {
    await scene.lead();
    const first = await scene.jobs('pause', 'settle', ...why);
    expect(first.stdout).toBe('settle is paused: no tick of it begins\n');
    expect(first.stderr).toContain(`until: tenure jobs resume settle --url ${scene.url}`);
    const second = await scene.jobs('pause', 'settle', '--reason', 'again', '--by', 'bob');
    expect(second.stdout).toBe('settle was paused before, by ana: audit\n');
    const resumed = await scene.jobs('resume', 'settle');
    expect(resumed.stdout).toMatch(/^settle is resumed \(paused by ana: audit\); next: \d{4}-12/);
    expect((await scene.jobs('resume', 'settle')).stdout).toMatch(/^settle was not paused; next/);
  });
});

describe('tenure jobs cancel', () => {
  const untilStopped = ({ signal }: { signal: AbortSignal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });

  it('shows what it will do, and does nothing unless somebody agrees', async () => {
    scene.work = untilStopped;
    await scene.lead();
    await scene.jobs('run', 'settle', ...why);
    const { status, stderr } = await scene.jobs('cancel', 'settle', ...why);
    expect(status).toBe(64);
    expect(stderr).toMatch(/now: {3}run settle!\w+ is running, attempt 1 on replica-1\n/);
    expect(stderr).toContain('why:   audit, by ana');
    expect((await scene.jobs('list')).stdout).toMatch(/LAST +NOW.*\n.* - +running +replica-1/);
    expect((await scene.jobs('list', '-o', 'json')).stdout).toContain('"state": "running"');
    await scene.jobs('cancel', 'settle', ...why, '--yes');
  });

  it('waits until the work of the open run has stopped', async () => {
    scene.work = untilStopped;
    await scene.lead();
    await scene.jobs('run', 'settle', ...why);
    const { status, stdout } = await scene.jobs('cancel', 'settle', ...why, '--yes');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^run settle!\w+ has ended: cancelled \(by ana: audit\)\n$/);
    const [context] = scene.contexts;
    expect(context?.signal.reason).toMatchObject({ code: 'TENURE_RUN_CANCELLED' });
    const again = await scene.jobs('cancel', 'settle', context?.run.id ?? '', ...why, '--yes');
    expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining('ended before') });
  });

  it('ends a run whose leader is gone, and says that before', async () => {
    scene.work = untilStopped;
    await scene.lead();
    await scene.jobs('run', 'settle', ...why);
    await scene.schedule.close();
    const { status, stdout, stderr } = await scene.jobs('cancel', 'settle', ...why, '--yes');
    expect(stderr).toContain(
      '  then:  the run ends as cancelled at once, and is not tried again\n',
    );
    expect(stderr).toContain('nobody leads it (last: replica-1); if the work goes on somewhere');
    expect(stderr).not.toContain('told to stop; the run ends');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^run settle!\w+ has ended: cancelled/);
  });

  it('says of a run that somebody works on that it ends when that has stopped', async () => {
    scene.work = untilStopped;
    await scene.lead();
    await scene.jobs('run', 'settle', ...why);
    const { stderr } = await scene.jobs('cancel', 'settle', ...why, '--yes');
    expect(stderr).toContain('then:  its work is told to stop; the run ends as cancelled when it');
  });

  it('withdraws what was asked for and nobody has begun', async () => {
    await scene.lead();
    await scene.schedule.close();
    await scene.jobs('run', 'settle', ...why, '--timeout', '300ms');
    await scene.jobs('run', 'settle', ...why, '--timeout', '300ms');
    const [one, other] = JSON.parse((await scene.jobs('list', '-o', 'json')).stdout).jobs[0]
      .requests;
    const because = ['--reason', 'too late', '--by', 'bob', '--yes'];
    const first = await scene.jobs('cancel', 'settle', one.id, ...because);
    expect(first.stderr).toMatch(/now: {3}run settle!\w+, asked for by ana at [\dTZ:-]+: audit\n/);
    expect(first.stderr).toContain('then:  it is withdrawn, and never begins');
    expect(first).toMatchObject({
      ...{ status: 0, stdout: `run ${one.id} is withdrawn: it never begins\n` },
    });
    const rest = await scene.jobs('cancel', 'settle', ...because);
    expect(rest).toMatchObject({ status: 0, stdout: expect.stringContaining(other.id) });
    const again = await scene.jobs('cancel', 'settle', one.id, ...because);
    expect(again).toMatchObject({
      ...{ status: 0, stdout: `run ${one.id} has ended before: withdrawn\n` },
    });
    const { stdout } = await scene.jobs('history', 'settle');
    expect(stdout).toMatch(/settle!\w+ +withdrawn +- +0 +- +- +by bob: too late\n/);
    expect((await scene.jobs('list')).stdout).not.toContain('asked for');
  });

  it('ends with 1 if there is nothing to cancel', async () => {
    await scene.lead();
    expect(await scene.jobs('cancel', 'settle', ...why, '--yes')).toMatchObject({
      status: 1,
      stdout: 'settle: no run is under way or asked for\n',
    });
    const unheard = await scene.jobs('cancel', 'settle', 'settle!x', ...why, '--yes');
    expect(unheard).toMatchObject({ status: 1, stdout: 'settle: there is no run settle!x\n' });
  });

  it('ends with 0 when the work has stopped, be that without an error', async () => {
    await scene.lead();
    scene.work = ({ signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    await scene.jobs('run', 'settle', ...why);
    const late = await scene.jobs('cancel', 'settle', ...why, '--yes');
    expect(late).toMatchObject({ status: 0, stdout: expect.stringContaining('cancelled') });
  });
});

describe('tenure jobs history', () => {
  it('shows the last runs, the latest below, and for programs everything of them', async () => {
    await scene.lead();
    expect((await scene.jobs('history', 'settle')).stderr).toBe('no run of settle yet\n');
    scene.work = ({ progress }) => progress.save({ paid: 7 });
    await scene.jobs('run', 'settle', ...why, '--until-ended');
    await scene.jobs('run', 'settle', '--reason', 'later', '--by', 'bob', '--until-ended');
    const { stdout, stderr } = await scene.jobs('history', 'settle');
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^TICK +RUN +STATE +TOOK +ATTEMPTS +BY +TERM +DETAIL$/);
    expect(lines.slice(1).map((line) => line.slice(-23).trim())).toEqual([
      'asked for by ana: audit',
      'asked for by bob: later',
    ]);
    expect(stderr).toBe('');
    const limited = await scene.jobs('history', 'settle', '--limit', '1', '-o', 'json');
    const { runs } = JSON.parse(limited.stdout);
    expect(runs).toMatchObject([
      { kind: 'manual', state: 'succeeded', by: 'bob', progress: { paid: 7 }, attempt: 1 },
    ]);
    expect(runs[0].endedAtMs).toBeGreaterThanOrEqual(runs[0].beganAtMs);
  });
});

describe('what jobs commands refuse', () => {
  it.each([
    [['history', 'settle']],
    [['run', 'settle', ...why]],
    [['pause', 'settle', ...why]],
    [['resume', 'settle']],
    [['cancel', 'settle', ...why, '--yes']],
    [['forget', 'settle', '--yes']],
  ])('is a job that is not there, as an answer: %j', async (args) => {
    const { status, stdout, stderr } = await scene.jobs(...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(unwrapped(stderr)).toContain('there is no job "settle"');
    expect(unwrapped(stderr)).toContain('give each application a name of its own (name, --name).');
    expect(stderr).toContain(`next: tenure jobs list --url ${scene.url}`);
  });

  it.each([
    [['list', '--url', 'etcd://h'], '--url keeps leases, and no jobs (got "etcd://h"): for jobs'],
    [['list', '--url', 'zookeeper://h'], 'keeps leases, and no jobs'],
    [['list', '--url', 'redis+quorum://a,b,c'], 'keeps leases, and no jobs'],
    [['list', '--url', 'memory:'], 'is a memory that no other process sees'],
    [['history', 'a/b'], 'JOB is not the name of a job'],
    [['history', 'a', '--limit', '0'], '--limit is no count'],
    [['pause', 'a', '--reason', 'a\nb'], '--reason does not say'],
    [['cancel', 'a', 'x\u0007', '--reason', 'b'], 'run is not the id of a run'],
  ])('is bad usage: %j', async (args, message) => {
    const { status, stderr } = await startInside(['jobs', ...args]).ended;
    expect(status).toBe(64);
    expect(unwrapped(stderr)).toContain(message);
  });
});
