import type { Runtime } from '../../time/index.js';
import { NoAnswerError, withDeadline } from '../deadline.js';
import type { PostgresClient, PostgresQueryable, PostgresResult } from './client.js';
import { classifyPostgresError, type PostgresPhase } from './errors.js';

/** How one of our own statements is asked. */
export interface Ask {
  readonly runtime: Runtime;
  /** The answer is waited for this long, on the monotonic clock. */
  readonly timeoutMs: number;
  readonly phase: PostgresPhase;
  /** Begins an error's message. */
  readonly what: string;
  /** The time of all the statements that this one is the rest of, for the error. Default `timeoutMs`. */
  readonly wholeMs?: number;
}

/** Runs one statement, and rejects with tenure's errors only. */
export async function ask<Row extends object>(
  target: PostgresQueryable,
  { runtime, timeoutMs, phase, what, wholeMs = timeoutMs }: Ask,
  text: string,
  values?: unknown[],
): Promise<PostgresResult<Row>> {
  try {
    return await withDeadline(runtime, timeoutMs, target.query<Row>(text, values));
  } catch (error) {
    const failure = error instanceof NoAnswerError ? new NoAnswerError(wholeMs) : error;
    throw classifyPostgresError(failure, phase, what);
  }
}

/**
 * One client for one transaction, from checkout to release.
 *
 * While a client is checked out, its pool does not listen for its errors, and an `error` event nobody listens for ends
 * the process: a server restart would do that. So the session listens, and remembers.
 */
export class PostgresSession<Client extends PostgresClient> {
  readonly client: Client;
  #loss: Error | undefined;
  #isOver = false;
  readonly #onError = (error: Error) => {
    this.#loss ??= error;
  };

  constructor(client: Client) {
    this.client = client;
    client.on('error', this.#onError);
  }

  /** Why the connection is gone, if it is known to be. Nothing sent from now on reaches the server. */
  get loss(): Error | undefined {
    return this.#loss;
  }

  /** Gives the client back to its pool, or closes its connection if its state is not known. Safe to call twice. */
  end(isClean: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const reusable = isClean && this.#loss === undefined;
    if (!reusable) this.#loss ??= new Error('the connection was closed');
    // A client that is being destroyed may still emit errors, so its listener stays.
    if (reusable) this.client.removeListener('error', this.#onError);
    try {
      this.client.release(!reusable);
    } catch {
      // The work has released it itself: whoever has it now must not be inside of a transaction of ours.
      if (!reusable) Object(this.client).connection?.stream?.destroy();
    }
  }
}
