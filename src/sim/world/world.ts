import { synchronousDrain } from './drain.js';
import { type Action, Happening, Queue } from './queue.js';

/** After so many events the event loop gets a turn, for signals and for a caller that shows progress. */
const eventsPerTurn = 5_000;

/**
 * One virtual time for everything, and all that will happen in it.
 *
 * Between two events every promise that can settle settles, so nothing depends on how fast the machine is.
 */
export class World {
  readonly #stackDepth: number;
  readonly #queue = new Queue();
  #nowMs = 0;
  #order = 0;
  #eventCount = 0;
  #failure: { readonly error: unknown } | undefined;

  /** @param stackDepth how many callers an error that is made in here remembers: it takes long, and is read when one is unexpected. */
  constructor(stackDepth = Error.stackTraceLimit) {
    this.#stackDepth = stackDepth;
  }

  /** The one true time, which no process can read. */
  get nowMs(): number {
    return this.#nowMs;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  /** Plans something for `atMs`, now at the earliest. */
  at(atMs: number, happen: () => void): Happening {
    return this.plan(atMs, { happen });
  }

  /** As {@link at}, for what there is an object of already. */
  plan(atMs: number, action: Action): Happening {
    const happening = new Happening(Math.max(atMs, this.#nowMs), this.#order++, action);
    this.#queue.add(happening);
    return happening;
  }

  after(delayMs: number, happen: () => void): Happening {
    return this.at(this.#nowMs + delayMs, happen);
  }

  /** Lets everything happen up to `untilMs`, or until `isOver` says so after an event. */
  run(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = () => {
        const before = Error.stackTraceLimit;
        Error.stackTraceLimit = this.#stackDepth;
        try {
          if (this.#turn(untilMs, isOver)) resolve();
          else setImmediate(turn);
        } catch (error) {
          reject(error);
        } finally {
          Error.stackTraceLimit = before;
        }
      };
      // A drain is only right at the bottom of the stack, never inside of a microtask.
      setImmediate(turn);
    });
  }

  /** @returns whether all is done. */
  #turn(untilMs: number, isOver: () => boolean): boolean {
    const drain = synchronousDrain();
    for (let count = 0; count < (drain === undefined ? 1 : eventsPerTurn); count++) {
      if (isOver()) return true;
      const next = this.#queue.takeDue(untilMs);
      if (next === undefined) {
        this.#nowMs = untilMs;
        return true;
      }
      this.#nowMs = next.atMs;
      this.#eventCount += 1;
      next.happen();
      drain?.();
      if (this.#failure !== undefined) throw this.#failure.error;
    }
    return false;
  }

  /** The run itself is broken: it ends with this error after the present event. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }
}
