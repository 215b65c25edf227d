import { encodeName, validateName } from '../../coordinators/index.js';

/** The keys of one shard. They share a hash tag, which comes first, so they live on one node of a cluster. */
export interface ShardKeys {
  /** Stream: the unfinished messages. */
  readonly log: string;
  /** String without a TTL: whom the log obeys. */
  readonly owner: string;
  /** Hash: the last seq of every key, and whether it is sealed. */
  readonly keys: string;
  /** String with the dedupe window as its TTL: the seq under which this id of this key was accepted. */
  id(key: string, id: string): string;
}

/** Matches the keys of all topics of a namespace, and no others. */
export function streamKeysPattern(namespace: string): string {
  return `{tenure:${encodeName(validateName(namespace, 'namespace'))}:*`;
}

/** Where a topic keeps its things. No text of a user stands in a key unless it is encoded. */
export class StreamKeys {
  /** Channel: each message is the number of a shard whose log was empty. */
  readonly bell: string;
  /** String without a TTL: how many shards the topic has. */
  readonly topic: string;
  readonly #prefix: string;
  readonly #shards = new Map<number, ShardKeys>();

  /** @throws {OptionError} if the namespace or the topic is not a name. */
  constructor(namespace: string, topic: string) {
    const encodedNamespace = encodeName(validateName(namespace, 'namespace'));
    this.#prefix = `tenure:${encodedNamespace}:${encodeName(validateName(topic, 'topic'))}`;
    this.bell = `{${this.#prefix}}:bell`;
    this.topic = `{${this.#prefix}}:topic`;
  }

  shard(shard: number): ShardKeys {
    let keys = this.#shards.get(shard);
    if (keys === undefined) {
      const prefix = `{${this.#prefix}:s${shard}}`;
      keys = {
        log: `${prefix}:log`,
        owner: `${prefix}:owner`,
        keys: `${prefix}:keys`,
        id: (key, id) => `${prefix}:id:${encode(key)}:${encode(id)}`,
      };
      this.#shards.set(shard, keys);
    }
    return keys;
  }
}

/** Most keys and ids need no encoding, and every published message brings two. */
function encode(text: string): string {
  return /^[A-Za-z0-9._-]+$/.test(text) ? text : encodeName(text);
}
