import { unreachable } from '../../errors/unanswered.js';
import type { Runtime } from '../../time/index.js';

/** One connection has one transaction at a time: those of a fence take turns, in the order in which they came. */
export class Turns {
  readonly #runtime: Runtime;
  #last: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** @throws {UnreachableError} if its turn has not come within `limitMs`; it is not executed then. */
  async take<Result>(what: string, limitMs: number, act: () => Promise<Result>): Promise<Result> {
    const before = this.#last;
    let end: () => void = () => {};
    this.#last = new Promise((resolve) => {
      end = resolve;
    });
    try {
      await this.#within(before, what, limitMs);
    } catch (error) {
      // Who comes later still waits for those before.
      void before.then(end);
      throw error;
    }
    try {
      return await act();
    } finally {
      end();
    }
  }

  /** Resolves when all that have come are over. */
  async over(): Promise<void> {
    await this.#last;
  }

  #within(before: Promise<void>, what: string, limitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#runtime.setTimer(limitMs, () =>
        reject(
          unreachable(
            'timeout',
            `${what} was not executed within ${limitMs} ms: another transaction of this fence was open all the time. Keep transactions short, and do not wait for a claim inside one.`,
          ),
        ),
      );
      void before.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
