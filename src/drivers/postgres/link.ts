import { Socket } from 'node:net';
import { ofKind } from '../../errors/kinds.js';
import { onAbort } from '../../events/index.js';
import type { Runtime, Timer } from '../../time/index.js';
import { NoAnswerError, withDeadline } from '../deadline.js';
import type { PostgresResult } from './client.js';
import { importPg, type PgClient } from './pg-package.js';

export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

/**
 * One connection of our own, from its opening to its end.
 *
 * The socket is ours, so that it can be given up at once, whatever the client library waits for. A statement that is not
 * answered in time ends the connection: a late answer must not meet the next question.
 */
export class PostgresLink {
  readonly #client: PgClient;
  readonly #socket: Socket;
  readonly #runtime: Runtime;
  readonly #endListeners: ((reason: string) => void)[] = [];
  #endReason: string | undefined;
  #isBusy = false;

  private constructor(client: PgClient, socket: Socket, runtime: Runtime) {
    this.#client = client;
    this.#socket = socket;
    this.#runtime = runtime;
    // Without a listener the event would end the process; what it says, the end of the link says as well.
    client.on('error', (error) => this.end(error.message));
    client.on('end', () => this.end('the server closed the connection'));
    socket.on('close', () => this.end('the connection was closed'));
  }

  /**
   * Connects and logs in.
   *
   * @throws whatever the client library says, or why the connection ended; {@link NoAnswerError} after `timeoutMs`.
   */
  static async open(
    url: string,
    runtime: Runtime,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<PostgresLink> {
    const pg = await importPg();
    const socket = new Socket();
    const client = new pg.Client({
      connectionString: url,
      stream: () => socket,
      // The only setting that is sent along: poolers refuse those that they do not know.
      application_name: 'tenure',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    const link = new PostgresLink(client, socket, runtime);
    const stop = onAbort(signal, () => link.end('it was closed here'));
    let timer: Timer | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        link.onEnd((reason) => reject(new Error(reason)));
        timer = runtime.setTimer(timeoutMs, () => reject(new NoAnswerError(timeoutMs)));
        client.connect().then(resolve, reject);
      });
      return link;
    } catch (error) {
      link.end('it could not be opened');
      throw error;
    } finally {
      timer?.cancel();
      stop();
    }
  }

  get isAlive(): boolean {
    return this.#endReason === undefined;
  }

  /** What the server, or a pooler in between, said was the number of the process that serves us. */
  get processId(): number | undefined {
    return this.#client.processID ?? undefined;
  }

  /**
   * Runs one statement; one at a time. Rejects with what the client library says; a {@link NoAnswerError} if there was no
   * answer by `deadlineMs` (monotonic), or the connection was lost.
   */
  async query<Row extends object>(
    text: string,
    values: unknown[],
    deadlineMs: number,
  ): Promise<PostgresResult<Row>> {
    if (this.#isBusy) throw new Error('a link runs one statement at a time');
    this.#isBusy = true;
    const timeoutMs = Math.max(0, deadlineMs - this.#runtime.now().monotonicMs);
    try {
      const answer = this.#orEnd(this.#client.query<Row>(text, values));
      return await withDeadline(this.#runtime, timeoutMs, answer);
    } catch (error) {
      if (error instanceof NoAnswerError) this.end(error.message);
      throw error;
    } finally {
      this.#isBusy = false;
    }
  }

  /** The client library may never settle a query whose socket was destroyed here. */
  #orEnd<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const leave = this.onEnd((reason) =>
        reject(ofKind('reset', new Error(`the connection was lost: ${reason}`))),
      );
      promise.then(resolve, reject).finally(leave);
    });
  }

  onNotification(listener: (notification: Notification) => void): void {
    this.#client.on('notification', ({ channel, payload = '' }) => listener({ channel, payload }));
  }

  /** Calls `ended` once, at once if it has ended already. @returns takes that back. */
  onEnd(ended: (reason: string) => void): () => void {
    if (this.#endReason !== undefined) {
      ended(this.#endReason);
      return () => {};
    }
    this.#endListeners.push(ended);
    return () => {
      const index = this.#endListeners.indexOf(ended);
      if (index >= 0) this.#endListeners.splice(index, 1);
    };
  }

  /** Gives the connection up. What was asked on it has no answer any more. Safe to call twice. */
  end(reason: string): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    this.#socket.destroy();
    this.#client.end().catch(() => {});
    for (const ended of this.#endListeners.splice(0)) ended(reason);
  }
}
