import { type EndReason, explanations } from '../../leases/end-reason.js';
import type { Lease } from '../../leases/index.js';
import { quoted } from './campaign.js';
import { killTimeAfterLoss, type StopTimes, stopTimes, watchdogTimes } from './deadlines.js';
import { childEnvironment, type TermFacts } from './environment.js';
import { type ChildEnd, GatedChild, statusOf } from './gated-child.js';
import { earliest, type KernelTime, kernelTimeOf, later } from './kernel-time.js';
import type { PassedSignal } from './passed-signals.js';
import { resolveCommand } from './plan.js';
import type { RunContext } from './run-context.js';
import { endsWaiting } from './signals.js';
import { stopGroup } from './stop-group.js';

/** How it ended. In every case nothing of the child is left, or a note has said that it cannot be killed. */
export type LifeEnd =
  /** The command ended by itself. */
  | { readonly how: 'ended'; readonly status: number }
  | { readonly how: 'lost'; readonly reason: EndReason; readonly facts: TermFacts }
  /** A signal came before the command had begun. */
  | { readonly how: 'interrupted'; readonly signal: PassedSignal }
  /** Nothing would stop the child if we were killed, so it was stopped. */
  | { readonly how: 'unwatched'; readonly words: string };

/** What outlives the command in its group gets SIGTERM, and SIGKILL so long after it. */
const leftoverGraceMs = 2_000;

type Cut = Exclude<LifeEnd, { how: 'ended' }>;

/** One child under one lease: from the grant to the moment when nothing of the child is left and the name is given back. */
export class ChildLife {
  readonly #context: RunContext;
  readonly #lease: Lease;
  /** Resolves with what ends it against the command's will. */
  readonly #cut: Promise<Cut>;
  #cutShort: (cut: Cut) => void = () => {};
  #killAt: KernelTime;
  #hasBegun = false;

  constructor(context: RunContext, lease: Lease) {
    this.#context = context;
    this.#lease = lease;
    this.#killAt = this.#stopTimes().killAt;
    this.#cut = new Promise((resolve) => {
      this.#cutShort = resolve;
    });
    const { signal } = lease;
    const lost = () => this.#cutShort(this.#loss());
    if (signal.aborted) lost();
    else signal.addEventListener('abort', lost, { once: true });
  }

  /** @throws {ProgramError}, after the name was given back. */
  async run(): Promise<LifeEnd> {
    const { leases, signals } = this.#context;
    signals.passTo((signal) => {
      if (endsWaiting(signal)) this.#cutShort({ how: 'interrupted', signal });
    });
    let child: GatedChild;
    try {
      child = await this.#start();
    } catch (error) {
      await this.#lease.release();
      throw error;
    }
    const stopListening = leases.events.on('renewal', () => this.#renewed());
    try {
      return (await this.#letBegin(child)) ?? (await this.#accompany(child));
    } finally {
      stopListening();
    }
  }

  #start(): Promise<GatedChild> {
    const { plan, environment } = this.#context;
    const command = resolveCommand(plan.command, environment);
    return GatedChild.start(command, childEnvironment(environment, this.#facts));
  }

  /** Opens the gate as soon as the child is watched over; or ends it before it has begun. */
  async #letBegin(child: GatedChild): Promise<LifeEnd | undefined> {
    const { watch, voice } = this.#context;
    const { timing, name, term } = this.#lease;
    const unwatched = (words: string): Cut => {
      const cut = { how: 'unwatched', words } as const;
      this.#cutShort(cut);
      return cut;
    };
    const times = watchdogTimes(this.#stopTimes(), timing);
    const watched = watch.guard(child.group.id, times, unwatched).then(
      () => undefined,
      // Whatever went wrong, nothing begins.
      (error: unknown) => unwatched(error instanceof Error ? error.message : String(error)),
    );
    let cut = await Promise.race([this.#cut, watched]);
    while (cut === undefined && this.#lease.state !== 'held') cut = await this.#nextNews();
    if (cut !== undefined) {
      // It has done nothing yet, so it needs no time to stop in.
      this.#killAt = this.#now;
      return this.#stop(child, cut);
    }
    voice.say(
      `elected for ${quoted(name)}, term ${term}: running as process group ${child.group.id}`,
    );
    this.#hasBegun = true;
    child.open();
    return undefined;
  }

  async #accompany(child: GatedChild): Promise<LifeEnd> {
    const { signals } = this.#context;
    signals.passTo((signal) => child.group.forward(signal));
    const cut = await Promise.race([this.#cut, child.ended.then(() => undefined)]);
    // A wrapper that was frozen may hear of its child's end first, and of the loss that caused it later.
    if (cut !== undefined) return this.#stop(child, cut);
    if (this.#lease.endReason !== undefined) return this.#stop(child, await this.#cut);
    return this.#finish(child, await child.ended);
  }

  /** The command has ended while the name was held. */
  async #finish(child: GatedChild, end: ChildEnd): Promise<LifeEnd> {
    const { watch, voice } = this.#context;
    const left = child.group.pids;
    if (left.length > 0) {
      voice.say(`the command has ended; stopping what it has left: ${left.join(', ')}`);
      this.#killAt = earliest(later(this.#now, leftoverGraceMs), this.#killAt);
    }
    await this.#stopGroup(child);
    watch.gone();
    return { how: 'ended', status: statusOf(end) };
  }

  async #stop(child: GatedChild, cut: Cut): Promise<LifeEnd> {
    const { voice } = this.#context;
    if (cut.how === 'lost') {
      this.#killAt = killTimeAfterLoss(cut.reason, this.#killAt, this.#now);
      const { name, term } = this.#lease;
      voice.say(
        `lost ${quoted(name)}, term ${term}: ${explanations[cut.reason]}; stopping the command`,
      );
    } else if (cut.how === 'unwatched') voice.say(`${cut.words}; stopping the command`);
    await this.#stopGroup(child);
    this.#context.watch.gone();
    return cut;
  }

  /** Until nothing is left of the group. Then, and only then, the name is given back. */
  async #stopGroup({ group, ended }: GatedChild): Promise<void> {
    const { runtime, watch, voice, signals } = this.#context;
    signals.keep();
    watch.stopping(
      watchdogTimes({ termAt: this.#now, killAt: this.#killAt }, this.#lease.timing).killAt,
    );
    const result = await stopGroup(runtime, group, { killAt: this.#killAt });
    if (result === 'stuck') {
      voice.say(`process group ${group.id} cannot be killed; the name is left to expire`);
      voice.advise(`ps -fp ${group.pids.join(',')}`);
      if (this.#lease.endReason === undefined) this.#lease.end('shutdown');
      return;
    }
    await ended;
    if (result === 'killed' && this.#hasBegun) voice.say(`process group ${group.id} was killed`);
    await this.#lease.release();
  }

  /** Nothing is begun while the lease is uncertain: resolves when that is over, or with what cuts it short. */
  async #nextNews(): Promise<Cut | undefined> {
    const { leases } = this.#context;
    let stopListening = () => {};
    const recovered = new Promise<undefined>((resolve) => {
      stopListening = leases.events.on('recovered', () => resolve(undefined));
    });
    try {
      return await Promise.race([recovered, this.#cut]);
    } finally {
      stopListening();
    }
  }

  #renewed(): void {
    const { watch } = this.#context;
    if (this.#lease.endReason !== undefined) return;
    const times = this.#stopTimes();
    this.#killAt = times.killAt;
    watch.renewed(watchdogTimes(times, this.#lease.timing));
  }

  #stopTimes(): StopTimes {
    return stopTimes(this.#now, this.#lease.remainingMs, this.#lease.timing);
  }

  #loss(): Cut {
    const reason = this.#lease.endReason ?? 'expired';
    return { how: 'lost', reason, facts: this.#facts };
  }

  get #facts(): TermFacts {
    const { name, term, holder, timing } = this.#lease;
    const { id: holderId, digest: holderDigest } = holder;
    return { name, term, holderId, holderDigest, ttlMs: timing.ttlMs };
  }

  get #now(): KernelTime {
    return kernelTimeOf(this.#context.runtime.now());
  }
}
