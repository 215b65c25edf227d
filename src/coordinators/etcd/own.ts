import type { EtcdGet, EtcdKeyValue } from '../../drivers/etcd/index.js';
import type { Holder } from '../holder.js';
import type { EtcdKeys } from './keys.js';
import { type CandidateValue, candidateValue } from './values.js';

/** Whose entry is looked at, and with which preference it is to wait, if it is. */
export interface Sought {
  readonly holder: Holder;
  readonly preference?: number | undefined;
  /** The store lease that the entry is to hang on, as far as there is one. */
  readonly leaseId?: string | undefined;
}

/** What is kept about one holder's entry. */
export interface Own {
  /** Its own, and those of its namesakes. */
  readonly entries: readonly EtcdKeyValue[];
  /** Its key in the queue that other programs see too. */
  readonly queued: EtcdKeyValue | undefined;
  /** How many are called before it, if it waits with the preference that it seeks. */
  readonly ahead: number;
}

/** Where to look for what an entry tells of. */
export interface Whereabouts {
  readonly queueKey: string | undefined;
  /** Who stands before this key is called before it; `undefined`: it does not wait. */
  readonly end: string | undefined;
}

/**
 * Where the entries of this coordinator's holders are, as far as it knows. If it is right, one reading tells everything;
 * if it is not, the entry itself tells where to look.
 */
export class OwnWhereabouts {
  readonly #byName = new Map<string, Map<string, Whereabouts>>();
  /** Those whose withdrawal has no answer: it may be executed yet, as long as the entry is as it was. */
  readonly #doubted = new WeakSet<Whereabouts>();

  get(name: string, { digest }: Pick<Holder, 'digest'>): Whereabouts | undefined {
    return this.#byName.get(name)?.get(digest);
  }

  /** The keys of those of ours who wait for the name, by their digests. */
  waiting(name: string): [digest: string, key: string][] {
    return [...(this.#byName.get(name) ?? [])].flatMap(([digest, { end }]) =>
      end === undefined ? [] : [[digest, end] as [string, string]],
    );
  }

  note(name: string, { digest }: Pick<Holder, 'digest'>, whereabouts: Whereabouts): void {
    const own = this.#byName.get(name) ?? new Map<string, Whereabouts>();
    this.#byName.set(name, own.set(digest, whereabouts));
  }

  /** The entry may be withdrawn by what was sent before. */
  doubt(name: string, holder: Pick<Holder, 'digest'>): void {
    const whereabouts = this.get(name, holder);
    if (whereabouts !== undefined) this.#doubted.add(whereabouts);
  }

  /** Whether it has to be written anew to stay. */
  isDoubted(name: string, holder: Pick<Holder, 'digest'>): boolean {
    const whereabouts = this.get(name, holder);
    return whereabouts !== undefined && this.#doubted.has(whereabouts);
  }

  forget(name: string, digest: string): void {
    const own = this.#byName.get(name);
    own?.delete(digest);
    if (own?.size === 0) this.#byName.delete(name);
  }
}

/** Where to look if nothing stands there yet. */
export function usualWhereabouts(keys: EtcdKeys, name: string, sought: Sought): Whereabouts {
  const { holder, preference, leaseId } = sought;
  const queueKey = leaseId && keys.queueKey(name, leaseId, holder.digest);
  return { queueKey, end: preference === undefined ? undefined : keys.classEnd(name, preference) };
}

/** Where to look by what the entry says, for who goes on to wait or begins to. */
export function whereaboutsOf(
  keys: EtcdKeys,
  name: string,
  sought: Sought,
  entry: CandidateValue | undefined,
): Whereabouts {
  const usual = usualWhereabouts(keys, name, sought);
  if (entry?.standing !== 'waiting') return usual;
  const { preference = entry.preference, holder } = sought;
  const end =
    sought.preference === undefined
      ? undefined
      : keys.waiter(name, preference, entry.since, holder.digest);
  return { queueKey: entry.queueKey ?? usual.queueKey, end };
}

export function ownEntry(
  keys: EtcdKeys,
  name: string,
  { holder }: Sought,
  entries: readonly EtcdKeyValue[],
): CandidateValue | undefined {
  const kv = entries.find(({ key }) => key === keys.candidate(name, holder));
  return kv && candidateValue(kv.value);
}

/** Its own key is none of those before it, be it there with a higher preference. */
export function isBehindItself(
  keys: EtcdKeys,
  name: string,
  { holder }: Sought,
  entry: CandidateValue | undefined,
  end: string,
): boolean {
  if (entry?.standing !== 'waiting') return false;
  return keys.waiter(name, entry.preference, entry.since, holder.digest) < end;
}

/** Two gets: of the key in the queue, and of the number of those before it. What there is none of is answered by nothing. */
export function getsAt(keys: EtcdKeys, name: string, { queueKey, end }: Whereabouts): EtcdGet[] {
  const { key } = keys.waiting(name);
  return [
    { kind: 'get', range: { key: queueKey ?? key } },
    end === undefined
      ? { kind: 'get', range: { key }, isCount: true }
      : { kind: 'get', range: keys.waitingBefore(name, end), isCount: true },
  ];
}
