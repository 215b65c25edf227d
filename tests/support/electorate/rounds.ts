import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../fleet/random.js';
import type { CandidateProcess } from './candidate.js';
import { Electorate, type ServedStore } from './electorate.js';
import { kernelMs } from './parent.mjs';
import type { PlaceName } from './places.js';

export interface RoundsOptions {
  readonly placeName: PlaceName | ServedStore;
  readonly seed: number;
  readonly roundCount: number;
  /** `false`: the resource takes whatever comes. Default `true`. */
  readonly isFenced?: boolean;
  /** What may happen. Default: everything. */
  readonly faults?: readonly Fault[];
}

export interface RoundsReport {
  readonly violations: readonly string[];
  readonly acceptedCount: number;
  readonly refusedCount: number;
  /** First statements after a freeze that saw anything but a lost lease, and handoffs that reached somebody else. */
  readonly surprises: readonly string[];
  /** From the death or the freeze of a leader to its successor. */
  readonly slowestTakeoverMs: number;
  /** One line. */
  readonly summary: string;
  /** What the processes told. */
  readonly stories: string;
}

export type Fault =
  | 'kill'
  /** Together with one who waits. */
  | 'kill two'
  /** Beyond the ttl; it wakes when another leads. */
  | 'freeze'
  /** Too short to lose anything, if the machine is not too busy. */
  | 'nap'
  | 'resign'
  | 'hand off'
  | 'leave';

/** In ten rounds each of these happens, in an order of their own. */
const everything: readonly Fault[] = [
  ...(['kill', 'kill', 'kill two', 'freeze', 'freeze', 'freeze'] as const),
  ...(['nap', 'resign', 'hand off', 'leave'] as const),
];

interface Leader {
  readonly process: CandidateProcess;
  readonly term: number;
}

/**
 * Three candidates, each a process, of whom the leader meets with one thing after another. Everybody else waits by then, and
 * the next thing happens at any moment between two renewals.
 */
export async function playRounds(options: RoundsOptions): Promise<RoundsReport> {
  const electorate = new Electorate(options.placeName, { isFenced: options.isFenced ?? true });
  try {
    return await new Rounds(electorate, options).play();
  } catch (error) {
    console.error(electorate.stories);
    throw error;
  } finally {
    await electorate.end();
  }
}

class Rounds {
  readonly #electorate: Electorate;
  readonly #options: RoundsOptions;
  readonly #random: SeededRandom;
  readonly #seats = new Map<string, CandidateProcess>();
  readonly #counts = new Map<Fault, number>();
  readonly #surprises: string[] = [];
  #slowestTakeoverMs = 0;

  constructor(electorate: Electorate, options: RoundsOptions) {
    this.#electorate = electorate;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  async play(): Promise<RoundsReport> {
    const startedMs = performance.now();
    await Promise.all(['a', 'b', 'c'].map((id) => this.#seat(id)));
    let leader: Leader = await this.#next(0);
    for (const fault of this.#plan()) {
      await this.#electorate.untilWaiting(2);
      await sleep(this.#random.between(0, this.#electorate.timing.renewEveryMs));
      this.#counts.set(fault, (this.#counts.get(fault) ?? 0) + 1);
      leader = await this.#meet(fault, leader);
      await this.#electorate.noteTerms();
    }
    return await this.#report(performance.now() - startedMs);
  }

  #plan(): Fault[] {
    const { roundCount, faults = everything } = this.#options;
    const plan: Fault[] = [];
    while (plan.length < roundCount) {
      const ordered = faults.map((fault) => ({ fault, at: this.#random.next() }));
      ordered.sort((one, other) => one.at - other.at);
      plan.push(...ordered.map(({ fault }) => fault));
    }
    return plan.slice(0, roundCount);
  }

  async #meet(fault: Fault, leader: Leader): Promise<Leader> {
    const { process, term } = leader;
    const others = [...this.#seats.values()].filter((one) => one !== process);
    const another = this.#random.pick(others);
    switch (fault) {
      case 'kill':
        return await this.#kill(leader, [process]);
      case 'kill two':
        return await this.#kill(leader, [process, another]);
      case 'freeze':
        return await this.#freeze(leader, others);
      case 'nap':
        return await this.#nap(leader);
      case 'resign':
        await process.resign();
        return await this.#next(term);
      case 'hand off':
        return await this.#handOff(leader, another.id);
      case 'leave':
        await process.leave();
        await this.#seat(process.id);
        return await this.#next(term);
    }
  }

  async #kill({ term }: Leader, killed: readonly CandidateProcess[]): Promise<Leader> {
    const atMs = kernelMs();
    await Promise.all(killed.map((process) => process.kill()));
    await Promise.all(killed.map(({ id }) => this.#seat(id)));
    return await this.#next(term, atMs);
  }

  async #freeze({ process, term }: Leader, others: readonly CandidateProcess[]): Promise<Leader> {
    let next: Leader | undefined;
    const woken = await this.#electorate.freeze(process, async () => {
      next = await this.#next(term, kernelMs(), others);
    });
    if (woken.state !== 'lost')
      this.#surprises.push(`${process.id} woke: ${JSON.stringify(woken)}`);
    return next ?? (await this.#next(term));
  }

  async #handOff({ process, term }: Leader, to: string): Promise<Leader> {
    const isConfirmed = await process.handoff(to);
    const next = await this.#next(term);
    if (isConfirmed && next.process.id !== to)
      this.#surprises.push(`${next.process.id} leads, though ${to} was to`);
    return next;
  }

  async #nap(leader: Leader): Promise<Leader> {
    const { process, term } = leader;
    process.signal('SIGSTOP');
    await sleep(this.#random.between(0.05, 0.35) * this.#electorate.timing.ttlMs);
    process.signal('SIGCONT');
    const { state } = await process.state();
    return state === 'lost' ? await this.#next(term) : leader;
  }

  /** Who leads after this term; with `sinceMs`, that counts as a takeover. */
  async #next(
    term: number,
    sinceMs?: number,
    among: readonly CandidateProcess[] = this.#electorate.running,
  ): Promise<Leader> {
    const next = await this.#electorate.leaderAfter(term, among);
    if (sinceMs !== undefined)
      this.#slowestTakeoverMs = Math.max(this.#slowestTakeoverMs, next.atMs - sinceMs);
    return next;
  }

  async #seat(id: string): Promise<void> {
    this.#seats.set(id, await this.#electorate.standing(id));
  }

  async #report(durationMs: number): Promise<RoundsReport> {
    const { witness } = this.#electorate.resource;
    const violations = await this.#electorate.violations();
    const acceptedCount = witness.accepted.length;
    const refusedCount = witness.refused.length;
    const facts = [
      ...[...this.#counts].map(([fault, count]) => `${fault} ${count}`),
      `terms ${this.#electorate.terms.length}`,
      `accepted ${acceptedCount}`,
      `refused ${refusedCount}`,
      `violations ${violations.length}`,
      `slowest takeover ${Math.round(this.#slowestTakeoverMs)} ms`,
      `${(durationMs / 1_000).toFixed(1)} s`,
    ];
    return {
      violations,
      acceptedCount,
      refusedCount,
      surprises: this.#surprises,
      slowestTakeoverMs: this.#slowestTakeoverMs,
      summary: `${this.#electorate.place.name}, seed ${this.#options.seed}: ${facts.join(', ')}`,
      stories: this.#electorate.stories,
    };
  }
}
