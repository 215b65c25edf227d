import { describe, it } from 'vitest';
import { conformanceCases, type TestFramework } from '../../src/testing.js';

export interface ConcurrentCasesOptions {
  /** How the titles begin of cases that have the machine for themselves, beside those that disturb the others. */
  readonly alone?: readonly string[];
  /** Most cases wait for time to pass, so this is more than there are cores. */
  readonly atOnceCount?: number;
}

const caseTimeoutMs = 60_000;
/** Who has the machine for himself waits for all others before. */
const aloneTimeoutMs = 5 * 60_000;
const disturbing = ['restartKeepingData', 'restartLosingData', 'loseTail', 'stepClock'];

/**
 * For stores that all cases share: cases that disturb no client but their own run at the same time, a few at once; each is
 * a test of its own all the same.
 */
export function concurrentCases(options: ConcurrentCasesOptions = {}): TestFramework {
  const { alone = [], atOnceCount = 8 } = options;
  const pool = new Pool(atOnceCount);
  return {
    describe,
    it: (title, run) => {
      if (disturbsAll(title) || alone.some((start) => title.startsWith(start))) {
        it(title, () => pool.idle().then(run), aloneTimeoutMs);
        return;
      }
      const outcome = pool.add(run);
      it(title, outcome, caseTimeoutMs);
    },
  };
}

function disturbsAll(title: string): boolean {
  return conformanceCases.some(
    ({ id, needs }) =>
      title.startsWith(`${id}:`) && needs.some((need) => disturbing.includes(need)),
  );
}

/** Runs what it was given once the first of it is waited for, so many at a time. */
class Pool {
  readonly #width: number;
  readonly #waiting: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;

  constructor(width: number) {
    this.#width = width;
  }

  /** Returns how to wait for its outcome. */
  add(run: () => Promise<void>): () => Promise<void> {
    let settle: { resolve(): void; reject(error: unknown): void };
    const outcome = new Promise<void>((resolve, reject) => {
      settle = { resolve, reject };
    });
    // Whoever waits for it gets to know; until then nobody does.
    outcome.catch(() => {});
    this.#waiting.push(() =>
      run().then(
        () => settle.resolve(),
        (error) => settle.reject(error),
      ),
    );
    return () => {
      this.#start();
      return outcome;
    };
  }

  #start(): void {
    if (this.#running !== undefined) return;
    const workers = Array.from({ length: this.#width }, () => this.#work());
    this.#running = Promise.all(workers).then(() => undefined);
  }

  async #work(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) await next();
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    await this.#running;
  }
}
