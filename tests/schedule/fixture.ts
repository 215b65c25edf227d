import { afterEach, beforeEach, expect } from 'vitest';
import { MemoryStore } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import {
  type JobOptions,
  type JobStore,
  Jobs,
  type RunContext,
  type RunRecord,
  Schedule,
  type ScheduleEvents,
  type ScheduleOptions,
} from '../../src/schedule/index.js';
import { MemoryJobs, memoryJobs } from '../../src/schedule/memory/index.js';
import { ProcessRuntime } from '../../src/testing.js';
import { VirtualRuntime } from '../../src/time/virtual.js';

export const ttlMs = 6_000;
export const act = { by: 'operator', reason: 'test' };
export const minuteMs = 60_000;
/** The clock of the tests begins here. */
export const startMs = Date.UTC(2026, 0, 1);

/** One replica of a test. */
export interface Replica {
  readonly id: string;
  readonly schedule: Schedule;
  readonly store: JobStore;
  readonly link: FaultLink;
  /** Stands still while it is frozen, or dead. */
  readonly runtime: ProcessRuntime;
  /** What the schedule told, such as `runEnded minutely@2026-01-01T00:01:00.000Z succeeded`. */
  readonly log: string[];
  /** Every attempt of its work. */
  readonly attempts: RunContext[];
  crash(): void;
  freeze(): void;
  thaw(): void;
}

export interface ReplicaOptions {
  readonly schedule?: ScheduleOptions;
  readonly job?: Partial<JobOptions>;
  readonly work?: (context: RunContext, runtime: ProcessRuntime) => unknown;
}

/** Replicas of one fleet that define the job `minutely`, in virtual time. */
export class ScheduleFixture {
  readonly runtime = new VirtualRuntime({ seed: 1, wallMs: startMs });
  readonly state = new MemoryJobs(new MemoryStore({ runtime: this.runtime }));
  readonly operator = memoryJobs(this.state);
  readonly jobs = new Jobs(this.operator, { runtime: this.runtime });
  readonly replicas: Replica[] = [];

  replica(id: string, options: ReplicaOptions = {}): Replica {
    const link = new FaultLink();
    const runtime = new ProcessRuntime(this.runtime);
    const store = memoryJobs(this.state, { runtime, link });
    const schedule = new Schedule(store, { id, runtime, ttlMs, ...options.schedule });
    const attempts: RunContext[] = [];
    const { work = () => {} } = options;
    schedule.job('minutely', { cron: '* * * * *', ...options.job }, (context) => {
      attempts.push(context);
      return work(context, runtime);
    });
    const freeze = () => {
      runtime.pause();
      link.disturb('reply', 'hold');
    };
    const replica: Replica = {
      ...{ id, schedule, store, link, runtime, attempts, freeze },
      log: record(schedule),
      crash: () => {
        freeze();
        link.cut();
      },
      thaw: () => {
        link.heal();
        link.flush();
        runtime.resume();
      },
    };
    this.replicas.push(replica);
    return replica;
  }

  /** One that takes part from now on. */
  started(id: string, options?: ReplicaOptions): Replica {
    const replica = this.replica(id, options);
    replica.schedule.start();
    return replica;
  }

  /** Lets time pass until this one of the first day, such as `00:01:30`. */
  async until(time: string): Promise<void> {
    const toMs = Date.parse(`2026-01-01T${time}Z`);
    await this.runtime.advance(toMs - this.runtime.now().wallMs);
  }

  async history(): Promise<RunRecord[]> {
    return (await this.jobs.history('minutely', { limit: 1_000 })).reverse();
  }

  /** Ticks and states, the earliest first: `00:01 succeeded`. */
  async told(): Promise<string[]> {
    return (await this.history()).map(({ tickMs, state }) => `${clock(tickMs)} ${state}`);
  }

  async close(): Promise<void> {
    for (const replica of this.replicas) replica.thaw();
    const closing = this.replicas.map(async ({ schedule, store }) => {
      await schedule.close();
      await store.close();
    });
    await this.runtime.advanceUntil(Promise.all(closing));
    await this.operator.close();
    await this.runtime.settle();
  }
}

/** That of the test that runs. */
export let fixture: ScheduleFixture;

/** A new one for each test of the file, which leaves no timer behind. */
export function useScheduleFixture(): void {
  beforeEach(() => {
    fixture = new ScheduleFixture();
  });
  afterEach(async () => {
    await fixture.close();
    expect(fixture.runtime.pendingTimerCount).toBe(0);
  });
}

export function until(time: string): Promise<void> {
  return fixture.until(time);
}

/** `00:01` of a time, or `00:01:30`. */
export function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19).replace(/:00$/, '');
}

function record(schedule: Schedule): string[] {
  const log: string[] = [];
  const runs = [
    'runBegan',
    'runEnded',
    'runFailed',
    'runInterrupted',
    'runOverdue',
  ] as const satisfies (keyof ScheduleEvents)[];
  for (const name of runs) {
    schedule.events.on(name, ({ run }) => {
      const detail = name === 'runBegan' ? `attempt ${run.attempt}` : run.state;
      log.push(`${name} ${clock(run.tickMs)} ${detail}`);
    });
  }
  schedule.events.on('ticksSkipped', ({ skipped }) => log.push(`ticksSkipped ${skipped.count}`));
  schedule.events.on('jobElsewhere', ({ election }) => log.push(`jobElsewhere ${election}`));
  schedule.events.on('leading', () => log.push('leading'));
  schedule.events.on('stoppedLeading', () => log.push('stoppedLeading'));
  schedule.events.on('stopped', ({ error }) => log.push(`stopped ${String(error)}`));
  return log;
}

/** Work that goes on until it is told to stop, and throws then. */
export function untilStopped({ signal, stopping }: RunContext): Promise<never> {
  return new Promise((_, reject) => {
    for (const one of [signal, stopping])
      one.addEventListener('abort', () => reject(one.reason), { once: true });
  });
}

/** Work that heeds nothing until it is let go. */
export function stuck(): { readonly work: () => Promise<void>; readonly letGo: () => void } {
  let letGo = () => {};
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { work: () => gone, letGo };
}
