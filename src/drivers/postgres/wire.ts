import { NoAnswerError } from '../deadline.js';
import type { PostgresClient } from './client.js';
import type { TransactionAsk } from './open-transaction.js';

/** The slice of a `pg` client's connection by which cursors and streams of others are read as well. */
export interface Wire {
  readonly stream: {
    /** How many bytes it still has to hand on. */
    readonly writableLength?: number;
    write(bytes: Uint8Array): unknown;
  };
  on(event: 'commandComplete', listener: (message: { text?: unknown }) => void): unknown;
  removeListener(
    event: 'commandComplete',
    listener: (message: { text?: unknown }) => void,
  ): unknown;
}

/** Where what the server says to each statement can be seen: of a client of the package `pg`, however it sends. */
export function wireOf(client: PostgresClient): Pick<Wire, 'on' | 'removeListener'> | undefined {
  const { connection } = client as unknown as Partial<WiredClient>;
  const isSeen =
    typeof connection?.on === 'function' && typeof connection.removeListener === 'function';
  return isSeen ? connection : undefined;
}

/** What a `pg` client takes that it did not make: it calls `submit` when it is this one's turn, and then hands on what comes. */
export interface Submittable {
  submit(connection: Wire): Error | null;
}

/** A client whose wire can be used. */
export interface WiredClient {
  readonly connection: Wire;
  /** `I`, `T` or `E`: no transaction, one, one that has failed. As the last answer said. */
  getTransactionStatus(): string | null;
  query(query: Submittable): unknown;
}

/** Whether a transaction is open there, as the last answer said. */
export function isInside(client: WiredClient): boolean {
  const status = client.getTransactionStatus();
  return status === 'T' || status === 'E';
}

/**
 * The client, if it is one of the package `pg` that nobody wraps, and that sends one message at a time. What else has a
 * `query` of its own may take nothing but text there.
 */
export function wiredClient(client: PostgresClient): WiredClient | undefined {
  const wired: unknown = client;
  const { connection, getTransactionStatus, pipeline } = wired as Partial<
    WiredClient & { pipeline: unknown }
  >;
  const isWired =
    typeof connection?.stream?.write === 'function' &&
    typeof connection.on === 'function' &&
    typeof getTransactionStatus === 'function' &&
    pipeline !== true &&
    !Object.hasOwn(client, 'query');
  return isWired ? (wired as WiredClient) : undefined;
}

/** What the server said to one statement of an exchange. */
export interface StatementAnswer {
  /** Its command tag: `COMMIT`, `SELECT 1`. */
  readonly tag: string;
  /** The columns of its last row, as text. */
  readonly fields: readonly (string | null)[];
}

export type Settle<Answer> = (error: Error | null, answer?: Answer) => void;

/** One message of ours and its answer. */
class Exchange implements Submittable {
  /**
   * Called once. Looked for by the client, and wrapped by what traces its queries, where that looks at more than a `text`: such
   * as has none is a query without an end to some.
   */
  callback: Settle<StatementAnswer[]>;
  readonly #message: () => Uint8Array | Error;
  readonly #answers: StatementAnswer[] = [];
  #fields: readonly (string | null)[] = [];

  /** @param message is asked when all that was sent before has its answer. An error: nothing is sent, and it is the outcome. */
  constructor(message: () => Uint8Array | Error, callback: Settle<StatementAnswer[]>) {
    this.#message = message;
    this.callback = callback;
  }

  submit(connection: Wire): Error | null {
    const message = this.#message();
    if (message instanceof Error) return message;
    // In one piece: between two the server would wait for the rest without the limits that it keeps between messages.
    connection.stream.write(message);
    return null;
  }

  handleDataRow(message: { fields: (string | null)[] }): void {
    this.#fields = message.fields;
  }

  handleCommandComplete(message: { text: string }): void {
    this.#answers.push({ tag: message.text, fields: this.#fields });
    this.#fields = [];
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#answers);
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleRowDescription(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

/** Sends a message of ours in its turn. Rejects with what the client or the server says, as it is. */
export function exchange(
  client: WiredClient,
  own: Pick<TransactionAsk, 'runtime' | 'timeoutMs'>,
  message: () => Uint8Array | Error,
): Promise<StatementAnswer[]> {
  return answerTo(
    client,
    own,
    (settle: Settle<StatementAnswer[]>) => new Exchange(message, settle),
  );
}

/** Rejects with what the client or the server says, as it is. @param make is given what takes the answer. */
export function answerTo<Answer>(
  client: WiredClient,
  { runtime, timeoutMs }: Pick<TransactionAsk, 'runtime' | 'timeoutMs'>,
  make: (settle: Settle<Answer>) => Submittable,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = runtime.setTimer(timeoutMs, () => reject(new NoAnswerError(timeoutMs)));
    const settle: Settle<Answer> = (error, answer) => {
      timer.cancel();
      if (error) reject(error);
      else resolve(answer as Answer);
    };
    const sent = client.query(make(settle));
    // As of a `query` that was replaced for all clients by one that waits.
    if (sent instanceof Promise) sent.catch(settle);
  });
}
