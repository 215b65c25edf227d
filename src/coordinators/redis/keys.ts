import { encodeName, groupOf, validateName } from '../names.js';

/** Matches the keys of a namespace's leases, and no others: an encoded name holds nothing that means something to it. */
export function leaseKeysPattern(namespace: string): string {
  return `${prefixOf(namespace)}:*`;
}

function prefixOf(namespace: string): string {
  return `{tenure:${encodeName(validateName(namespace, 'namespace'))}}`;
}

const rememberedCount = 4_096;

/**
 * Where a namespace keeps its things. The hash tag comes first in every key, so that all keys of a namespace share one
 * slot, and no text of a user can move one: names are encoded and stand behind it.
 */
export class RedisKeys {
  readonly #prefix: string;
  /** Encoding 256 names costs more than the server takes to renew them, and it is the same names each time. */
  readonly #leases = new Map<string, string>();

  /** @throws {OptionError} if the namespace is not a name. */
  constructor(namespace: string) {
    this.#prefix = prefixOf(namespace);
  }

  /** String: the highest term the namespace ever granted. */
  get term(): string {
    return `${this.#prefix}:term`;
  }

  /** String with a TTL: the lease or reservation of a name. */
  lease(name: string): string {
    const known = this.#leases.get(name);
    if (known !== undefined) return known;
    if (this.#leases.size >= rememberedCount) this.#leases.clear();
    const key = `${this.#prefix}:lease:${encodeName(name)}`;
    this.#leases.set(name, key);
    return key;
  }

  /** Sorted set with a TTL: the names of a group, each with the time at which it may be forgotten. */
  group(group: string): string {
    return `${this.#prefix}:group:${encodeName(group)}`;
  }

  /** Hash of `version` and `text`. */
  document(name: string): string {
    return `${this.#prefix}:doc:${encodeName(name)}`;
  }

  /** Channel: each message is a name of the group that was freed. */
  wake(group: string): string {
    return `${this.#prefix}:wake:${encodeName(group)}`;
  }
}

/** The groups of some names: each once, and for every name the number (from 1) of its group. */
export interface Grouping {
  readonly groups: readonly string[];
  readonly numbers: readonly number[];
}

export function groupNames(names: readonly string[]): Grouping {
  const numberOf = new Map<string, number>();
  const numbers = names.map((name) => {
    const group = groupOf(name);
    const number = numberOf.get(group) ?? numberOf.size + 1;
    numberOf.set(group, number);
    return number;
  });
  return { groups: [...numberOf.keys()], numbers };
}
