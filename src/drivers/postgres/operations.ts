import {
  OutcomeUnknownError,
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
  tooLateCode,
  UnreachableError,
} from '../../errors/index.js';
import { outcomeUnknown } from '../../errors/unanswered.js';
import { Backoff, type Runtime, sleep } from '../../time/index.js';
import { classifyPostgresError, sqlStateOf } from './errors.js';
import type { Line, Lines } from './lines.js';

/** One call of a function in the database that answers with JSON. */
export interface Operation {
  /** Begins an error's message: `acquire`. */
  readonly what: string;
  /** Answers with one row, whose `answer` is the JSON text. */
  readonly text: string;
  /** The values, given the server's Unix time in ms after which it must not be executed. */
  values(notAfterMs: number): unknown[];
  readonly timeoutMs: number;
  /** Nothing that it does could matter if it were done. */
  readonly isRead?: boolean;
  /** Does not wait behind others for a connection. */
  readonly isUrgent?: boolean;
}

/** What every answer has. */
export interface Answer {
  /** The server's Unix time in ms, at the end. */
  readonly now: number;
  /** It reached the server after its deadline, and nothing was done. */
  readonly late?: boolean;
}

/** What a statement may meet that is over by itself: it was taken back as a whole. */
const collisions = new Set(['40001', '40P01']);
/** How often a call is sent again because the server found it too late. */
const tooLateLimitCount = 2;

/**
 * Runs operations under deadlines: each settles within its `timeoutMs`.
 *
 * One that was not answered in time gives its connection up. What was certainly not executed and may pass is tried again
 * while there is time.
 */
export class PostgresOperations {
  readonly #lines: Lines;
  readonly #runtime: Runtime;
  /** The SQLSTATE by which a function takes back what it did too late. */
  readonly #lateState: string;

  constructor(lines: Lines, runtime: Runtime, lateState: string) {
    this.#lines = lines;
    this.#runtime = runtime;
    this.#lateState = lateState;
  }

  /**
   * @throws {UnreachableError} Not executed. @throws {OutcomeUnknownError} Sent, not answered.
   * @throws {StoreRefusedError} Answered, not executed (`tooLateCode` if it arrived after its deadline).
   * @throws {StoreMisconfiguredError} @throws {ClosedError}
   */
  async run<Result extends Answer>(operation: Operation): Promise<Result> {
    const { what, timeoutMs, isUrgent = false } = operation;
    const deadlineMs = this.#nowMs() + timeoutMs;
    const backoff = new Backoff(this.#runtime, { firstMs: 4, limitMs: 100 });
    for (let lateCount = 0; ; ) {
      const line = await this.#lines.take(what, deadlineMs, isUrgent);
      const outcome = await this.#runOn<Result>(line, operation, deadlineMs);
      if ('answer' in outcome) return outcome.answer;
      if (outcome.again === 'late') {
        lateCount += 1;
        // If our deadline has not passed, the server's clock was stepped forward, and its answer told us how far.
        if (lateCount > tooLateLimitCount || this.#nowMs() >= deadlineMs) throw outcome.error;
      } else {
        const pauseMs = backoff.nextMs();
        if (this.#nowMs() + 2 * pauseMs >= deadlineMs) throw outcome.error;
        await sleep(this.#runtime, pauseMs);
      }
    }
  }

  async #runOn<Result extends Answer>(
    line: Line,
    operation: Operation,
    deadlineMs: number,
  ): Promise<
    | { readonly answer: Result }
    | { readonly again: 'late' | 'collision'; readonly error: TenureError }
  > {
    const sentAtMs = this.#nowMs();
    const values = operation.values(line.clock.serverMsBefore(deadlineMs));
    let text: unknown;
    try {
      const { rows } = await line.query<{ answer: unknown }>(operation.text, values, deadlineMs);
      text = rows[0]?.answer;
    } catch (error) {
      return this.#failed(line, operation, error);
    }
    const answer = parseAnswer<Result>(text);
    if (answer === undefined) {
      line.abandon('it answered with something that is no answer');
      throw outcomeUnknown(
        undefined,
        `${operation.what} was sent to ${this.#lines.address}, which answered with something that is no answer of it: it may or may not have been executed. Is there a proxy in between?`,
      );
    }
    line.clock.observe(answer.now, sentAtMs, this.#nowMs());
    line.done();
    return answer.late === true ? { again: 'late', error: this.#tooLate(operation) } : { answer };
  }

  #failed(
    line: Line,
    operation: Operation,
    failure: unknown,
  ): { readonly again: 'late' | 'collision'; readonly error: TenureError } {
    const state = sqlStateOf(failure);
    const error = classifyPostgresError(
      failure,
      operation.isRead === true ? 'read' : 'statement',
      operation.what,
    );
    const isLost = error instanceof UnreachableError || error instanceof OutcomeUnknownError;
    // A server that has become a standby, or lost its schema: the next connection is checked, and may lead elsewhere.
    const isWrong = error instanceof StoreMisconfiguredError;
    if (isLost || isWrong) line.abandon(error.message);
    else line.done();
    if (state === this.#lateState) return { again: 'late', error: this.#tooLate(operation) };
    if (state !== undefined && collisions.has(state)) return { again: 'collision', error };
    throw error;
  }

  #tooLate({ what }: Operation): StoreRefusedError {
    return new StoreRefusedError(
      tooLateCode,
      `${what} reached ${this.#lines.address} after its deadline and was not executed. Allow it more time.`,
    );
  }

  #nowMs(): number {
    return this.#runtime.now().monotonicMs;
  }
}

function parseAnswer<Result extends Answer>(text: unknown): Result | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    const answer: unknown = JSON.parse(text);
    const isOne = typeof answer === 'object' && answer !== null && 'now' in answer;
    return isOne && typeof answer.now === 'number' ? (answer as unknown as Result) : undefined;
  } catch {
    return undefined;
  }
}
