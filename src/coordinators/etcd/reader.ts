import type {
  Deadline,
  EtcdClient,
  EtcdKeyValue,
  EtcdOperation,
  KeyRange,
} from '../../drivers/etcd/index.js';
import { groupOf } from '../names.js';
import type { EtcdKeys } from './keys.js';
import { type SpaceValue, sessionAtMs, spaceValue } from './values.js';
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
  readonly facts: Facts;
}

export interface ReadOptions {
  readonly parts: readonly KeyPart[];
  /** Of what it matters how much time is left. */
  readonly times: 'none' | 'leaders' | 'candidates';
  readonly what: string;
  readonly deadline: Deadline;
}

/** Most operations that a server takes in one transaction, unless told otherwise. */
export const longestTxn = 128;

/** Reads names as the rules need them: their keys in one transaction, then what the keys do not tell. */
export class Reader {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;

  constructor(client: EtcdClient, keys: EtcdKeys) {
    this.#client = client;
    this.#keys = keys;
  }

  async read(names: readonly string[], options: ReadOptions): Promise<View> {
    const { parts, what, deadline } = options;
    const gets = names.flatMap((name) => parts.map((part) => get(this.range(part, name))));
    const operations = [get({ key: this.#keys.space }), ...gets];
    const { revision, found } = await this.#client.read(operations, what, deadline);
    const [[spaceKey] = [], ...rest] = found;
    const views = names.map((name, index) => {
      const keys = parts.map((part, at) => [part, rest[index * parts.length + at] ?? []] as const);
      return viewOf(name, Object.fromEntries(keys));
    });
    const space = spaceValue(spaceKey?.value);
    const facts = await this.#facts(views, space, options);
    const byName = new Map(views.map((view) => [view.name, view]));
    return { names: byName, parts, revision, space, spaceKey, facts };
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

  range(part: KeyPart, name: string): KeyRange {
    if (part === 'queue') return this.#keys.queue(name);
    if (part === 'candidates') return this.#keys.candidates(name);
    return { key: this.#keys.part(part, name) };
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
export function get(range: KeyRange, revision?: number): EtcdOperation {
  return { kind: 'get', range, revision };
}
