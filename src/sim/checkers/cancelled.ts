import type { RunRecord } from '../../schedule/index.js';
import { isOpen } from '../../schedule/records.js';
import type { Bench, Checker } from './checker.js';

/** A leader that nothing befalls heeds a cancellation within this, in milliseconds; there has to be one, besides. */
const heededWithinMs = 10_000;
const leaderInTtl = 4;

/**
 * Of runs that only end when they are cancelled: what was cancelled ends, by whomever it is run, and nothing is ended as
 * cancelled that nobody wanted to be.
 */
export class CancelledChecker implements Checker {
  readonly name = 'cancelled';
  readonly #runs: () => readonly RunRecord[];
  readonly #wanted = new Set<string>();
  /** When somebody was told that it will end. */
  readonly #accepted = new Map<string, number>();
  #bench: Bench | undefined;

  /** @param runs all that stand in the store. */
  constructor(runs: () => readonly RunRecord[]) {
    this.#runs = runs;
  }

  attach(bench: Bench): void {
    this.#bench = bench;
  }

  /** Somebody asks for its end, and may not hear what becomes of that. */
  wanted(id: string): void {
    this.#wanted.add(id);
  }

  accepted(id: string): void {
    if (!this.#accepted.has(id)) this.#accepted.set(id, this.#bench?.nowMs() ?? 0);
    this.#bench?.witness.cover('a run was cancelled');
  }

  /** Before anything is closed. */
  settle(): void {
    const bench = this.#bench;
    if (bench === undefined) return;
    const { healedAtMs, ttlMs } = bench;
    for (const run of this.#runs()) {
      const { id, state } = run;
      const sinceMs = this.#accepted.get(id) ?? Number.POSITIVE_INFINITY;
      const dueMs = Math.max(sinceMs, healedAtMs) + leaderInTtl * ttlMs + heededWithinMs;
      if (isOpen(run) && bench.nowMs() > dueMs)
        bench.violated(`${id} was cancelled and is ${state} at the end`);
      if (state === 'cancelled' && !this.#wanted.has(id))
        bench.violated(`${id} is cancelled, and nobody had asked for that`);
      if (state === 'succeeded') bench.violated(`${id} has succeeded, and nobody had ended it`);
    }
  }
}
