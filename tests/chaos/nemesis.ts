import { setTimeout as sleep } from 'node:timers/promises';
import type { Disturbance, Scene, Step } from './faults/fault.js';
import { type History, kernelMs } from './history.js';
import type { Event } from './plan.js';

/** From the end of a fault to the next accepted write. Nothing takes so long, even on a busy machine. */
export const recoveredWithinMs = 150_000;

/** Plays one fault after another, and waits after each until somebody writes again. */
export class Nemesis {
  readonly #history: History;
  readonly #scene: Scene;
  readonly #disturbances: Readonly<Record<string, Disturbance>>;
  #count = 0;

  constructor(history: History, scene: Scene, disturbances: Readonly<Record<string, Disturbance>>) {
    this.#history = history;
    this.#scene = scene;
    this.#disturbances = disturbances;
  }

  /** @returns whether somebody wrote again after every fault; if not, the rest is not played. */
  async play(plan: Iterable<Event>, forMs: number): Promise<boolean> {
    const endAtMs = kernelMs() + forMs;
    for (const event of plan) {
      if (kernelMs() >= endAtMs) break;
      await sleep(event.step.pauseMs);
      await this.#meet(event);
      if (!(await this.recovered())) return false;
    }
    return true;
  }

  /** Whether somebody writes from now on. */
  async recovered(): Promise<boolean> {
    const wrote = await this.#history.next(({ event }) => event === 'wrote', recoveredWithinMs);
    this.#history.note('nemesis', wrote === undefined ? 'notRecovered' : 'recovered', {
      fault: this.#count,
    });
    return wrote !== undefined;
  }

  async #meet({ step, companion }: Event): Promise<void> {
    this.#count += 1;
    const lastsMs = step.lastsTtls * this.#scene.ttlMs;
    const end = await this.#begin(step);
    try {
      if (companion === undefined) await sleep(lastsMs);
      else {
        await sleep(lastsMs / 2);
        const endCompanion = await this.#begin(companion);
        await sleep(lastsMs / 2);
        await endCompanion();
      }
    } finally {
      await end();
    }
  }

  async #begin(step: Step): Promise<() => Promise<void>> {
    const { kind } = step;
    const facts = { fault: this.#count, kind };
    const disturb = this.#disturbances[kind];
    if (disturb === undefined) throw new Error(`no fault is called "${kind}"`);
    this.#history.note('nemesis', 'faultBegins', { ...facts, step });
    let end: () => Promise<void>;
    try {
      end = await disturb(this.#scene, step);
    } catch (error) {
      // The store is not yet what the fault needs: that is no matter of safety.
      this.#history.note('nemesis', 'faultFailed', { ...facts, error: String(error) });
      return async () => {};
    }
    return async () => {
      await end();
      this.#history.note('nemesis', 'faultEnded', facts);
    };
  }
}
