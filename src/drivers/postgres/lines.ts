import type { Known } from '../../errors/checks.js';
import type { EventSource } from '../../events/index.js';
import type { ServerClock } from '../../time/index.js';
import type { PostgresResult } from './client.js';

/** Something that runs one statement at a time: a connection, for as long as it is taken. */
export interface Line {
  /** What is known of the server's clock. */
  readonly clock: ServerClock;
  /** Rejects with what the client library says; with a `NoAnswerError` if there was no answer by `deadlineMs` (monotonic). */
  query<Row extends object>(
    text: string,
    values: unknown[],
    deadlineMs: number,
  ): Promise<PostgresResult<Row>>;
  /** Gives it back. Nothing may be under way on it. */
  done(): void;
  /** Gives it up: its state is not known, or it leads to the wrong server. */
  abandon(reason: string): void;
}

export interface LineEvents {
  /** Connected and checked. */
  connected: { readonly address: string };
  disconnected: { readonly address: string; readonly reason: string };
  /** Something a person should know that stops nothing. */
  warning: { readonly address: string; readonly message: string };
}

export const lineEventNames: Known<LineEvents> = {
  ...{ connected: true, disconnected: true, warning: true },
};

/** Where lines come from. */
export interface Lines extends EventSource<LineEvents> {
  readonly address: string;
  /**
   * The next free line to a server that was checked. Who is urgent comes before who is not.
   *
   * @throws {UnreachableError} none in time. @throws {StoreMisconfiguredError} @throws {ClosedError} @throws {OptionError}
   */
  take(what: string, deadlineMs: number, isUrgent: boolean): Promise<Line>;
  close(): Promise<void>;
}

/** What a server is asked before anything else, on every new connection. */
export interface ServerCheck {
  /** A statement that answers with one row, whose `now` is the server's Unix time in ms. */
  readonly text: string;
  /** @returns what a person should know. @throws {StoreMisconfiguredError} if the server cannot be used. */
  accept(row: Readonly<Record<string, unknown>>): readonly string[];
  /** A failure of the statement that says more than its SQLSTATE: a table that is missing. */
  explain(error: unknown): unknown;
}
