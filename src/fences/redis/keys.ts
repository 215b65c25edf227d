import { encodeName } from '../../coordinators/index.js';
import type { Effect } from '../rule.js';

/**
 * Where a fence keeps its things. The hash tag comes first in every key, so that all are in one slot, and no text of a user
 * can move one: names are encoded and stand behind it.
 */
export class FenceKeys {
  /** With its braces. */
  readonly hashTag: string;
  readonly #namespace: string;

  constructor(hashTag: string, namespace: string) {
    this.hashTag = `{${hashTag}}`;
    this.#namespace = encodeName(namespace);
  }

  /** String without a TTL: the installed term, `1|<term>|<digest of its holder>`. */
  term(name: string): string {
    return `${this.hashTag}:fence:${this.#namespace}:${encodeName(name)}`;
  }

  /** String: the id of the message that had this effect. */
  effect({ scope, key, seq }: Pick<Effect, 'scope' | 'key' | 'seq'>): string {
    return `${this.hashTag}:effect:${this.#namespace}:${encodeName(scope)}:${encodeName(key)}:${seq}`;
  }

  /** Whether a key is a fence's: no batch may touch it. */
  isOwn(key: string): boolean {
    return ['fence', 'effect'].some((part) => key.startsWith(`${this.hashTag}:${part}:`));
  }
}
