import { encodeName, validateName } from '../../coordinators/index.js';

/**
 * Where a namespace keeps its keys. The hash tag comes first, so that all are in one slot, and no text of a user can move
 * one: keys are encoded and stand behind it.
 */
export class OnceKeys {
  readonly #prefix: string;

  /** @throws {OptionError} if the namespace is not a name. */
  constructor(namespace: string) {
    this.#prefix = `{tenure-once:${encodeName(validateName(namespace, 'namespace'))}}`;
  }

  /** In whose slot all of them are. */
  get hashTag(): string {
    return this.#prefix;
  }

  /** Sorted set: the encoded keys that are started or unknown, by the deadline of their attempt. */
  get open(): string {
    return `${this.#prefix}:open`;
  }

  /** The beginning of {@link record}; the encoded key follows. */
  get records(): string {
    return `${this.#prefix}:key:`;
  }

  /** Hash: what is kept of a key. */
  record(key: string): string {
    return `${this.records}${encodeName(key)}`;
  }
}
