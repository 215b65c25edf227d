import type { Runtime } from '../../time/index.js';
import type { Endpoint } from '../endpoint.js';

/**
 * What tenure asks of a client for one socket: the shape of ioredis (5 or later), structural, so that a user's own copy
 * fits whatever its exact version. `node-redis.ts` gives node-redis the same shape.
 */
export interface RedisClient {
  /** `ready` while commands can be sent. */
  readonly status: string;
  /** The socket, once there is one. */
  readonly stream?: RedisStream | null;
  connect(): Promise<unknown>;
  disconnect(): void;
  /** Command names in lower case: a subscription is told by its name. An error reply rejects with a `ReplyError`. */
  call(command: string, args: (string | number)[]): Promise<unknown>;
  /**
   * `call` at a lower price, where the client offers one; not for subscriptions, whose answers are several. Nothing is told
   * within this call but that it was not sent.
   */
  sendTaking?(command: string, args: (string | number)[], taker: ReplyTaker): void;
  /** `error`, `end` and, of a subscription, `message`. */
  on(event: string, listener: (...values: never[]) => void): unknown;
}

/** Takes what the server answers to one command, as the promise of `call` would. */
export interface ReplyTaker {
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

/** `call` for a taker. */
export function callTaking(
  client: RedisClient,
  command: string,
  args: (string | number)[],
  taker: ReplyTaker,
): void {
  client.call(command, args).then(
    (reply) => taker.resolve(reply),
    (error: Error) => taker.reject(error),
  );
}

export interface RedisStream {
  /** Rather than ended, so that nothing buffered leaves after we gave up. */
  destroy(): unknown;
  /** Until `uncork` what is written is kept, and then leaves as one. */
  cork?(): void;
  uncork?(): void;
}

/**
 * A user's client of ioredis (5 or later) or node-redis (5 or later), for a single server or a cluster; of ioredis also
 * one with sentinels. Only its options are used: its own connections may queue, resend and retry, and none of them is
 * used, changed or closed.
 */
export interface DuplicableRedisClient {
  duplicate(overrides?: object): unknown;
}

/** One server. */
export interface RedisNode {
  /** Where it is, for messages; holds no credentials. */
  readonly address: string;
  /** For messages, where the address does not begin with `rediss:`. */
  readonly isTls?: boolean;
  /** Makes a client, not yet connected, that connects once and never by itself again. */
  open(connectTimeoutMs: number): Promise<RedisClient>;
}

/** How many servers stand behind a URL or a client, and who says which of them is to be asked. */
export type Topology = 'single' | 'sentinel' | 'cluster';

/** Where connections come from. */
export interface RedisSource {
  readonly topology: Topology;
  /** What was configured, for messages; holds no credentials. */
  readonly address: string;
  /**
   * The servers to try now, the best guess first, at least one. Each may be the wrong one: whoever connects has to ask
   * it for its role.
   *
   * @throws {TenureError} that says why none was found.
   */
  locate(search: Search): Promise<readonly RedisNode[]>;
}

export interface Search {
  readonly runtime: Runtime;
  /** By when (monotonic) a connection is to be up: the search itself takes half of the time at most. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** A key: on a cluster, the node that owns its slot is looked for. */
  readonly slotKey: string;
  /** Where the last node sent us. */
  readonly movedTo?: Endpoint | undefined;
}

/** A command that was certainly not written to the socket. */
export class NotSentError extends Error {}
