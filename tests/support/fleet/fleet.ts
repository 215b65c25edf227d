import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SteppableClock } from '../clock-shim/steppable-clock.js';
import { NodeProgram } from '../node-program.js';
import type { SeededRandom } from './random.js';

export interface FleetOptions {
  readonly random: SeededRandom;
  readonly ttlMs: number;
  readonly environment: Readonly<Record<string, string>>;
  /** What each of them runs. Default: a worker of streams. */
  readonly program?: string;
  /** What happens, the oftener the more often it is here. Default: all but skews. */
  readonly faults?: readonly Fault[];
  /** How long it takes from one thing to the next. Default 200 to 700 ms. */
  readonly betweenMs?: readonly [shortest: number, longest: number];
  /** The wall clock of whoever sits there; needed for skews. */
  readonly clockOf?: (seat: string) => Pick<SteppableClock, 'environment' | 'offsetMs' | 'step'>;
}

/** A place where one worker after another lives. */
interface Seat {
  readonly name: string;
  /** `away`: nobody is there, or somebody who is frozen or about to leave. */
  state: 'working' | 'away';
  program: NodeProgram;
  generation: number;
}

export type Fault = 'kill' | 'freeze' | 'drain' | 'join' | 'skew';

const usualFaults: readonly Fault[] = ['kill', 'kill', 'freeze', 'freeze', 'drain', 'join'];
/** So far ahead of the machine's clock, or behind it, is none that is skewed. */
const largestSkewMs = 2_000;

const initialCount = 3;
const largestCount = 5;

/** Worker processes, and everything that happens to them. */
export class Fleet {
  readonly faults: Record<Fault, number> = {
    kill: 0,
    freeze: 0,
    drain: 0,
    join: 0,
    skew: 0,
  };
  /** Exits that nobody asked for, and drains that did not end in a clean exit. Must stay empty. */
  readonly accidents: string[] = [];
  readonly #options: FleetOptions;
  readonly #seats: Seat[] = [];
  readonly #programs: NodeProgram[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #isOver = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    for (let count = 0; count < initialCount; count++) this.#addSeat();
  }

  async untilReady(): Promise<void> {
    await Promise.all(this.#seats.map(({ program }) => program.says(/^ready$/)));
  }

  /** One fault after another for so long, then waits until everybody who was hit is back. */
  async disturb(durationMs: number): Promise<void> {
    const { random, betweenMs = [200, 700] } = this.#options;
    const startedMs = performance.now();
    while (performance.now() - startedMs < durationMs && !this.#isOver) {
      await sleep(random.between(...betweenMs));
      this.#disturbOnce();
    }
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Drains everybody at once. */
  async stop(): Promise<void> {
    await Promise.all(this.#seats.map((seat) => this.#drain(seat)));
  }

  /** Ends whatever still runs, and starts nothing more. */
  async kill(): Promise<void> {
    this.#isOver = true;
    for (const seat of this.#seats) seat.state = 'away';
    await Promise.all(this.#programs.map((program) => program.kill()));
  }

  /** What the processes said, for a run that went wrong. */
  get output(): string {
    return this.#programs.map((program) => program.output).join('\n--\n');
  }

  #disturbOnce(): void {
    const { random, faults = usualFaults, clockOf } = this.#options;
    const working = this.#seats.filter(({ state }) => state === 'working');
    const fault = random.pick(faults);
    if (fault === 'skew') {
      const clock = clockOf?.(random.pick(this.#seats).name);
      clock?.step(Math.round(random.between(-1, 1) * largestSkewMs) - clock.offsetMs);
      this.faults.skew += 1;
      return;
    }
    if (fault === 'join' || working.length === 0) {
      if (this.#seats.length === largestCount || !faults.includes('join')) return;
      this.faults.join += 1;
      this.#addSeat();
      return;
    }
    this.faults[fault] += 1;
    const task = this.#hit(random.pick(working), fault).finally(() => this.#underWay.delete(task));
    this.#underWay.add(task);
  }

  async #hit(seat: Seat, fault: Exclude<Fault, 'join' | 'skew'>): Promise<void> {
    const { random, ttlMs } = this.#options;
    // Drawn before anything is waited for, or the sequence would depend on how fast things go.
    const frozenMs =
      ttlMs * (random.chance(0.8) ? random.between(1.3, 2) : random.between(0.1, 0.9));
    const diesFrozen = random.chance(0.2);
    const absentMs = random.between(100, 1_500);
    const keepsName = random.chance(0.5);
    seat.state = 'away';
    if (fault === 'freeze') {
      seat.program.signal('SIGSTOP');
      await sleep(frozenMs);
      if (!diesFrozen) {
        seat.program.signal('SIGCONT');
        seat.state = 'working';
        return;
      }
    }
    if (fault === 'drain') await this.#drain(seat);
    else await seat.program.kill();
    await sleep(absentMs);
    if (!keepsName) seat.generation += 1;
    this.#restart(seat);
  }

  async #drain(seat: Seat): Promise<void> {
    seat.state = 'away';
    const { program } = seat;
    const end = await program.stop();
    const hadBegun = program.lines.includes('begun');
    if (end === 0 || (end === 'SIGTERM' && !hadBegun)) return;
    this.accidents.push(`${seat.name} did not stop well: ${end}\n${program.output}`);
  }

  #addSeat(): void {
    const name = `worker-${this.#seats.length + 1}`;
    const program = this.#launch(name, 1);
    this.#seats.push({ name, state: 'working', program, generation: 1 });
  }

  #restart(seat: Seat): void {
    if (this.#isOver) return;
    seat.program = this.#launch(seat.name, seat.generation);
    seat.state = 'working';
  }

  #launch(name: string, generation: number): NodeProgram {
    const { environment, clockOf, program: file } = this.#options;
    const program = new NodeProgram([file ?? join(import.meta.dirname, 'worker.mjs')], {
      ...environment,
      ...clockOf?.(name).environment,
      WORKER_ID: `${name}.${generation}`,
    });
    this.#programs.push(program);
    void program.ended.then((end) => {
      const seat = this.#seats.find((one) => one.program === program);
      if (seat?.state !== 'working') return;
      this.accidents.push(`${name} ended by itself: ${end}\n${program.output}`);
    });
    return program;
  }
}
