import type { TenureError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';

interface Waiter<Line> {
  readonly isUrgent: boolean;
  take(line: Line): void;
  fail(error: TenureError): void;
}

/** Who waits for a line, in the order in which they get one: first who is urgent, then who has waited longest. */
export class LineQueue<Line> {
  readonly #runtime: Runtime;
  #waiters: readonly Waiter<Line>[] = [];

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  get length(): number {
    return this.#waiters.length;
  }

  get hasUrgent(): boolean {
    return this.#waiters.some(({ isUrgent }) => isUrgent);
  }

  /** The next line for this place in the queue. Rejects with what `late` makes if there is none within `timeoutMs`. */
  wait(timeoutMs: number, isUrgent: boolean, late: () => TenureError): Promise<Line> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer.cancel();
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
      };
      const waiter: Waiter<Line> = {
        isUrgent,
        take: (line) => {
          leave();
          resolve(line);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      const timer = this.#runtime.setTimer(timeoutMs, () => waiter.fail(late()));
      const [urgent, others] = [true, false].map((kind) =>
        this.#waiters.filter((one) => one.isUrgent === kind),
      ) as [Waiter<Line>[], Waiter<Line>[]];
      this.#waiters = isUrgent ? [...urgent, waiter, ...others] : [...urgent, ...others, waiter];
    });
  }

  /** @returns whether somebody took it. */
  offer(line: Line): boolean {
    const [first] = this.#waiters;
    first?.take(line);
    return first !== undefined;
  }

  failAll(error: TenureError): void {
    for (const waiter of this.#waiters) waiter.fail(error);
  }
}
