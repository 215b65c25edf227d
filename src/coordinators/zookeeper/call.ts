import {
  ConnectionLostError,
  errorCode,
  isZooKeeperError,
  type Link,
  type LinkFailure,
  refusal,
  SessionExpiredError,
  type ZooKeeperConnection,
  ZooKeeperError,
} from '../../drivers/zookeeper/index.js';
import { ClosedError, type OutcomeUnknownError, TenureError } from '../../errors/index.js';
import { carriedKind, type ErrorKind } from '../../errors/kinds.js';
import { outcomeUnknown, unreachable } from '../../errors/unanswered.js';
import type { Runtime, Timer } from '../../time/index.js';

const what = 'the ZooKeeper coordinator';

/** Thrown inside a call that has settled already, to end what still runs of it. Nobody sees it. */
class CallOverError extends Error {}

export interface CallParts {
  readonly runtime: Runtime;
  readonly operation: string;
  readonly timeoutMs: number;
  /** Whether it may be made again although it may have been executed: a repetition finds that, and changes nothing more. */
  readonly isRepeatable: boolean;
}

/**
 * One call of a user, over as many requests and connections as it takes, within its time.
 *
 * When its time is over, it gives up every connection on which it still waits: a late answer meets nobody, and no later
 * call waits behind it.
 */
export class Call {
  readonly #parts: CallParts;
  readonly #busy = new Map<ZooKeeperConnection, number>();
  readonly #forget = new Set<() => void>();
  #end: (error: Error) => void = () => {};
  #isOver = false;
  #hasSent = false;
  /** Something was changed, or may have been: a refusal of the rest is no refusal of the call. */
  #mayHaveChanged = false;

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /**
   * Runs `attempt` again as long as connections break under it and nothing speaks against it.
   *
   * @param abandoned when the call gives up with a request on its way.
   */
  async run<Answer>(
    attempt: () => Promise<Answer>,
    lastFailure: () => LinkFailure | undefined,
    abandoned: () => void,
  ): Promise<Answer> {
    const { runtime, timeoutMs } = this.#parts;
    let timer: Timer | undefined;
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#end = reject;
        timer = runtime.setTimer(timeoutMs, () => {
          const isWaiting = this.#busy.size > 0;
          reject(this.#noAnswer(lastFailure()));
          this.#stop();
          if (isWaiting) abandoned();
        });
        this.#attempts(attempt).then(resolve, reject);
      });
    } finally {
      timer?.cancel();
      this.#isOver = true;
    }
  }

  /** The coordinator is closed: what was sent has an unknown outcome. */
  close(): void {
    this.#end(this.#hasSent ? this.#unknown('it was closed meanwhile') : new ClosedError(what));
    this.#isOver = true;
    for (const forget of this.#forget) forget();
  }

  async connection(link: Link): Promise<ZooKeeperConnection> {
    this.#throwIfOver();
    const { connection, forget } = link.ready();
    this.#forget.add(forget);
    try {
      return await connection;
    } finally {
      this.#forget.delete(forget);
    }
  }

  /** Asks on a connection for as long as there is time. A session that is over, or elsewhere, is a lost connection. */
  async ask<Answer>(connection: ZooKeeperConnection, send: () => Promise<Answer>): Promise<Answer> {
    this.#throwIfOver();
    this.#hasSent = true;
    this.#busy.set(connection, (this.#busy.get(connection) ?? 0) + 1);
    try {
      return await send();
    } catch (error) {
      if (!isZooKeeperError(error, errorCode.sessionExpired, errorCode.sessionMoved)) throw error;
      connection.destroy((error as Error).message);
      throw new ConnectionLostError((error as Error).message);
    } finally {
      const left = (this.#busy.get(connection) ?? 1) - 1;
      if (left > 0) this.#busy.set(connection, left);
      else this.#busy.delete(connection);
    }
  }

  /** The same for a request that changes something that counts. */
  async write<Answer>(
    connection: ZooKeeperConnection,
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    try {
      const answer = await this.ask(connection, send);
      this.#mayHaveChanged = true;
      return answer;
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) this.#mayHaveChanged = true;
      throw error;
    }
  }

  async #attempts<Answer>(attempt: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        this.#throwIfOver();
        const isBroken =
          error instanceof ConnectionLostError || error instanceof SessionExpiredError;
        if (!isBroken) throw this.#verdict(error);
        if (this.#mayHaveChanged && !this.#parts.isRepeatable)
          throw this.#unknown(error.message, carriedKind(error));
      }
    }
  }

  #verdict(error: unknown): unknown {
    const { operation } = this.#parts;
    if (error instanceof RangeError)
      return outcomeUnknown(undefined, `${operation} on ${what}: ${error.message}`, error);
    const verdict = error instanceof ZooKeeperError ? refusal(operation, error) : error;
    if (!this.#mayHaveChanged || !(verdict instanceof TenureError)) return verdict;
    return outcomeUnknown(
      undefined,
      `${operation} on ${what} may have been executed in part; then it met this: ${verdict.message}`,
      verdict,
    );
  }

  #stop(): void {
    this.#isOver = true;
    const reason = `${this.#parts.operation} had no answer within ${Math.round(this.#parts.timeoutMs)} ms`;
    for (const connection of [...this.#busy.keys()]) connection.destroy(reason, 'timeout');
    for (const forget of this.#forget) forget();
  }

  #throwIfOver(): void {
    if (this.#isOver) throw new CallOverError();
  }

  #noAnswer(failure: LinkFailure | undefined): Error {
    const { operation, timeoutMs } = this.#parts;
    const why = failure === undefined ? '' : ` (${failure.says})`;
    const kind = failure?.kind ?? 'timeout';
    if (this.#hasSent)
      return this.#unknown(`no answer came within ${Math.round(timeoutMs)} ms${why}`, kind);
    return unreachable(
      kind,
      `${operation} could not be sent to ZooKeeper within ${Math.round(timeoutMs)} ms${why}; it was not executed. Look whether a majority of the servers runs and can be reached.`,
    );
  }

  #unknown(why: string, kind?: ErrorKind): OutcomeUnknownError {
    return outcomeUnknown(
      kind,
      `${this.#parts.operation} on ${what}: ${why}. It may have been executed; ask, or repeat it, before relying on either.`,
    );
  }
}

/**
 * The answers of requests that go on side by side, once all of them have settled: nothing of a call goes on after its
 * answer, and a lost connection, after which nobody knows, comes before a refusal.
 */
export async function allOf<Answer>(requests: readonly Promise<Answer>[]): Promise<Answer[]> {
  const settled = await Promise.allSettled(requests);
  const reasons = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  if (reasons.length > 0)
    throw reasons.find((reason) => reason instanceof ConnectionLostError) ?? reasons[0];
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}
