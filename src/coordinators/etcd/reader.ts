import type {
  Deadline,
  EtcdClient,
  EtcdGet,
  EtcdKeyValue,
  KeyRange,
} from '../../drivers/etcd/index.js';
import { calledCount } from '../candidates.js';
import { groupOf } from '../names.js';
import type { EtcdKeys } from './keys.js';
import {
  getsAt,
  isBehindItself,
  type Own,
  type OwnWhereabouts,
  ownEntry,
  type Sought,
  usualWhereabouts,
  whereaboutsOf,
} from './own.js';
import { emptySpace, type SpaceValue, sessionAtMs, spaceValue } from './values.js';
import {
  type Facts,
  leaderOf,
  type NameKeys,
  type NameView,
  needsLife,
  noLease,
  overdueTerms,
  viewOf,
} from './view.js';

export type KeyPart = keyof NameKeys;

/** Some names at one revision of the store. */
export interface View {
  readonly names: ReadonlyMap<string, NameView>;
  readonly parts: readonly KeyPart[];
  readonly revision: number;
  readonly space: SpaceValue;
  readonly spaceKey: EtcdKeyValue | undefined;
  /** What stands there is not ours, so that nobody knows what terms are counted from: none is granted. */
  readonly isSpaceForeign: boolean;
  readonly facts: Facts;
}

export interface ReadOptions {
  readonly parts: readonly KeyPart[];
  /** Of what it matters how much time is left. */
  readonly times: 'none' | 'leaders' | 'candidates';
  readonly what: string;
  readonly deadline: Deadline;
  /** Whose entry of a name is looked at as well. */
  readonly sought?: ReadonlyMap<string, Sought> | undefined;
}

/** Most operations that a server takes in one transaction, unless told otherwise. */
export const longestTxn = 128;

/** Reads names as the rules need them: their keys in one transaction, then what the keys do not tell. */
export class Reader {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  readonly #whereabouts: OwnWhereabouts;

  constructor(client: EtcdClient, keys: EtcdKeys, whereabouts: OwnWhereabouts) {
    this.#client = client;
    this.#keys = keys;
    this.#whereabouts = whereabouts;
  }

  async read(names: readonly string[], options: ReadOptions): Promise<View> {
    const { parts, what, deadline } = options;
    const gets = names.flatMap((name) => parts.map((part) => this.#get(part, name)));
    const sought = [...(options.sought ?? [])];
    const ofOwn = sought.flatMap(([name, one]) => this.#ownGets(name, one));
    const before = parts.includes('first') ? this.#beforeGets(names) : [];
    const ofOthers = before.map((one) => one.get);
    const operations = [get({ key: this.#keys.space }), ...gets, ...ofOwn, ...ofOthers];
    const { revision, found, counts } = await this.#client.read(operations, what, deadline);
    const [[spaceKey] = [], ...rest] = found;
    const start = 1 + gets.length;
    const own = await this.#own(sought, found.slice(start), counts.slice(start), options);
    const views = names.map((name, index) => {
      const keys = parts.map((part, at) => [part, rest[index * parts.length + at] ?? []] as const);
      const others = before.flatMap(({ name: ofName, digest }, at) => {
        const key = found[start + ofOwn.length + at]?.[0]?.key;
        return ofName === name && key !== undefined ? [[digest, key] as const] : [];
      });
      return viewOf(name, Object.fromEntries(keys), own.get(name), new Map(others));
    });
    const known = spaceValue(spaceKey?.value);
    const space = known ?? emptySpace;
    const facts = await this.#facts(views, space, options);
    const byName = new Map(views.map((view) => [view.name, view]));
    const isSpaceForeign = known === undefined;
    return { names: byName, parts, revision, space, spaceKey, isSpaceForeign, facts };
  }

  /** The one before each of ours who wait for a name. */
  #beforeGets(names: readonly string[]): { name: string; digest: string; get: EtcdGet }[] {
    const all = names.flatMap((name) =>
      this.#whereabouts.waiting(name).map(([digest, key]) => {
        const range = this.#keys.waitingBefore(name, key);
        return { name, digest, get: { ...get(range), order: 'backwards', limit: 1 } as const };
      }),
    );
    // Who is left out watches as the first do, and is woken more often.
    return all.slice(0, longestTxn / 2);
  }

  #ownGets(name: string, sought: Sought): EtcdGet[] {
    const guess = this.#whereabouts.get(name, sought.holder);
    const whereabouts = guess ?? usualWhereabouts(this.#keys, name, sought);
    return [
      get(this.#keys.namesakes(name, sought.holder)),
      ...getsAt(this.#keys, name, whereabouts),
    ];
  }

  /** Where the entry tells of other keys than were looked at, those are looked at. */
  async #own(
    sought: readonly (readonly [string, Sought])[],
    found: readonly (readonly EtcdKeyValue[])[],
    counts: readonly number[],
    { what, deadline }: ReadOptions,
  ): Promise<Map<string, Own>> {
    const keys = this.#keys;
    const all = sought.map(([name, one], index) => {
      const entries = found[index * 3] ?? [];
      const entry = ownEntry(keys, name, one, entries);
      const looked = this.#whereabouts.get(name, one.holder) ?? usualWhereabouts(keys, name, one);
      const real = whereaboutsOf(keys, name, one, entry);
      const isCounted = real.end === undefined || looked.end === real.end;
      const isThere = isCounted && looked.queueKey === real.queueKey;
      const end = real.end ?? '';
      const less = isBehindItself(keys, name, one, entry, end) ? 1 : 0;
      return { name, one, entries, real, isThere, less, index };
    });
    const elsewhere = all.filter(({ isThere }) => !isThere);
    const gets = elsewhere.flatMap(({ name, real }) => getsAt(keys, name, real));
    const again = gets.length === 0 ? undefined : await this.#client.read(gets, what, deadline);
    return new Map(
      all.map(({ name, one, entries, real, isThere, less, index }) => {
        const at = isThere ? index * 3 + 1 : 2 * elsewhere.findIndex((other) => other.one === one);
        const keysThere = isThere ? found : (again?.found ?? []);
        const numbers = isThere ? counts : (again?.counts ?? []);
        const queued = real.queueKey === undefined ? undefined : keysThere[at]?.[0];
        return [name, { entries, queued, ahead: (numbers[at + 1] ?? 0) - less }] as const;
      }),
    );
  }

  /** The names of a group under which something of ours may stand. */
  async namesOf(group: string, what: string, deadline: Deadline): Promise<string[]> {
    const parts = ['held', 'after', 'suspended'] as const;
    const operations = parts.map((part) => get(this.#keys.partOfGroup(part, group)));
    const { found } = await this.#client.read(operations, what, deadline);
    const names = parts.flatMap((part, index) =>
      (found[index] ?? []).map(({ key }) => this.#keys.nameIn(part, key)),
    );
    const isInGroup = (name: string | undefined): name is string =>
      name !== undefined && groupOf(name) === group;
    return [...new Set(names.filter(isInGroup))];
  }

  #get(part: KeyPart, name: string): EtcdGet {
    if (part === 'queue') return get(this.#keys.queue(name));
    // Whoever leads has come first.
    if (part === 'front') return { ...get(this.#keys.queue(name)), order: 'created', limit: 3 };
    if (part === 'candidates') return get(this.#keys.candidates(name));
    if (part === 'first') return { ...get(this.#keys.waiting(name)), limit: calledCount };
    return get({ key: this.#keys.part(part, name) });
  }

  async #facts(
    views: readonly NameView[],
    { offset }: SpaceValue,
    { times, what, deadline }: ReadOptions,
  ): Promise<Facts> {
    const { runtime } = this.#client;
    const noted = new Set<string>();
    const asked = new Set<string>();
    for (const view of views) {
      const leader = leaderOf(view);
      for (const { term } of overdueTerms(view)) {
        const lease = view.history.leases[term];
        if (lease !== undefined) asked.add(lease);
      }
      if (leader === undefined && view.after && needsLife(view.after)) asked.add(view.after.lease);
      if (times === 'leaders' && leader !== undefined)
        (leader.value === undefined ? asked : noted).add(leader.kv.lease);
      if (times === 'candidates') for (const { lease } of view.candidateKeys) noted.add(lease);
    }
    asked.delete(noLease);
    noted.delete(noLease);
    const [sessions, lives] = await Promise.all([
      this.#sessions([...noted], what, deadline),
      this.#lives([...asked], what, deadline),
    ]);
    const randomHex = (bytes: number) => runtime.randomHex(bytes);
    return { wallMs: runtime.now().wallMs, offset, sessions, lives, randomHex };
  }

  async #sessions(leases: readonly string[], what: string, deadline: Deadline) {
    const sessions = new Map<string, number>();
    for (let start = 0; start < leases.length; start += longestTxn) {
      const some = leases.slice(start, start + longestTxn);
      const operations = some.map((lease) => get({ key: this.#keys.session(lease) }));
      const { found } = await this.#client.read(operations, what, deadline);
      for (const [index, lease] of some.entries())
        sessions.set(lease, sessionAtMs(found[index]?.[0]?.value));
    }
    return sessions;
  }

  async #lives(leases: readonly string[], what: string, deadline: Deadline) {
    const lives = new Map<string, { remaining: number; granted: number }>();
    await Promise.all(
      leases.map(async (lease) => {
        const life = await this.#client.timeToLive(lease, what, deadline);
        if (life !== undefined) lives.set(lease, life);
      }),
    );
    return lives;
  }
}

/** @param revision what stood there then. Default: now. */
export function get(range: KeyRange, revision?: number): EtcdGet {
  return { kind: 'get', range, revision };
}
