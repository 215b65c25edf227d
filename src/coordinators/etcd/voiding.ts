import type { Deadline, EtcdClient } from '../../drivers/etcd/index.js';
import { type Instant, isBefore, withDeadline } from '../../time/index.js';
import type { EtcdKeys } from './keys.js';
import { get } from './reader.js';
import { emptySpace, write } from './values.js';

interface Round {
  readonly begunAt: Instant;
  readonly done: Promise<void>;
}

/**
 * Makes sure that what was sent and not answered is not executed any more. Whatever grants a name or lets somebody enter
 * compares the revision of the key that the namespace has in common: that one is written anew.
 */
export class Voiding {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  #last: Instant | undefined;
  #pending: Round | undefined;

  constructor(client: EtcdClient, keys: EtcdKeys) {
    this.#client = client;
    this.#keys = keys;
  }

  /**
   * Afterwards, nothing of what was sent before `since` can be executed that is not already. What others have under way
   * meanwhile is tried again by them.
   */
  async of(since: Instant, what: string, deadline: Deadline): Promise<void> {
    if (this.#last !== undefined && !isBefore(this.#last, since)) return;
    const pending = this.#pending;
    if (pending === undefined || isBefore(pending.begunAt, since))
      return await this.#begin(what, deadline);
    const leftMs = Math.max(1, this.#client.remainingMs(deadline));
    await withDeadline(this.#client.runtime, leftMs, what, pending.done);
  }

  #begin(what: string, deadline: Deadline): Promise<void> {
    const begunAt = this.#client.runtime.now();
    const done = this.#rewrite(what, deadline).then(() => {
      if (this.#last === undefined || isBefore(this.#last, begunAt)) this.#last = begunAt;
    });
    const round = { begunAt, done };
    this.#pending = round;
    const ended = () => {
      if (this.#pending === round) this.#pending = undefined;
    };
    done.then(ended, ended);
    return done;
  }

  /** If somebody else writes it meanwhile, that is as good. */
  async #rewrite(what: string, deadline: Deadline): Promise<void> {
    const key = this.#keys.space;
    const { found } = await this.#client.read([get({ key })], what, deadline);
    const [kv] = found[0] ?? [];
    const value = kv?.value ?? write(emptySpace);
    const compare = { range: { key }, mod: kv?.modRevision ?? 0 };
    const put = { kind: 'put', key, value, lease: '0' } as const;
    await this.#client.txn([compare], [put], what, deadline, true);
  }
}
