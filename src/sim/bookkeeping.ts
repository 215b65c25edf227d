import type { Bench, Violation } from './checkers/checker.js';
import type { Excuse } from './models/model.js';
import type { Plan } from './plan.js';
import type { Stage } from './stage.js';

/** What was violated, what is excused, and what was covered in one run. */
export class Bookkeeping {
  readonly #stage: Stage;
  readonly #plan: Plan;
  readonly #excusedUntilMs = new Map<Excuse, number>();
  readonly #coverage = new Map<string, number>();
  #progressAtMs = 0;
  #violation: Violation | undefined;

  constructor(stage: Stage, plan: Plan) {
    this.#stage = stage;
    this.#plan = plan;
    stage.witness.on('covered', ({ what }) => this.#count(what));
    stage.witness.on('ended', ({ how, reason }) => this.#count(`a lease ended: ${how}, ${reason}`));
    stage.witness.on('executed', ({ operation, hadSettled }) => {
      if (hadSettled) this.#count(`executed after its caller had given up: ${operation}`);
    });
    stage.witness.on('progress', () => {
      this.#progressAtMs = stage.world.nowMs;
    });
    for (const { kind } of plan.schedule) this.#count(`fault: ${kind}`);
  }

  /** The first one; the run is over with it. */
  get violation(): Violation | undefined {
    return this.#violation;
  }

  get isOver(): boolean {
    return this.#violation !== undefined;
  }

  /** The faults have been over for a while, and work goes on. */
  get goesOn(): boolean {
    const { healedAtMs, ttlMs } = this.#plan;
    return this.#progressAtMs > healedAtMs + 2 * ttlMs;
  }

  get coverage(): ReadonlyMap<string, number> {
    for (const [kind, count] of this.#stage.network.harm)
      this.#coverage.set(`messages: ${kind}`, count);
    return this.#coverage;
  }

  excuse(what: Excuse, forMs: number): void {
    const untilMs = this.#stage.world.nowMs + forMs;
    this.#excusedUntilMs.set(what, Math.max(untilMs, this.#excusedUntilMs.get(what) ?? 0));
  }

  bench(checker: string): Bench {
    const { witness, world, processes } = this.#stage;
    const { healedAtMs, ttlMs } = this.#plan;
    return {
      witness,
      processes,
      healedAtMs,
      ttlMs,
      nowMs: () => world.nowMs,
      isExcused: (what) => world.nowMs <= (this.#excusedUntilMs.get(what) ?? -1),
      violated: (what) => {
        this.#violation ??= { checker, what, atMs: world.nowMs };
      },
    };
  }

  /** Until the returned function is called, a rejection that nobody handles is a violation. */
  listenForRejections(): () => void {
    const { violated } = this.bench('hygiene');
    const unhandled = (reason: unknown) =>
      violated(
        `a rejection was left unhandled: ${reason instanceof Error ? reason.stack : reason}`,
      );
    process.on('unhandledRejection', unhandled);
    return () => void process.off('unhandledRejection', unhandled);
  }

  #count(what: string): void {
    this.#coverage.set(what, (this.#coverage.get(what) ?? 0) + 1);
  }
}
