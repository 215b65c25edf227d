import type {
  Confirmation,
  RedisScript,
  RedisSession,
  Written,
} from '../../drivers/redis/index.js';
import { OptionError, OutcomeUnknownError } from '../../errors/index.js';

export interface ReplicaOptions {
  /**
   * How many replicas must have a write before it counts: 0 (the default) to 64. A failover to one of them then forgets
   * nothing that counted. It needs as many replicas that are connected, whatever fails: without them nothing is granted or
   * renewed.
   *
   * Grants, renewals, documents and the acts of operators are confirmed; releases, handoffs and candidates' entries are not,
   * since what a failover forgets of those delays, and grants nothing to a second one.
   */
  readonly replicas?: number | undefined;
  /**
   * How long the replicas may take, from 1 ms to a minute; never more than half of what the call has left. Default 500 ms.
   * All that is sent on the connection meanwhile waits as well.
   */
  readonly replicaTimeoutMs?: number | undefined;
}

const mostReplicas = 64;
const defaultTimeoutMs = 500;
const longestTimeoutMs = 60_000;

/** @throws {OptionError} `undefined`: nothing is to be confirmed. */
export function checkReplicas(options: ReplicaOptions): Confirmation | undefined {
  const { replicas = 0, replicaTimeoutMs } = options;
  if (!Number.isInteger(replicas) || replicas < 0 || replicas > mostReplicas)
    throw new OptionError('replicas', replicas, 'is out of range', `use 0 to ${mostReplicas}`);
  if (replicaTimeoutMs === undefined)
    return replicas === 0 ? undefined : { replicas, replicaTimeoutMs: defaultTimeoutMs };
  if (replicas === 0)
    throw new OptionError(
      'replicaTimeoutMs',
      replicaTimeoutMs,
      'is given, and no replica is waited for',
      'leave it out, or say with `replicas` how many',
    );
  if (!(replicaTimeoutMs >= 1 && replicaTimeoutMs <= longestTimeoutMs))
    throw new OptionError(
      'replicaTimeoutMs',
      replicaTimeoutMs,
      'is out of range',
      `use 1 to ${longestTimeoutMs} milliseconds`,
    );
  return { replicas, replicaTimeoutMs };
}

type Server = Pick<RedisSession['connection'], 'run' | 'runConfirmed'>;

/** Runs the scripts whose effect must not be forgotten. */
export class RedisWrites {
  readonly #server: Server;
  readonly #confirmation: Confirmation | undefined;

  constructor(
    { connection }: { readonly connection: Server },
    confirmation: Confirmation | undefined,
  ) {
    this.#server = connection;
    this.#confirmation = confirmation;
  }

  /** What is missing of the confirmation is left to the caller. */
  async write(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs: number,
  ): Promise<Written> {
    if (this.#confirmation !== undefined)
      return this.#server.runConfirmed(script, keys, args, timeoutMs, this.#confirmation);
    const value = await this.#server.run(script, keys, args, timeoutMs);
    return { value, shortfall: Promise.resolve(undefined) };
  }

  /**
   * For what is right to be repeated until it is confirmed.
   *
   * @throws {OutcomeUnknownError} if it was executed, and too few replicas have it.
   */
  async run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs: number,
  ): Promise<unknown> {
    const { value, shortfall } = await this.write(script, keys, args, timeoutMs);
    const missing = await shortfall;
    if (missing !== undefined) throw notConfirmed(script.name, missing);
    return value;
  }
}

export function notConfirmed(what: string, missing: string): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `${what} was executed, but a failover may forget it: ${missing}. Try again; bring its replicas back if that goes on.`,
  );
}
