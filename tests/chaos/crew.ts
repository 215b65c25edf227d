import { join } from 'node:path';
import { SteppableClock } from '../support/clock-shim/steppable-clock.js';
import { NodeProgram } from '../support/node-program.js';
import { type History, kernelMs, type Line } from './history.js';
import type { Connection, Timing } from './stage.js';

export interface HolderSettings {
  /** Of this incarnation: `b.3`. */
  readonly who: string;
  /** Its id, which the next process of the seat has as well. */
  readonly seat: string;
  readonly name: string;
  readonly keys: readonly string[];
  readonly namespace: string;
  readonly store: Connection;
  readonly witnessUrl: string;
  readonly timing: Timing;
  readonly isFenced: boolean;
  readonly writeEveryMs: number;
}

export type CommonSettings = Omit<HolderSettings, 'who' | 'seat' | 'store'>;

/** A place at which one process after another lives, all with the same id. */
export interface Seat {
  readonly id: string;
  readonly clock: SteppableClock;
  readonly store: Connection;
  program: NodeProgram;
  generation: number;
  isFrozen: boolean;
}

/** Lines that end a term. */
export const termEnds: ReadonlySet<string> = new Set(['aborted', 'lost', 'resigned']);

/** How a holder exits whose election has ended with an error of the store; a supervisor starts it again. */
const gaveUp = 3;
const restartedAfterMs = 300;

const program = join(import.meta.dirname, 'holder.mjs');

/** The processes that want to lead, and who of them does. */
export class Crew {
  readonly seats: Seat[] = [];
  /** Ends that nobody asked for. */
  readonly accidents: string[] = [];
  readonly #history: History;
  readonly #common: CommonSettings;
  #isOver = false;

  constructor(history: History, common: CommonSettings) {
    this.#history = history;
    this.#common = common;
  }

  /** @param folder for its clock */
  add(id: string, store: Connection, folder: string): Seat {
    const clock = new SteppableClock(join(folder, `clock-${id}`));
    const seat = { id, clock, store, generation: 0, isFrozen: false } as unknown as Seat;
    this.seats.push(seat);
    this.start(seat);
    return seat;
  }

  start(seat: Seat): void {
    if (this.#isOver || seat.program?.isRunning) return;
    seat.generation += 1;
    seat.isFrozen = false;
    const who = `${seat.id}.${seat.generation}`;
    const settings: HolderSettings = { ...this.#common, who, seat: seat.id, store: seat.store };
    const environment = { ...seat.clock.environment, CHAOS_HOLDER: JSON.stringify(settings) };
    const started = new NodeProgram([program], environment, ['SIGKILL'], (text) =>
      this.#hear(who, text),
    );
    seat.program = started;
    this.#history.note('nemesis', 'started', { holder: who });
    void started.ended.then((how) => {
      this.#history.note('nemesis', 'ended', { holder: who, how });
      if (how === gaveUp) setTimeout(() => this.start(seat), restartedAfterMs);
      else if (how !== 'SIGKILL' && how !== 0 && !this.#isOver)
        this.accidents.push(`${who} ended by itself (${how}):\n${started.output.slice(-2_000)}`);
    });
  }

  /** Who leads, as far as they have told. */
  leader(): Seat | undefined {
    const { lines } = this.#history;
    const index = lines.findLastIndex(({ event }) => event === 'elected');
    const elected = lines[index];
    const isOver = lines
      .slice(index + 1)
      .some(({ who, event }) => who === elected?.who && termEnds.has(event));
    return elected === undefined || isOver ? undefined : this.#alive(elected.who);
  }

  #alive(who: string): Seat | undefined {
    return this.seats.find(
      (seat) => `${seat.id}.${seat.generation}` === who && seat.program.isRunning,
    );
  }

  async kill(seat: Seat): Promise<void> {
    await seat.program.kill();
  }

  freeze(seat: Seat): void {
    seat.isFrozen = true;
    seat.program.signal('SIGSTOP');
  }

  thaw(seat: Seat): void {
    seat.isFrozen = false;
    seat.program.signal('SIGCONT');
  }

  /** Ends all in good order. */
  async leave(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.seats.map((seat) => seat.program.stop(20_000)));
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.seats.map((seat) => seat.program.kill()));
    for (const { clock } of this.seats) clock.close();
  }

  #hear(who: string, text: string): void {
    if (text === '') return;
    try {
      this.#history.add(JSON.parse(text) as Line);
    } catch {
      // What Node itself has to say, such as an error that nobody caught.
      this.#history.add({ atMs: kernelMs(), who, event: 'said', text });
    }
  }
}
