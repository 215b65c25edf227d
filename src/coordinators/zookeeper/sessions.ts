import {
  errorCode,
  isZooKeeperError,
  Link,
  type ZooKeeperAddress,
  type ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import { StoreMisconfiguredError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import type { ZooKeeperPaths } from './paths.js';
import type { ServerClock } from './server-clock.js';

/** How long a session that nothing goes with any more is kept for the next. */
const idleSessionMs = 60_000;
const empty = Buffer.alloc(0);

export interface SessionsOptions {
  readonly runtime: Runtime;
  readonly address: ZooKeeperAddress;
  readonly paths: ZooKeeperPaths;
  readonly clock: ServerClock;
  readonly connectTimeoutMs: number;
}

export interface SessionsListener {
  /** There is a connection to it, and its node is there. */
  begun(session: LeaseSession): void;
  /** Its connection is lost; it goes on over another one, if that is in time. */
  lost(session: LeaseSession): void;
  /** The ensemble has ended it. */
  expired(session: LeaseSession): void;
}

/** A session that leases and candidates of one ttl go with: it lives as long as this process tells the ensemble so. */
export interface LeaseSession {
  readonly link: Link;
  readonly ttlMs: number;
  /** The last part of the path of its own node, which shows to others whether it lives. */
  readonly nonce: string;
  /** How many nodes go with it. */
  count: number;
  usedAtMs: number;
}

/**
 * The sessions of one coordinator.
 *
 * The *control* session has the smallest time-out that the ensemble grants, carries all reads, and the writes that neither
 * make nor renew a lease. It is thrown away with its connection. Every write of ours has its node, the *guard*, as a condition: once the guard is gone,
 * nothing that is still on its way can happen any more, over whatever connection. It goes by itself within that time-out
 * of a connection that hangs, and is deleted as soon as there is another.
 *
 * The *lease sessions* have the ttl as their time-out, and go on over new connections. What grants or renews a lease is
 * sent over its session's own connection, so that an answer proves that the session was alive when it was executed.
 */
export class Sessions {
  readonly control: Link;
  readonly #options: SessionsOptions;
  readonly #byTtl = new Map<number, LeaseSession>();
  readonly #guards = new WeakMap<ZooKeeperConnection, string>();
  readonly #staleGuards = new Set<string>();
  readonly #listener: SessionsListener;

  constructor(options: SessionsOptions, listener: SessionsListener) {
    this.#options = options;
    this.#listener = listener;
    this.control = this.#link(1, false, (connection) => this.#prepareControl(connection));
  }

  /** The node that a write over this control connection has as its condition. */
  guardOf(control: ZooKeeperConnection): string {
    const guard = this.#guards.get(control);
    if (guard === undefined) throw new Error('this is no control connection');
    return guard;
  }

  /** The session for leases of a ttl; it is begun when the first connection to it is asked for. */
  ofTtl(ttlMs: number): LeaseSession {
    const nowMs = this.#options.runtime.now().monotonicMs;
    const known = this.#byTtl.get(ttlMs);
    if (known !== undefined && !known.link.isOver) {
      known.usedAtMs = nowMs;
      return known;
    }
    this.#closeIdle(nowMs);
    const nonce = this.#options.runtime.randomHex(16);
    const link = this.#link(ttlMs, true, (connection) =>
      this.#prepareLease(connection, nonce, ttlMs),
    );
    const session: LeaseSession = { link, ttlMs, nonce, count: 0, usedAtMs: nowMs };
    this.#byTtl.set(ttlMs, session);
    link.on('expired', () => {
      if (this.#byTtl.get(ttlMs) === session) this.#byTtl.delete(ttlMs);
      this.#listener.expired(session);
    });
    link.on('ready', () => this.#listener.begun(session));
    link.on('lost', () => this.#listener.lost(session));
    return session;
  }

  /** One of ours, by the session that a node goes with. */
  owning(ephemeralOwner: bigint): LeaseSession | undefined {
    for (const session of this.#byTtl.values())
      if (session.link.sessionId === ephemeralOwner && !session.link.isOver) return session;
    return undefined;
  }

  byNonce(nonce: string): LeaseSession | undefined {
    for (const session of this.#byTtl.values()) if (session.nonce === nonce) return session;
    return undefined;
  }

  get live(): LeaseSession[] {
    return [...this.#byTtl.values()];
  }

  /** Leases go on for their time-outs; what is still on its way does not happen any more once this has arrived. */
  close(): void {
    this.control.close(true);
    for (const session of this.#byTtl.values()) session.link.close(session.count === 0);
    this.#byTtl.clear();
  }

  #closeIdle(nowMs: number): void {
    for (const [ttlMs, session] of this.#byTtl) {
      if (session.count > 0 || nowMs - session.usedAtMs < idleSessionMs) continue;
      session.link.close(true);
      this.#byTtl.delete(ttlMs);
    }
  }

  #link(
    sessionTimeoutMs: number,
    keepsSession: boolean,
    prepare: (connection: ZooKeeperConnection) => Promise<void>,
  ): Link {
    const { runtime, address, connectTimeoutMs } = this.#options;
    const { servers, login } = address;
    return new Link({
      runtime,
      servers,
      login,
      sessionTimeoutMs,
      connectTimeoutMs,
      keepsSession,
      prepare,
    });
  }

  async #prepareControl(connection: ZooKeeperConnection): Promise<void> {
    const { clock, paths, runtime } = this.#options;
    await this.#makeStandingNodes(connection);
    const stale = [...this.#staleGuards];
    await Promise.all(stale.map((path) => connection.delete(path).catch(unless(errorCode.noNode))));
    for (const path of stale) this.#staleGuards.delete(path);
    const path = paths.session(runtime.randomHex(16));
    const { stat } = await connection.create({ path, data: empty, ephemeral: true });
    clock.forget();
    if (stat !== undefined) clock.learn(stat.createdAtMs);
    this.#guards.set(connection, path);
    connection.onClosed(() => this.#staleGuards.add(path));
  }

  async #prepareLease(
    connection: ZooKeeperConnection,
    nonce: string,
    ttlMs: number,
  ): Promise<void> {
    const { sessionTimeoutMs } = connection;
    if (sessionTimeoutMs < ttlMs) {
      throw new StoreMisconfiguredError(
        `ZooKeeper grants sessions of ${sessionTimeoutMs} ms at most, and a lease of ${ttlMs} ms was asked for: raise maxSessionTimeout on every server, or lower the ttl and the option largestTtlMs.`,
      );
    }
    await this.#makeStandingNodes(connection);
    const path = this.#options.paths.session(nonce);
    await connection
      .create({ path, data: empty, ephemeral: true })
      .catch(unless(errorCode.nodeExists));
  }

  async #makeStandingNodes(connection: ZooKeeperConnection): Promise<void> {
    const { standing } = this.#options.paths;
    // Who may not make a node beside it is refused even if it is there.
    const areThere = await Promise.all(standing.map((path) => connection.exists(path)));
    for (const path of standing.filter((_, index) => areThere[index] !== true)) {
      await connection.create({ path, data: empty }).catch(unless(errorCode.nodeExists));
    }
  }
}

/** Lets these errors pass. */
export function unless(...codes: readonly number[]): (error: unknown) => undefined {
  return (error) => {
    if (isZooKeeperError(error, ...codes)) return undefined;
    throw error;
  };
}

/** What is asked beside a user's calls needs no time limit: a connection that hangs is ended by its pings. */
export const unbounded = {
  ask: <Answer>(_: ZooKeeperConnection, send: () => Promise<Answer>): Promise<Answer> => send(),
};
