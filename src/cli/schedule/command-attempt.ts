import { onAbort } from '../../events/index.js';
import type { Lease } from '../../leases/index.js';
import type { RunContext } from '../../schedule/index.js';
import { type Runtime, sleep } from '../../time/index.js';
import {
  killTimeAfterLoss,
  type StopTimes,
  stopTimes,
  watchdogTimes,
} from '../supervise/deadlines.js';
import type { Environment } from '../supervise/environment.js';
import { type ChildEnd, GatedChild } from '../supervise/gated-child.js';
import { earliest, type KernelTime, kernelTimeOf, later } from '../supervise/kernel-time.js';
import { resolveCommand } from '../supervise/plan.js';
import { stopGroup } from '../supervise/stop-group.js';
import type { Voice } from '../supervise/voice.js';
import type { Watch } from '../supervise/watch.js';
import { runEnvironment } from './environment.js';
import type { JobEntry } from './job-entry.js';

export interface AttemptOptions {
  readonly entry: JobEntry;
  readonly context: RunContext;
  /** Guards nothing yet. */
  readonly watch: Pick<Watch, 'guard' | 'renewed' | 'stopping' | 'gone'>;
  readonly runtime: Runtime;
  readonly voice: Voice;
  /** Ours, with everything in it. */
  readonly environment: Environment;
  /** How long it may go on when this process stops, before it is told to. */
  readonly drainMs: number;
}

/** What outlives the command in its group gets SIGTERM, and SIGKILL so long after it. */
const leftoverGraceMs = 2_000;

/** Why the command has to stop against its will. */
interface Cut {
  readonly reason: unknown;
  /** It has done nothing yet, or may not go on for a moment: no time to stop in. */
  readonly isUrgent?: true;
}

/**
 * One attempt of a run: a command in a process group of its own, which never outlives the lease. While it works, its
 * watchdog is told of every renewal, so that the group ends in time although we are killed or frozen.
 */
export class CommandAttempt {
  readonly #options: AttemptOptions;
  readonly #lease: Lease;
  readonly #cut: Promise<Cut>;
  #cutShort: (cut: Cut) => void = () => {};
  readonly #ends: (() => void)[] = [];
  #isOver = false;
  /** When the group is killed at the latest: what the lease allows. */
  #killAt: KernelTime;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#lease = options.context.lease;
    this.#killAt = this.#stopTimes().killAt;
    this.#cut = new Promise((resolve) => {
      this.#cutShort = resolve;
    });
    this.#listen();
  }

  /** Resolves if the command has ended with 0 by itself. Nothing of it is left, or a note has said that it cannot be killed. */
  async run(): Promise<void> {
    const { entry, context, environment } = this.#options;
    try {
      const told = runEnvironment(environment, entry, context);
      const command = resolveCommand(entry.command, told);
      const child = await GatedChild.start(command, told, 'ignore');
      await this.#letBegin(child);
      await this.#accompany(child);
    } finally {
      this.#isOver = true;
      for (const end of this.#ends) end();
    }
  }

  #listen(): void {
    const { context, runtime, drainMs } = this.#options;
    const { signal, stopping } = context;
    const stop = () => this.#cutShort({ reason: signal.reason });
    if (signal.aborted) stop();
    this.#ends.push(onAbort(signal, stop));
    const drain = () => {
      const drained = () => this.#cutShort({ reason: stopping.reason });
      const timer = runtime.setTimer(drainMs, drained);
      this.#ends.push(() => timer.cancel());
    };
    if (stopping.aborted) this.#cutShort({ reason: stopping.reason });
    else this.#ends.push(onAbort(stopping, drain));
  }

  /** Opens the gate as soon as the child is watched over and the lease is held. @throws what ends it before. */
  async #letBegin(child: GatedChild): Promise<void> {
    const { watch } = this.#options;
    const unwatched = (words: string) =>
      this.#cutShort({ reason: new Error(`${words}, so the command was stopped`) });
    const times = watchdogTimes(this.#stopTimes(), this.#lease.timing);
    const watched = watch.guard(child.group.id, times, unwatched).then(
      () => undefined,
      // Whatever went wrong, nothing begins.
      (error: unknown): Cut => ({ reason: error }),
    );
    const cut = (await Promise.race([this.#cut, watched])) ?? (await this.#held());
    if (cut === undefined) {
      void this.#keepWatchTold();
      child.open();
      return;
    }
    await this.#stop(child, { ...cut, isUrgent: true });
  }

  /** Nothing is begun while the lease is uncertain. Resolves when that is over, or with what cuts it short. */
  async #held(): Promise<Cut | undefined> {
    const { runtime } = this.#options;
    while (this.#lease.state === 'uncertain') {
      const cut = await Promise.race([this.#cut, sleep(runtime, 50).then(() => undefined)]);
      if (cut !== undefined) return cut;
    }
    return this.#lease.state === 'held' ? undefined : this.#cut;
  }

  /** Tells the watchdog until when the lease is good, as often as that is enough for one that learns of it late. */
  async #keepWatchTold(): Promise<void> {
    const { runtime, watch } = this.#options;
    const { timing } = this.#lease;
    const everyMs = Math.min(500, timing.ttlMs / 20);
    while (!this.#isOver && this.#lease.endReason === undefined) {
      const times = this.#stopTimes();
      this.#killAt = times.killAt;
      watch.renewed(watchdogTimes(times, timing));
      await sleep(runtime, everyMs);
    }
  }

  async #accompany(child: GatedChild): Promise<void> {
    const cut = await Promise.race([this.#cut, child.ended.then(() => undefined)]);
    // Who was frozen may hear of the child's end first, and of the loss that caused it later.
    if (cut !== undefined || this.#lease.endReason !== undefined)
      return this.#stop(child, cut ?? (await this.#cut));
    const end = await child.ended;
    await this.#clearUp(child);
    const problem = problemOf(end);
    if (problem !== undefined) throw new Error(problem);
  }

  /** What the command has left in its group does not outlive it. */
  async #clearUp({ group }: GatedChild): Promise<void> {
    const { voice, runtime, entry } = this.#options;
    if (group.pids.length > 0)
      voice.say(
        `${entry.name}: the command has ended; stopping what it has left: ${group.pids.join(', ')}`,
      );
    const graceEndsAt = later(this.#now, leftoverGraceMs);
    const killAt = () => earliest(graceEndsAt, this.#lastMoment());
    if ((await stopGroup(runtime, group, { killAt })) === 'stuck') this.#stuck(group.pids);
  }

  /** Until nothing is left of the group. @throws the reason of the cut: whoever was told to stop has not finished. */
  async #stop({ group, ended }: GatedChild, cut: Cut): Promise<never> {
    const { runtime, watch, voice, entry } = this.#options;
    const graceEndsAt = later(this.#now, cut.isUrgent ? 0 : entry.stopGraceMs);
    const killAt = () => earliest(graceEndsAt, this.#lastMoment());
    if (this.#lease.endReason !== undefined)
      watch.stopping(
        watchdogTimes({ termAt: this.#now, killAt: killAt() }, this.#lease.timing).killAt,
      );
    const result = await stopGroup(runtime, group, { killAt });
    if (result === 'stuck') this.#stuck(group.pids);
    else await ended;
    if (result === 'killed' && !cut.isUrgent)
      voice.say(`${entry.name}: its process group was killed`);
    throw cut.reason;
  }

  /** It goes on whatever we do: nobody may lead as long as it can be held up by us. */
  #stuck(pids: readonly number[]): void {
    const { voice, entry } = this.#options;
    voice.say(`${entry.name}: its process group cannot be killed; the lease is left to expire`);
    voice.advise(`ps -fp ${pids.join(',')}`);
    if (this.#lease.endReason === undefined) this.#lease.end('shutdown');
  }

  /** By the lease as it is now; a lost one is not renewed any more, and others may own it. */
  #lastMoment(): KernelTime {
    const { endReason } = this.#lease;
    if (endReason !== undefined) return killTimeAfterLoss(endReason, this.#killAt, this.#now);
    this.#killAt = this.#stopTimes().killAt;
    return this.#killAt;
  }

  #stopTimes(): StopTimes {
    return stopTimes(this.#now, this.#lease.remainingMs, this.#lease.timing);
  }

  get #now(): KernelTime {
    return kernelTimeOf(this.#options.runtime.now());
  }
}

/** Why an end is no success, in words for the history. */
function problemOf({ code, signal }: ChildEnd): string | undefined {
  if (signal !== null) return `the command was ended by ${signal}`;
  return code === 0 ? undefined : `the command has ended with status ${code}`;
}
