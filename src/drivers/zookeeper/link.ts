import { kindOfServers } from '../../errors/error-kind.js';
import { StoreMisconfiguredError, type TenureError } from '../../errors/index.js';
import { carriedKind, type ErrorKind } from '../../errors/kinds.js';
import { Emitter, type Unsubscribe } from '../../events/index.js';
import { Backoff, type Runtime, type Timer } from '../../time/index.js';
import type { Endpoint } from '../endpoint.js';
import { type SessionTicket, ZooKeeperConnection } from './connection.js';
import { refusal, SessionExpiredError, ZooKeeperError } from './errors.js';

export interface LinkOptions {
  readonly runtime: Runtime;
  readonly servers: readonly Endpoint[];
  readonly login: string | undefined;
  readonly sessionTimeoutMs: number;
  /** How long one attempt to have a session may take; less if it goes on with one that would end meanwhile. */
  readonly connectTimeoutMs: number;
  /**
   * `true`: after a lost connection the same session goes on over another one, until the server says that it is over.
   * `false`: each connection has a session of its own.
   */
  readonly keepsSession: boolean;
  /** What has to be done on a new connection before others may use it. */
  prepare(connection: ZooKeeperConnection): Promise<void>;
}

export interface LinkEvents {
  readonly ready: ZooKeeperConnection;
  readonly lost: { readonly reason: string };
  /** With `keepsSession`: the session is over, and this link with it. */
  readonly expired: undefined;
}

/** Why no server of an ensemble can be had. */
export interface LinkFailure {
  /** Of each that was tried, parted by semicolons. */
  readonly says: string;
  readonly kind: ErrorKind | undefined;
}

interface Waiter {
  resolve(connection: ZooKeeperConnection): void;
  reject(error: Error): void;
}

/**
 * Keeps one connection to one server of an ensemble, and finds another server when it is lost.
 *
 * It connects when somebody needs it, and after that stays connected: until it is closed, or its session is over.
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #events = new Emitter<LinkEvents>({ ready: true, lost: true, expired: true });
  readonly #waiters = new Set<Waiter>();
  readonly #backoff: Backoff;
  #connection: ZooKeeperConnection | undefined;
  #ticket: SessionTicket | undefined;
  #nextServer: number;
  #isConnecting = false;
  #isOver = false;
  #pauseTimer: Timer | undefined;
  /** By server. */
  readonly #failures = new Map<string, Error>();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#nextServer = Math.floor(options.runtime.random() * options.servers.length);
    this.#backoff = new Backoff(options.runtime, { firstMs: 20, limitMs: 500 });
  }

  on<Name extends keyof LinkEvents>(
    name: Name,
    listener: (event: LinkEvents[Name]) => void,
  ): Unsubscribe {
    return this.#events.on(name, listener);
  }

  /** The connection, if there is one that was prepared. */
  get connection(): ZooKeeperConnection | undefined {
    return this.#connection;
  }

  get sessionId(): bigint | undefined {
    return this.#ticket?.id;
  }

  /** Closed, or its session is over. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why the last attempts to connect failed, of each server that was tried since there was a connection. */
  get failure(): LinkFailure | undefined {
    if (this.#failures.size === 0) return undefined;
    const failures = [...this.#failures.values()];
    return {
      says: failures.map(({ message }) => message).join('; '),
      kind: kindOfServers(failures.map((failure) => carriedKind(failure))),
    };
  }

  /** Waits for a connection for as long as it takes: bound it. Take the waiter back with `forget`. */
  ready(): { readonly connection: Promise<ZooKeeperConnection>; forget(): void } {
    if (this.#connection !== undefined)
      return { connection: Promise.resolve(this.#connection), forget: () => {} };
    if (this.#isOver)
      return {
        connection: Promise.reject(new SessionExpiredError('the session is over')),
        forget: () => {},
      };
    let waiter: Waiter | undefined;
    const connection = new Promise<ZooKeeperConnection>((resolve, reject) => {
      waiter = { resolve, reject };
      this.#waiters.add(waiter);
    });
    this.#connect();
    return { connection, forget: () => waiter && this.#waiters.delete(waiter) };
  }

  /** @param endSession `false`: what goes with the session stays until its time-out. */
  close(endSession: boolean): void {
    this.#isOver = true;
    this.#pauseTimer?.cancel();
    this.#events.removeAll();
    if (endSession) this.#connection?.endSession();
    else this.#connection?.destroy('it was closed here');
    this.#connection = undefined;
    this.#rejectAll(new SessionExpiredError('it was closed here'));
  }

  #connect(): void {
    if (this.#isConnecting || this.#isOver || this.#connection !== undefined) return;
    this.#isConnecting = true;
    const { servers } = this.#options;
    const server = servers[this.#nextServer++ % servers.length] as Endpoint;
    this.#open(server).then(
      (connection) => this.#connected(connection),
      (error: Error) => this.#failed(server, error),
    );
  }

  async #open(server: Endpoint): Promise<ZooKeeperConnection> {
    const { runtime, login, sessionTimeoutMs, connectTimeoutMs } = this.#options;
    const connection = await ZooKeeperConnection.open({
      runtime,
      server,
      login,
      sessionTimeoutMs,
      connectTimeoutMs:
        this.#ticket === undefined
          ? connectTimeoutMs
          : Math.min(connectTimeoutMs, sessionTimeoutMs / 4),
      ticket: this.#ticket,
    });
    if (this.#options.keepsSession) this.#ticket = connection.ticket;
    try {
      // A session that hangs while it is prepared is ended by its own pings.
      await this.#options.prepare(connection);
    } catch (error) {
      connection.destroy('it could not be prepared');
      throw error;
    }
    return connection;
  }

  #connected(connection: ZooKeeperConnection): void {
    this.#isConnecting = false;
    if (this.#isOver) {
      connection.destroy('it was closed here');
      return;
    }
    this.#backoff.reset();
    this.#failures.clear();
    this.#connection = connection;
    connection.onClosed((reason) => this.#lost(connection, reason));
    if (this.#connection !== connection) return;
    for (const waiter of this.#waiters) waiter.resolve(connection);
    this.#waiters.clear();
    this.#events.emit('ready', connection);
  }

  #lost(connection: ZooKeeperConnection, reason: string): void {
    if (this.#connection !== connection || this.#isOver) return;
    this.#connection = undefined;
    this.#events.emit('lost', { reason });
    this.#connect();
  }

  #failed(server: Endpoint, error: Error): void {
    this.#isConnecting = false;
    if (this.#isOver) return;
    this.#failures.set(`${server.host}:${server.port}`, error);
    if (error instanceof SessionExpiredError && this.#options.keepsSession) {
      this.#isOver = true;
      this.#events.emit('expired', undefined);
      this.#rejectAll(error);
      return;
    }
    const verdict = error instanceof ZooKeeperError ? refusal('connecting', error) : error;
    // Nothing gets better by itself: whoever waits is told, and whoever comes next tries again.
    if (verdict instanceof StoreMisconfiguredError) {
      this.#rejectAll(verdict as TenureError);
      return;
    }
    this.#pauseTimer = this.#options.runtime.setTimer(
      this.#backoff.nextMs(),
      () => this.#connect(),
      { keepsProcessAlive: this.#waiters.size > 0 },
    );
  }

  #rejectAll(error: Error): void {
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
  }
}
