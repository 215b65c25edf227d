import { encodeName } from '../../coordinators/index.js';
import type { Effect } from '../rule.js';

/** A key as etcd has it: the bytes of its UTF-8, one character each. */
export function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Where a fence keeps its things: under a prefix that no other part of tenure uses. */
export class FenceKeys {
  readonly #all: string;
  readonly #own: string;

  /** @param prefix stands before every key, as `checkPrefix` lets it pass. */
  constructor(prefix: string, namespace: string) {
    this.#all = `${bytesOf(prefix)}:tenure-fence/1/`;
    this.#own = `${this.#all}${encodeName(namespace)}/`;
  }

  /** The installed term, `1|<term>|<digest of its holder>`. */
  term(name: string): string {
    return `${this.#own}term/${encodeName(name)}`;
  }

  /** The id of the message that had this effect. */
  effect({ scope, key, seq }: Effect): string {
    return `${this.#own}effect/${encodeName(scope)}/${encodeName(key)}/${seq}`;
  }

  /** Whether a key is a fence's: no batch may touch it. */
  isOwn(key: string): boolean {
    return key.startsWith(this.#all);
  }
}
