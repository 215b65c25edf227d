import { MemoryStore } from '../../coordinators/memory/index.js';
import {
  type Jobs,
  RunCancelledError,
  type RunContext,
  RunTimeoutError,
  Schedule,
} from '../../schedule/index.js';
import { MemoryJobs, memoryJobs } from '../../schedule/memory/index.js';
import { isOpen } from '../../schedule/records.js';
import { sleep } from '../../time/index.js';
import { CancelledChecker } from '../checkers/cancelled.js';
import { JobsChecker } from '../checkers/jobs.js';
import type { SimHost } from '../host.js';
import { lastingRuntime } from '../world/lasting-runtime.js';
import { type Acts, operate } from './operator.js';
import type { App, Scenario, ScenarioStage } from './scenario.js';

const server = 'jobs';
const job = 'settle';
/** Never due: an operator asks for it. It goes on until it is cancelled. */
const endless = 'sweep';
const everyMs = 5_000;
const stepCount = 3;
/** No run takes that long: a limit beyond what a timer of Node can count, which is not to end any. */
const runTimeoutMs = 30 * 86_400_000;

/**
 * One job, due every five seconds, whose runs have a few steps: each an effect behind the fence of the resource, recorded
 * once, with the progress saved after it. The rows of the runs lie on a server of their own, the leases in the store. An
 * operator pauses the job and resumes it, and begins runs of another one that only end when they are cancelled.
 */
export const jobs: Scenario = {
  name: 'jobs',
  servers: [server],
  // Ticks are due by the clock of the rows: set back by a minute, none is for a minute.
  largestStepMs: 5_000,
  prepare(stage) {
    const runtime = lastingRuntime(stage.server(server));
    const state = new MemoryJobs(new MemoryStore({ runtime }));
    const runs = () => [...(state.jobs.get(job)?.runs.values() ?? [])];
    const checker = new JobsChecker({ everyMs, stepCount, runs });
    const cancelled = new CancelledChecker(() => [
      ...(state.jobs.get(endless)?.runs.values() ?? []),
    ]);
    return {
      checkers: [checker, cancelled],
      boot: (host) => settleOnTime(host, stage, state, cancelled),
      quiesce: () => {
        checker.settle(runtime.now().wallMs);
        cancelled.settle();
      },
    };
  },
};

function settleOnTime(
  host: SimHost,
  stage: ScenarioStage,
  state: MemoryJobs,
  cancelled: CancelledChecker,
): App {
  const { runtime, random, coordinator } = host;
  const rows = memoryJobs(state, { runtime, link: host.linkTo(server) });
  // What it has of its own is closed with it; the leases are the model's.
  const store = new Proxy(rows, {
    get: (target, property) => {
      if (property === 'coordinator') return coordinator;
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const fleet = new Schedule(store, {
    ...stage.timing,
    ...{ id: host.id, runtime },
    election: { firstPauseMs: 100, longestPauseMs: 2_000 },
  });
  const policy = {
    misfire: 'all',
    timeoutMs: runTimeoutMs,
    resumeLimit: 1_000,
    retry: { limit: 1_000, firstPauseMs: 50 },
  } as const;
  fleet.job(job, { cron: '*/5 * * * * *', ...policy }, settle);
  fleet.job(endless, { cron: '0 0 29 2 *', ...policy }, sweep);
  // A store that does not answer is no news here, and no warning of this process.
  fleet.events.on('storeFailed', () => {});
  fleet.events.on('runFailed', () => {});
  fleet.events.on('runOverdue', () => {});
  fleet.events.on('leftOut', () => {});
  fleet.events.on('leadershipFailed', () => {});
  fleet.events.on('leading', ({ lease }) => host.note('leads', `term ${lease.term}`));
  fleet.events.on('startFailed', ({ error }) => host.note('start failed', String(error)));
  fleet.events.on('stopped', ({ error }) => host.note('stopped', String(error)));
  fleet.start();
  const leaving = new AbortController();
  const acts = operate(host, stage, actsOn(fleet.jobs, host, cancelled), leaving.signal);
  return {
    close: async () => {
      leaving.abort(new Error('the run is over'));
      await fleet.close();
      await acts;
      await rows.close();
      await coordinator.close();
      await host.fence.close();
    },
  };

  async function settle({ run, lease, progress, stopping, signal }: RunContext): Promise<void> {
    for (let step = (progress.load<number>() ?? 0) + 1; step <= stepCount; step += 1) {
      // It does not heed the loss of its lease on purpose: a late write has to be refused, not avoided.
      await sleep(runtime, random.magnitude(1, 800));
      if (signal.reason instanceof RunTimeoutError) throw signal.reason;
      if (stopping.aborted) throw new Error('the next one goes on from here');
      if (random.chance(0.02)) throw new Error('a bad moment');
      await host.fence.transaction(lease, async (batch) => {
        if (await host.fence.recordOnce(batch, 'steps', run.id, step, 'done'))
          batch.set(run.id, { run: run.id, step });
        else host.witness.cover('a repeated step was recognised');
      });
      await progress.save(step);
    }
    host.progress('run');
  }

  async function sweep({ run, stopping, signal }: RunContext): Promise<void> {
    while (!stopping.aborted && !signal.aborted) await sleep(runtime, 500, signal);
    if (signal.reason instanceof RunCancelledError) throw signal.reason;
    throw new Error(`the next one goes on with ${run.id}`);
  }
}

/** What an operator does: a pause and its end, a run beside the schedule, and the end of whichever runs. */
function actsOn(jobs: Jobs, host: SimHost, checker: CancelledChecker): Acts {
  const by = `operator at ${host.id}`;
  const resume = () => jobs.resume(job);
  return {
    acts: [
      (reason) => jobs.pause(job, { by, reason }),
      resume,
      (reason) => jobs.runNow(endless, { by, reason }),
      async (reason) => {
        const [run] = await jobs.history(endless, { limit: 1 });
        if (run === undefined || !isOpen(run)) return;
        checker.wanted(run.id);
        if (await jobs.cancel(endless, run.id, { by, reason })) checker.accepted(run.id);
      },
    ],
    letGoOn: resume,
  };
}
