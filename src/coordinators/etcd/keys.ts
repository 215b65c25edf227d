import { createHash } from 'node:crypto';
import { type KeyRange, withPrefix } from '../../drivers/etcd/index.js';
import { OptionError } from '../../errors/index.js';
import type { Holder } from '../holder.js';
import { encodeName } from '../names.js';

/** Which part of what is kept of a name. */
export type Part = 'held' | 'after' | 'suspended' | 'history' | 'document';

/**
 * Where everything stands.
 *
 * Candidates of a name queue under `<election>/`, as those of `etcdctl elect <election>` do. All else is under a prefix
 * that no name or namespace can begin with: an encoded one holds no colon.
 *
 * Nothing of one prefix and namespace stands among what another one reads. A key begins with a slash if it has a prefix, and
 * only then, and the prefix ends before its first colon. Behind it no two begin alike: an encoded name or namespace holds
 * neither slash nor colon.
 */
export class EtcdKeys {
  readonly #prefix: string;
  readonly #namespace: string;
  readonly #control: string;

  /**
   * @param prefix stands before every key: see {@link checkPrefix}.
   * @throws {OptionError}
   */
  constructor(prefix: string, namespace: string) {
    this.#prefix = Buffer.from(checkPrefix(prefix), 'utf8').toString('latin1');
    this.#namespace = namespace;
    this.#control = `${this.#prefix}:tenure/1/${encodeName(namespace)}/`;
  }

  /** What to pass to `etcdctl elect`. Without a prefix, in the default namespace, a plain name is its own election. */
  election(name: string): string {
    const prefix = this.#prefix === '' ? '' : `${this.#prefix}:`;
    const isPlain = prefix === '' && this.#namespace === 'default';
    const space = isPlain ? '' : `${encodeName(this.#namespace)}:`;
    return `${prefix}${space}${encodeName(name)}`;
  }

  /** Everybody who leads or waits for the name, in the order of the creation of their keys. */
  queue(name: string): KeyRange {
    return withPrefix(`${this.election(name)}/`);
  }

  queueKey(name: string, leaseId: string, suffix: string): string {
    return `${this.election(name)}/${BigInt(leaseId).toString(16)}-${suffix}`;
  }

  part(part: Part, name: string): string {
    return `${this.#control}${part}/${encodeName(name)}`;
  }

  /** The part of every name of the group, and of those in groups below it. */
  partOfGroup(part: Part, group: string): KeyRange {
    const below = group === '' ? '' : `${encodeName(group)}%2F`;
    return withPrefix(`${this.#control}${part}/${below}`);
  }

  /** The name in a key of a part; `undefined` if it is none of ours. */
  nameIn(part: Part, key: string): string | undefined {
    const start = `${this.#control}${part}/`;
    return key.startsWith(start) ? decode(key.slice(start.length)) : undefined;
  }

  candidates(name: string): KeyRange {
    return withPrefix(`${this.#control}candidate/${encodeName(name)}/`);
  }

  candidate(name: string, { id, digest }: Holder): string {
    return `${this.#control}candidate/${encodeName(name)}/${tagOf(id)}/${digest}`;
  }

  /** The entries of holders of the same id; hardly ever of another one, too. */
  namesakes(name: string, { id }: Holder): KeyRange {
    return withPrefix(`${this.#control}candidate/${encodeName(name)}/${tagOf(id)}/`);
  }

  /** Who waits, in the order in which they are called. */
  waiting(name: string): KeyRange {
    return withPrefix(`${this.#control}waiting/${encodeName(name)}/`);
  }

  /** @param since a revision: who begins later stands behind. */
  waiter(name: string, preference: number, since: number, digest: string): string {
    const revision = since.toString(16).padStart(14, '0');
    return `${this.#class(name, preference)}${revision}-${digest}`;
  }

  /** Those who are called before this key. */
  waitingBefore(name: string, key: string): KeyRange {
    return { key: this.waiting(name).key, end: key };
  }

  /** Behind all who wait with this preference. */
  classEnd(name: string, preference: number): string {
    return withPrefix(this.#class(name, preference)).end ?? '';
  }

  #class(name: string, preference: number): string {
    return `${this.waiting(name).key}${String(99 - preference).padStart(2, '0')}-`;
  }

  /** When a store lease was last extended. */
  session(leaseId: string): string {
    return `${this.#control}session/${BigInt(leaseId).toString(16)}`;
  }

  /** What the whole namespace has in common. */
  get space(): string {
    return `${this.#control}namespace`;
  }
}

const longestPrefixBytes = 1_024;

/**
 * Empty, or a slash and what follows it: up to 1 KiB that UTF-8 can hold (half a surrogate pair has no such form, so that all
 * of them would be one prefix), without a colon.
 *
 * @throws {OptionError} naming `option`.
 */
export function checkPrefix(prefix: string, option = 'prefix'): string {
  const isText = typeof prefix === 'string' && prefix.isWellFormed();
  if (!isText || Buffer.byteLength(prefix) > longestPrefixBytes) {
    const remedy = `use at most ${longestPrefixBytes} bytes of UTF-8 text`;
    throw new OptionError(option, prefix, 'is no text for keys or too long', remedy);
  }
  if (prefix === '' || /^\/[^:]*$/.test(prefix)) return prefix;
  const remedy = 'begin it with a slash and leave colons out, as in /apps/one/';
  throw new OptionError(option, prefix, 'could meet keys of others', remedy);
}

function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** Brings those of one id together, whatever characters and however many it has. */
function tagOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16);
}
