import type { Random } from '../random.js';
import type { ScenarioStage } from './scenario.js';

/** There is a new one so often, in milliseconds of true time. */
const everyMs = 700;
/** The last one comes so long after the faults, so that there is something to be done then. */
const lastAfterMs = 8_000;

/** What is to be had once each: everybody knows of all, and they are had when somebody has heard the result. */
export class Orders {
  readonly #stage: ScenarioStage;
  readonly #count: number;
  readonly #done = new Set<number>();

  constructor(stage: ScenarioStage) {
    this.#stage = stage;
    this.#count = Math.floor((stage.healedAtMs + lastAfterMs) / everyMs);
  }

  get areDone(): boolean {
    return this.#done.size === this.#count;
  }

  /** Of those that there are by now: since when. */
  open(): ReadonlyMap<string, number> {
    const byNow = Math.min(this.#count, Math.ceil(this.#stage.world.nowMs / everyMs));
    const open = new Map<string, number>();
    for (let index = 0; index < byNow; index += 1)
      if (!this.#done.has(index)) open.set(keyOf(index), index * everyMs);
    return open;
  }

  pick(random: Random): string | undefined {
    const open = [...this.open().keys()];
    return open.length === 0 ? undefined : random.pick(open);
  }

  done(key: string): void {
    this.#done.add(Number(key.split('/')[1]));
  }
}

const keyOf = (index: number) => `order/${index}`;
