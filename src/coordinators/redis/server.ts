import type {
  Confirmation,
  RedisScript,
  RedisSession,
  Written,
} from '../../drivers/redis/index.js';
import { StoreMisconfiguredError } from '../../errors/index.js';
import type { RedisKeys } from './keys.js';
import { isOfQuorum, unlessOfQuorum } from './scripts/alone.js';

/** The one server that decides. A node of a quorum is none: each script sees that in the step in which it would act. */
export class DecidingServer {
  readonly session: RedisSession;
  readonly #keys: RedisKeys;

  constructor(session: RedisSession, keys: RedisKeys) {
    this.session = session;
    this.#keys = keys;
  }

  /** @throws {StoreMisconfiguredError} if the keys of the namespace are a quorum's there; and as `RedisConnection.run`. */
  async run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs: number,
  ): Promise<unknown> {
    const { connection } = this.session;
    const all = [...keys, this.#keys.marker];
    return this.#checked(await connection.run(unlessOfQuorum(script), all, args, timeoutMs));
  }

  /** @throws as {@link run}. */
  async runConfirmed(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    timeoutMs: number,
    confirmation: Confirmation,
  ): Promise<Written> {
    const { connection } = this.session;
    const all = [...keys, this.#keys.marker];
    const written = await connection.runConfirmed(
      unlessOfQuorum(script),
      all,
      args,
      timeoutMs,
      confirmation,
    );
    this.#checked(written.value);
    return written;
  }

  #checked(reply: unknown): unknown {
    if (reply !== isOfQuorum) return reply;
    throw new StoreMisconfiguredError(
      `${this.session.connection.address} is a node of a quorum: what it grants alone, the others do not know of (the key "${this.#keys.marker}" says so). Nothing was done. Use redis+quorum:// with all nodes, or another namespace.`,
    );
  }
}
