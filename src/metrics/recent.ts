import { elapsedMs, type Instant, type Runtime } from '../time/index.js';

/** Two who collect in turn would otherwise hide from each other what they have seen. */
const keptForMs = 10_000;

/** The extreme of what was noted since it was last asked for, and for at least ten seconds. */
export class RecentExtreme {
  readonly #runtime: Runtime;
  readonly #of: (one: number, other: number) => number;
  #before: number | undefined;
  #since: number | undefined;
  #startedAt: Instant;

  constructor(runtime: Runtime, of: (one: number, other: number) => number) {
    this.#runtime = runtime;
    this.#of = of;
    this.#startedAt = runtime.now();
  }

  note(value: number): void {
    this.#since = this.#since === undefined ? value : this.#of(this.#since, value);
  }

  /** `undefined` if nothing was noted. */
  take(): number | undefined {
    const [one, other] = [this.#before, this.#since];
    const now = this.#runtime.now();
    if (elapsedMs(this.#startedAt, now) >= keptForMs) {
      this.#before = this.#since;
      this.#since = undefined;
      this.#startedAt = now;
    }
    return one === undefined || other === undefined ? (one ?? other) : this.#of(one, other);
  }
}
