import type { Answer } from '../../drivers/postgres/index.js';
import { RecordCorruptError, StoreRefusedError, tooLateCode } from '../../errors/index.js';
import type {
  AcquireRequest,
  AcquireResult,
  CallOptions,
  CoordinatorPromises,
  EndResult,
  HandoffRequest,
  NotYours,
  ReleaseRequest,
  RenewRequest,
  RenewResult,
} from '../contract.js';
import type { Holder } from '../holder.js';
import type { LeaseRecord } from '../record.js';
import {
  checkAcquires,
  checkGroup,
  checkHandoffs,
  checkNames,
  checkReleases,
  checkRenewals,
  checkTimeout,
} from '../requests.js';
import { parseObstacle, parseSeen, type Seen } from './record.js';
import type { LeaseStore } from './store.js';

/** Takes, extends, ends and reads leases. */
export class PostgresLeases {
  readonly #store: LeaseStore;
  readonly #limits: CoordinatorPromises;
  readonly #events: LeaseReports;
  /** After which name the next sweep begins. */
  #swept = '';

  constructor(store: LeaseStore, limits: CoordinatorPromises, events: LeaseReports) {
    this.#store = store;
    this.#limits = limits;
    this.#events = events;
  }

  async acquire(requests: readonly AcquireRequest[], call: CallOptions): Promise<AcquireResult[]> {
    const checked = checkAcquires(requests, this.#limits);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    const values = [
      this.#store.channel,
      checked.map(({ name }) => name),
      checked.map(({ holder }) => holder.wire),
      checked.map(({ attempt }) => attempt),
      checked.map(({ ttlMs }) => whole(ttlMs)),
      checked.map(({ graceMs = 0 }) => whole(graceMs)),
      checked.map(({ metadata }) => metadata ?? null),
      checked.map(({ above }) => above ?? null),
      checked.map(({ keepHistory = false }) => keepHistory),
      this.#swept,
    ];
    let answer: AcquireAnswer;
    try {
      answer = await this.#store.write('acquire', values, timeoutMs);
    } catch (error) {
      if (!(error instanceof StoreRefusedError && error.storeCode === tooLateCode)) throw error;
      return checked.map(() => ({ outcome: 'too-late' }));
    }
    if (answer.exhausted !== undefined) throw exhausted(answer.exhausted);
    this.#swept = answer.swept ?? '';
    this.#tellMended(answer);
    return answer.answers.map((one, index) => this.#answer(values[1]?.[index] as string, one));
  }

  #answer(name: string, answer: GrantAnswer): AcquireResult {
    if (answer[0] === 'granted') return { outcome: 'granted', term: answer[1] };
    const current = answer[0] === 'held' ? parseObstacle(answer[1]) : undefined;
    if (current !== undefined) {
      this.#events.shown(name);
      return { outcome: 'held', current };
    }
    const detail = foreignDetail(name);
    this.#events.corrupt(name, detail);
    return { outcome: 'corrupt', detail };
  }

  async renew(requests: readonly RenewRequest[], call: CallOptions): Promise<RenewResult[]> {
    const checked = checkRenewals(requests, this.#limits);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    const sorted = byName(checked);
    const { names, holders, terms, ttls, metadatas } = renewalColumns(sorted);
    const values = [names, one(holders), one(terms), one(ttls), metadatas];
    const answer = await this.#store.write<RenewAnswer>('renew', values, timeoutMs, true);
    const results = new Array<RenewResult>(checked.length).fill(renewed);
    for (const [place, why] of answer.failed ?? []) {
      const index = checked.indexOf(sorted[place - 1] as RenewRequest);
      results[index] = { outcome: 'not-yours', reason: why ?? 'superseded' };
    }
    return results;
  }

  async release(requests: readonly ReleaseRequest[], call: CallOptions): Promise<EndResult[]> {
    return await this.#finish(checkReleases(requests), checkTimeout(call));
  }

  async handoff(requests: readonly HandoffRequest[], call: CallOptions): Promise<EndResult[]> {
    return await this.#finish(checkHandoffs(requests, this.#limits), checkTimeout(call));
  }

  async #finish(
    requests: readonly (ReleaseRequest | HandoffRequest)[],
    timeoutMs: number,
  ): Promise<EndResult[]> {
    if (requests.length === 0) return [];
    const values = [
      this.#store.channel,
      requests.map(({ name }) => name),
      requests.map(({ holder }) => holder.wire),
      requests.map((request) => ('attempt' in request ? null : request.term)),
      requests.map((request) => ('attempt' in request ? request.attempt : null)),
      requests.map((request) => ('to' in request ? null : (request.reason ?? 'released'))),
      requests.map((request) => ('to' in request ? request.to : null)),
      requests.map((request) => ('to' in request ? whole(request.reserveMs) : null)),
    ];
    const answer = await this.#store.write<FinishAnswer>('finish', values, timeoutMs);
    return answer.answers.map((one) =>
      one === 'ended' ? { outcome: 'ended' } : { outcome: 'not-yours', reason: one },
    );
  }

  async read(names: readonly string[], call: CallOptions): Promise<(LeaseRecord | undefined)[]> {
    const checked = checkNames(names);
    const timeoutMs = checkTimeout(call);
    if (checked.length === 0) return [];
    const answer = await this.#store.read<ReadAnswer>('read', [checked], timeoutMs);
    this.#tellMended(answer);
    return answer.answers.map((seen, index) => {
      const record = parseSeen(seen);
      if (record === undefined) throw new RecordCorruptError(foreignDetail(checked[index] ?? ''));
      if (record === 'free') return undefined;
      this.#events.shown(record.name);
      return record;
    });
  }

  async list(group: string, call: CallOptions): Promise<LeaseRecord[]> {
    const values = [checkGroup(group)];
    const answer = await this.#store.read<ReadAnswer>('list', values, checkTimeout(call));
    this.#tellMended(answer);
    const records: LeaseRecord[] = [];
    for (const seen of answer.answers) {
      const record = parseSeen(seen);
      if (record === undefined) this.#events.corrupt(seen?.name ?? '', 'a row that is no lease');
      else if (record !== 'free') records.push(record);
    }
    for (const { name } of records) this.#events.shown(name);
    return records.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  #tellMended({ mended }: MendingAnswer): void {
    for (const name of mended ?? []) this.#events.repaired(name);
  }
}

/** What else is noticed along the way. */
export interface LeaseReports {
  corrupt(name: string, detail: string): void;
  repaired(name: string): void;
  /** The caller is shown that something stands there. */
  shown(name: string): void;
}

/** Of a function that cuts deadlines down. */
export interface MendingAnswer extends Answer {
  /** The names of those; null: none. */
  readonly mended: readonly string[] | null;
}

interface AcquireAnswer extends MendingAnswer {
  readonly exhausted?: number;
  readonly swept: string | null;
  readonly answers: readonly GrantAnswer[];
}

type GrantAnswer =
  | readonly ['granted', number]
  | readonly ['held', Seen]
  | readonly ['foreign', undefined?];

interface RenewAnswer extends Answer {
  readonly failed?: readonly (readonly [place: number, reason: NotYours['reason'] | null])[];
}

interface FinishAnswer extends Answer {
  readonly answers: readonly ('ended' | NotYours['reason'])[];
}

interface ReadAnswer extends MendingAnswer {
  readonly answers: readonly (Seen | null)[];
}

const renewed: RenewResult = Object.freeze({ outcome: 'renewed' });

/** In the order of their names, so that rows are, as a rule, locked in it. Most callers keep that order. */
function byName(requests: readonly RenewRequest[]): readonly RenewRequest[] {
  let before = '';
  for (const { name } of requests) {
    if (name < before) return [...requests].sort((one, other) => (one.name < other.name ? -1 : 1));
    before = name;
  }
  return requests;
}

/** One pass, since a worker renews hundreds at a time. */
function renewalColumns(requests: readonly RenewRequest[]) {
  const [names, terms, ttls]: [string[], number[], number[]] = [[], [], []];
  const holders: string[] = [];
  const metadatas: (string | null)[] = [];
  let hasMetadata = false;
  let last: { readonly holder: Holder; readonly wire: string } | undefined;
  for (const { name, holder, term, ttlMs, metadata } of requests) {
    if (last?.holder !== holder) last = { holder, wire: holder.wire };
    names.push(name);
    holders.push(last.wire);
    terms.push(term);
    ttls.push(whole(ttlMs));
    metadatas.push(metadata ?? null);
    hasMetadata ||= metadata !== undefined;
  }
  return { names, holders, terms, ttls, metadatas: hasMetadata ? metadatas : [] };
}

/** A list in which all are alike, as one that stands for it. */
function one<Value>(values: readonly Value[]): readonly Value[] {
  const [first] = values;
  return values.every((value) => value === first) ? values.slice(0, 1) : values;
}

/** The server counts in whole milliseconds. */
export function whole(durationMs: number): number {
  return Math.ceil(durationMs);
}

function foreignDetail(name: string): string {
  return `what stands under "${name}" (in the table "leases") is no record of a lease. Somebody else wrote it, or a later version; remove it there.`;
}

function exhausted(lastTerm: number): StoreRefusedError {
  return new StoreRefusedError(
    'TERMS_EXHAUSTED',
    `no term is left after ${lastTerm}: an absurd "above" or clock took them. Use a new namespace.`,
  );
}
