import { NoAnswerError } from '../../drivers/deadline.js';
import { classifyPostgresError } from '../../drivers/postgres/index.js';
import { unreachable } from '../../errors/unanswered.js';
import type { Runtime } from '../../time/index.js';
import type { Decision, Standing, Step } from '../rules/steps.js';
import { decided } from '../rules/steps.js';

/** How far a change has come: from `committing` on it may have been executed. */
type Stage = 'waiting' | 'deciding' | 'committing' | 'over';

/** One step of somebody who waits for its answer, no longer than its time limit. */
export class Change {
  readonly step: Step<unknown>;
  readonly what: string;
  readonly endMs: number;
  /** It has met something that would hold up, or fail, others in its transaction. */
  goesAlone = false;
  readonly #answer: (answer: unknown) => void;
  readonly #fail: (error: unknown) => void;
  readonly #timeoutMs: number;
  readonly #timer: { cancel(): void };
  #stage: Stage = 'waiting';

  constructor(
    { step, what, timeoutMs }: { step: Step<unknown>; what: string; timeoutMs: number },
    runtime: Runtime,
    settle: { answer: (answer: unknown) => void; fail: (error: unknown) => void },
  ) {
    this.step = step;
    this.what = what;
    this.endMs = runtime.now().monotonicMs + timeoutMs;
    this.#timeoutMs = timeoutMs;
    this.#answer = settle.answer;
    this.#fail = settle.fail;
    this.#timer = runtime.setTimer(timeoutMs, () => this.#failLate());
  }

  get isOver(): boolean {
    return this.#stage === 'over';
  }

  /** Nobody has asked the server anything for it, or not to any effect. */
  waitAlone(): void {
    this.goesAlone = true;
    this.#enter('waiting');
  }

  begin(): void {
    this.#enter('deciding');
  }

  /** @returns `undefined` if it is settled by that: what stands there cannot be read. */
  decide(read: () => Standing | undefined): Decision<unknown> | undefined {
    try {
      const decision = decided(this.step, read);
      this.#enter('committing');
      return decision;
    } catch (error) {
      this.fail(error);
      return undefined;
    }
  }

  answer(answer: unknown): void {
    if (this.#settle()) this.#answer(answer);
  }

  fail(error: unknown): void {
    if (this.#settle()) this.#fail(error);
  }

  /** Fails it if its time is over: its timer may be late. */
  expire(nowMs: number): void {
    if (nowMs >= this.endMs) this.#failLate();
  }

  #enter(stage: Stage): void {
    if (!this.isOver) this.#stage = stage;
  }

  #settle(): boolean {
    if (this.isOver) return false;
    this.#stage = 'over';
    this.#timer.cancel();
    return true;
  }

  #failLate(): void {
    this.fail(this.#late());
  }

  #late(): Error {
    if (this.#stage === 'waiting')
      return unreachable('timeout', `${this.what} was not sent: no connection was free in time.`);
    const phase = this.#stage === 'committing' ? 'commit' : 'transaction';
    return classifyPostgresError(new NoAnswerError(this.#timeoutMs), phase, this.what);
  }
}
