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
 * Where a name's lease and what belongs to it are, and until when (monotonic, ms) its entry in the group's index needs no
 * refresh.
 *
 * An entry says until when it must not be forgotten, and that moment moves with every renewal. Moving it in the store
 * each time would cost as much as the renewal itself, so it is set far ahead and moved only now and then.
 */
export interface Place {
  /** String with a TTL: a lease or a reservation. */
  readonly lease: string;
  /** List with a TTL: the lines of its history. */
  readonly history: string;
  /** Sorted set with a TTL: who waits, by digest. */
  readonly queue: string;
  /** Hash with a TTL: all candidates. */
  readonly candidates: string;
  readonly group: string;
  indexFreshUntilMs: number;
}

/** This client knows nothing of the entry: it is refreshed with the next renewal. */
export const notIndexed = Number.NEGATIVE_INFINITY;

/**
 * Where a namespace keeps its things. The hash tag comes first in every key, so that all keys of a namespace share one
 * slot, and no text of a user can move one: names are encoded and stand behind it.
 */
export class RedisKeys {
  readonly #prefix: string;
  /** Encoding 256 names costs more than the server takes to renew them, and it is the same names each time. */
  readonly #places = new Map<string, Place>();

  /** @throws {OptionError} if the namespace is not a name. */
  constructor(namespace: string) {
    this.#prefix = prefixOf(namespace);
  }

  /** String: the highest term the namespace ever granted. */
  get term(): string {
    return `${this.#prefix}:term`;
  }

  /** Hash: the suspended names as they are, each with who suspended it, when and why. */
  get suspended(): string {
    return `${this.#prefix}:suspended`;
  }

  /** String: that the server is a node of a quorum, for which these keys are kept, and by which numbers that counts. */
  get marker(): string {
    return `${this.#prefix}:member`;
  }

  place(name: string): Place {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    if (this.#places.size >= rememberedCount) this.#places.clear();
    const encoded = encodeName(name);
    const place = {
      lease: `${this.#prefix}:lease:${encoded}`,
      history: `${this.#prefix}:history:${encoded}`,
      queue: `${this.#prefix}:queue:${encoded}`,
      candidates: `${this.#prefix}:cand:${encoded}`,
      group: groupOf(name),
      indexFreshUntilMs: notIndexed,
    };
    this.#places.set(name, place);
    return place;
  }

  /** Sorted set with a TTL: the names of a group, each with the time at which it may be forgotten. */
  group(group: string): string {
    return `${this.#prefix}:group:${encodeName(group)}`;
  }

  /** Hash of `version` and `text`. */
  document(name: string): string {
    return `${this.#prefix}:doc:${encodeName(name)}`;
  }

  /** Channel: each message is a name of the group that was freed, granted with a history, or that an operator acted on. */
  wake(group: string): string {
    return `${this.#prefix}:wake:${encodeName(group)}`;
  }

  /** The beginning of the channels on which candidates are called; their digest follows. */
  get calls(): string {
    return `${this.#prefix}:call:`;
  }
}

/** Where some names are, and the indexes of their groups. */
export interface Location {
  readonly places: readonly Place[];
  readonly indexes: readonly string[];
  /** Each group once. */
  readonly groups: readonly string[];
  /** For every name the number (from 1) of its group. */
  readonly numbers: readonly number[];
}

export function locate(keys: RedisKeys, named: readonly { readonly name: string }[]): Location {
  const places = named.map(({ name }) => keys.place(name));
  const numberOf = new Map<string, number>();
  const numbers = places.map(({ group }) => {
    const number = numberOf.get(group) ?? numberOf.size + 1;
    numberOf.set(group, number);
    return number;
  });
  const groups = [...numberOf.keys()];
  return { places, indexes: groups.map((group) => keys.group(group)), groups, numbers };
}
