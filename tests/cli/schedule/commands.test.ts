import { describe, expect, it } from 'vitest';
import { gone, isAlive, livesOf, overlapsOf } from '../run/harness.js';
import { act, pulseCommand, ScheduleScene, shortTtl, yearly } from './scene.js';

const limitMs = 60_000;

describe.concurrent('a command of tenure schedule', () => {
  it(
    'is run at its tick, told about its run and its term, and nothing else of tenure',
    async () => {
      const command =
        'env | grep -E "^(TENURE_|LEDGER)" | sort > "$MARKS.new"; mv "$MARKS.new" "$MARKS"';
      const jobs = { job: { cron: '* * * * * *', command, shell: true, env: { LEDGER: 5 } } };
      await ScheduleScene.of(jobs, async (scene) => {
        const wrapper = await scene.start('one');
        await wrapper.says(/succeeded after/);
        const watchdog = await wrapper.watchdog();
        wrapper.signal('SIGTERM');
        expect(await wrapper.ended).toEqual({ status: 0, signal: null });
        await gone(watchdog);
        const runs = await scene.jobs.history('job');
        const last = runs.find(({ state }) => state === 'succeeded');
        const seen = Object.fromEntries(
          scene
            .text('marks')
            .trim()
            .split('\n')
            .map((line) => line.split('=', 2)),
        );
        expect(seen).toEqual({
          LEDGER: '5',
          TENURE_ATTEMPT: '1',
          TENURE_HOLDER: 'one',
          TENURE_HOLDER_DIGEST: expect.stringMatching(/^[0-9a-f]{32}$/),
          TENURE_JOB: 'job',
          TENURE_NAME: 'schedule',
          TENURE_RUN_ID: last?.id,
          TENURE_RUN_KIND: 'tick',
          TENURE_TERM: String(last?.term),
          TENURE_TICK: new Date(last?.tickMs ?? 0).toISOString(),
          TENURE_TTL_MS: '20000',
        });
        expect(seen.TENURE_RUN_ID).toBe(`job@${seen.TENURE_TICK}`);
      });
    },
    limitMs,
  );

  it(
    'fails with its status, and is tried again under the same run id',
    async () => {
      const jobs = {
        job: {
          cron: yearly,
          command: 'echo "$TENURE_RUN_ID" >> "$MARKS"; exit $((3 - TENURE_ATTEMPT))',
          shell: true,
          retry: { limit: 2, firstPause: '50ms' },
        },
        broken: { cron: yearly, command: ['/bin/sh', '-c', 'kill -9 $$'] },
      };
      await ScheduleScene.of(jobs, async (scene) => {
        const wrapper = await scene.start('one');
        const id = await scene.runNow('job');
        const run = await scene.run('job', ({ state }) => state === 'succeeded');
        expect(run).toMatchObject({ id, attempt: 3, failureCount: 2 });
        expect(scene.text('marks')).toBe(`${id}\n`.repeat(3));
        await wrapper.says(/attempt 1 failed: .*the command has ended with status 2; again at/);
        await scene.runNow('broken');
        const broken = await scene.run('broken', ({ state }) => state === 'failed');
        expect(broken.detail).toBe('the command was ended by SIGKILL');
      });
    },
    limitMs,
  );

  it(
    'is stopped with all of its group when it takes too long, or somebody cancels it',
    async () => {
      // It lives through SIGTERM, in a shell that is there soon enough to be told.
      const command =
        'trap "echo told > $MARKS.told" TERM; echo $$ > $MARKS.pid; while :; do sleep 0.05; done';
      const jobs = {
        long: { cron: yearly, command, shell: true, timeout: '1s', stopGrace: '200ms' },
        wrong: { cron: yearly, ...pulseCommand() },
      };
      await ScheduleScene.of(jobs, async (scene) => {
        const wrapper = await scene.start('one');
        await scene.runNow('long');
        const long = await scene.run('long', ({ state }) => state === 'timed-out');
        expect(long.attempt).toBe(1);
        await wrapper.says(/long: its process group was killed/);
        expect(isAlive(Number(scene.text('marks.pid')))).toBe(false);
        expect(scene.text('marks.told')).toBe('told\n');

        const id = await scene.runNow('wrong');
        const { pid } = await scene.marked(
          ({ pid, role }) => role === 'grandchild' && isAlive(pid),
        );
        expect(await scene.jobs.cancel('wrong', id, act)).toBe(true);
        // Its command ends with 0 when it is told to stop; that is no success.
        expect(await scene.run('wrong', ({ state }) => state === 'cancelled')).toMatchObject({
          by: 'ana',
        });
        expect(isAlive(pid)).toBe(false);
      });
    },
    limitMs,
  );

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'does not outlive the lease if tenure gets %s, and goes on at the successor as the same run',
    async (signal) => {
      const jobs = { job: { cron: yearly, ...pulseCommand() } };
      await ScheduleScene.of(jobs, async (scene) => {
        const one = await scene.start('one', ...shortTtl);
        const id = await scene.runNow('job');
        await scene.marked(({ role }) => role === 'grandchild');
        await scene.start('two', ...shortTtl);
        one.signal(signal);
        await scene.marked(({ wrapper, role }) => wrapper === 'two' && role === 'grandchild');
        if (signal === 'SIGSTOP') {
          one.signal('SIGCONT');
          await one.says(/not leading job any more/);
        }
        const lives = livesOf(scene.marks);
        expect(new Set(lives.map(({ term }) => term)).size).toBe(2);
        expect(overlapsOf(lives)).toEqual([]);
        expect(await scene.run('job', () => true)).toMatchObject({
          ...{ id, state: 'running', attempt: 2, interruptionCount: 1, holderId: 'two' },
        });
        for (const { wrapper, pid } of lives) if (wrapper === 'one') await gone(pid);
      });
    },
    limitMs,
  );

  it(
    'may end when tenure is told to, and is a success then',
    async () => {
      const jobs = { job: { cron: yearly, ...pulseCommand('ms=700') } };
      await ScheduleScene.of(jobs, async (scene) => {
        const one = await scene.start('one', '--drain', '1m');
        await scene.runNow('job');
        await scene.marked(({ role }) => role === 'child');
        one.signal('SIGTERM');
        expect(await one.ended).toEqual({ status: 0, signal: null });
        expect(await scene.run('job', () => true)).toMatchObject({ state: 'succeeded' });
        expect(scene.marks.some(({ what, role }) => what === 'SIGTERM' && role === 'child')).toBe(
          false,
        );
      });
    },
    limitMs,
  );

  it(
    'is stopped at once by a second signal, which ends tenure',
    async () => {
      const jobs = { job: { cron: yearly, ...pulseCommand() } };
      await ScheduleScene.of(jobs, async (scene) => {
        const one = await scene.start('one', '--drain', '1h');
        await scene.runNow('job');
        const { pid } = await scene.marked(({ role }) => role === 'grandchild');
        one.signal('SIGTERM');
        await one.says(/stopping: what is under way may end; a second signal ends it/);
        one.signal('SIGTERM');
        expect(await one.ended).toEqual({ status: null, signal: 'SIGTERM' });
        await gone(pid);
        expect(scene.marks.map(({ what }) => what)).toContain('SIGTERM');
      });
    },
    limitMs,
  );

  it(
    'is stopped after the drain, and goes on at the next leader, at no fault of its own',
    async () => {
      const jobs = { job: { cron: yearly, ...pulseCommand() } };
      await ScheduleScene.of(jobs, async (scene) => {
        const one = await scene.start('one', '--drain', '100ms');
        const id = await scene.runNow('job');
        await scene.marked(({ role }) => role === 'grandchild');
        await scene.start('two');
        one.signal('SIGTERM');
        expect(await one.ended).toEqual({ status: 0, signal: null });
        await one.says(/was interrupted; the next leader goes on with it/);
        await scene.marked(({ wrapper }) => wrapper === 'two');
        const run = await scene.run('job', ({ holderId }) => holderId === 'two');
        expect(run).toMatchObject({ id, attempt: 2, interruptionCount: 0, failureCount: 0 });
        expect(overlapsOf(livesOf(scene.marks))).toEqual([]);
      });
    },
    limitMs,
  );
});

describe('the jobs of tenure schedule', () => {
  it(
    'are shared by the machines with --spread',
    async () => {
      const job = { cron: yearly, command: ['true'] };
      await ScheduleScene.of({ a: job, b: job }, async (scene) => {
        const one = await scene.start('one', '--spread', '--name', 'fleet');
        await one.says(/leading a in fleet\/a, term \d+/);
        await one.says(/leading b in fleet\/b, term \d+/);
        expect((await scene.jobs.list()).map(({ election }) => election)).toEqual([
          'fleet/a',
          'fleet/b',
        ]);
      });
    },
    limitMs,
  );
});
