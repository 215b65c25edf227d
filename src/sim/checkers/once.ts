import type { OnceRecord } from '../../once/index.js';
import type { Bench, Checker } from './checker.js';

/** An effect that took place, as the bank has it: what the callers are to hear. */
export interface Charge {
  readonly attempt: number;
  readonly process: string;
}

export interface OnceCheckerOptions {
  /** What stands of a key in the store, without asking anybody. */
  readonly recordOf: (key: string) => OnceRecord | undefined;
}

/** So long after the faults every key that was wanted before their end has been decided, in milliseconds. */
const decidedAfterMs = 25_000;

/**
 * Each key has one effect: a second one only if somebody decided in between that the outcome of the attempt before was not
 * known and is to be repeated. An effect takes place while the store has its attempt as the one under way; from then on the
 * key is never absent or free, until it is done or somebody has to look at it. Everybody is answered the same, and nothing
 * but what the bank has.
 */
export class OnceChecker implements Checker {
  readonly name = 'once';
  readonly #options: OnceCheckerOptions;
  readonly #charges = new Map<string, Charge[]>();
  /** By key: the attempts that somebody wanted repeated without looking. */
  readonly #repeated = new Map<string, number[]>();
  readonly #answers = new Map<string, string>();
  #bench: Bench | undefined;

  constructor(options: OnceCheckerOptions) {
    this.#options = options;
  }

  attach(bench: Bench): void {
    this.#bench = bench;
  }

  /** What the bank has of a key: the latest effect. */
  chargeOf(key: string): Charge | undefined {
    return this.#charges.get(key)?.at(-1);
  }

  /** The effect takes place now. */
  charged(key: string, charge: Charge): void {
    const { attempt, process } = charge;
    const record = this.#options.recordOf(key);
    if (record?.state !== 'started' || record.attempt !== attempt)
      this.#violated(
        `${process} had the effect of ${key} in attempt ${attempt}, and the store has ${record === undefined ? 'nothing' : `attempt ${record.attempt}, ${record.state}`}`,
      );
    for (const before of this.#charges.get(key) ?? []) {
      const wasDecided = this.#repeated
        .get(key)
        ?.some((decided) => decided >= before.attempt && decided < attempt);
      if (wasDecided === true) this.#bench?.witness.cover('an effect was repeated by decision');
      else
        this.#violated(
          `${process} had the effect of ${key} in attempt ${attempt} after ${before.process} had had it in attempt ${before.attempt}, and nobody had decided so`,
        );
    }
    this.#charges.set(key, [...(this.#charges.get(key) ?? []), charge]);
  }

  /** Somebody says, without looking, that this attempt is to be repeated. */
  repeated(key: string, attempt: number): void {
    this.#repeated.set(key, [...(this.#repeated.get(key) ?? []), attempt]);
  }

  /** Somebody has called for the effect, and this is its result. */
  answered(key: string, charge: Charge, process: string): void {
    const isTrue = this.#charges
      .get(key)
      ?.some((one) => one.attempt === charge.attempt && one.process === charge.process);
    const text = JSON.stringify(charge);
    if (isTrue !== true)
      this.#violated(`${process} was told ${text} of ${key}, and the bank has no such effect`);
    const before = this.#answers.get(key) ?? text;
    if (before !== text)
      this.#violated(`${process} was told ${text} of ${key}, and others had been told ${before}`);
    this.#answers.set(key, text);
  }

  /** Before anything is closed. `open`: keys that somebody still calls for, and since when. */
  settle(open: ReadonlyMap<string, number>): void {
    const bench = this.#bench;
    if (bench === undefined || bench.nowMs() < bench.healedAtMs + decidedAfterMs) return;
    for (const [key, sinceMs] of open)
      if (sinceMs < bench.healedAtMs) bench.violated(`nobody could decide about ${key} by the end`);
  }

  atEnd(bench: Bench): void {
    for (const key of this.#charges.keys()) {
      const state = this.#options.recordOf(key)?.state;
      if (state === undefined || state === 'free')
        bench.violated(`the effect of ${key} took place, and the key is ${state ?? 'absent'}`);
    }
  }

  #violated(what: string): void {
    this.#bench?.violated(what);
  }
}
