import { encodeName } from '../../coordinators/index.js';
import type { Effect } from '../rule.js';

/** Each write needs the key of its name, and most are of a few names. */
const keptKeys = 4_096;

/**
 * Where a fence keeps its things. The hash tag comes first in every key, so that all are in one slot, and no text of a user
 * can move one: names are encoded and stand behind it.
 */
export class FenceKeys {
  /** With its braces. */
  readonly hashTag: string;
  readonly #termPrefix: string;
  readonly #effectPrefix: string;
  /** What every key of a fence with this hash tag begins with. */
  readonly #ownPrefixes: readonly string[];
  readonly #terms = new Map<string, string>();

  constructor(hashTag: string, namespace: string) {
    this.hashTag = `{${hashTag}}`;
    const space = encodeName(namespace);
    this.#termPrefix = `${this.hashTag}:fence:${space}:`;
    this.#effectPrefix = `${this.hashTag}:effect:${space}:`;
    this.#ownPrefixes = [`${this.hashTag}:fence:`, `${this.hashTag}:effect:`];
  }

  /** String without a TTL: the installed term, `1|<term>|<digest of its holder>`. */
  term(name: string): string {
    let key = this.#terms.get(name);
    if (key === undefined) {
      key = this.#termPrefix + encodeName(name);
      if (this.#terms.size >= keptKeys) this.#terms.clear();
      this.#terms.set(name, key);
    }
    return key;
  }

  /** String: the id of the message that had this effect. */
  effect({ scope, key, seq }: Pick<Effect, 'scope' | 'key' | 'seq'>): string {
    return `${this.#effectPrefix}${encodeName(scope)}:${encodeName(key)}:${seq}`;
  }

  /** Whether a key is a fence's: no batch may touch it. */
  isOwn(key: string): boolean {
    return this.#ownPrefixes.some((prefix) => key.startsWith(prefix));
  }
}
