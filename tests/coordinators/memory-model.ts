import fc from 'fast-check';
import { expect } from 'vitest';
import { type Coordinator, Holder } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/memory.js';
import { VirtualRuntime } from '../../src/testing.js';
import { call } from '../support/call.js';

const ids = ['ann', 'bob', 'cid'] as const;
const name = 'group/name';
const ttlMs = 1000;
const graceMs = 700;
const reserveMs = 2000;
const act = { by: 'dee', reason: 'a test' };

export type Step =
  | {
      readonly do: 'acquire';
      readonly who: number;
      readonly repeat: boolean;
      readonly delay: boolean;
    }
  | { readonly do: 'renew' | 'release'; readonly who: number; readonly back: number }
  | { readonly do: 'handoff'; readonly who: number; readonly back: number; readonly to: number }
  | { readonly do: 'revoke'; readonly to: number | undefined }
  | { readonly do: 'suspend' }
  | { readonly do: 'resume' }
  | { readonly do: 'advance'; readonly ms: number };

const who = fc.nat({ max: ids.length - 1 });
/** Which of its terms a holder uses: 0 is the newest, the others are stale. */
const back = fc.oneof(
  { weight: 2, arbitrary: fc.constant(0) },
  { arbitrary: fc.nat({ max: 2 }), weight: 1 },
);
const delay = fc.boolean();
/** Anything that holders, operators and time can do to one name. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('acquire' as const), who, repeat: fc.boolean(), delay }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('renew' as const, 'release' as const), who, back }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('handoff' as const), who, back, to: who }) },
  fc.record({ do: fc.constant('revoke' as const), to: fc.option(who, { nil: undefined }) }),
  {
    weight: 2,
    arbitrary: fc.constantFrom<Step>({ do: 'suspend' }, { do: 'resume' }, { do: 'resume' }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat({ max: ttlMs + 200 }) }),
  },
);

/** One stretch of time in which the same stands under the name; times are virtual. */
interface Phase {
  readonly state: 'held' | 'lock-delay' | 'reserved' | 'free';
  readonly untilMs: number;
  readonly to?: number | undefined;
}

const free: Phase = { state: 'free', untilMs: Number.POSITIVE_INFINITY };

/** The newest lease: its term, and whose it was. */
interface Newest {
  readonly owner: number;
  readonly attempt: string;
  readonly term: number;
  readonly graceMs: number;
  readonly isRevoked: boolean;
  readonly successor: number | undefined;
}

/** What the store must hold, told in the simplest way: a plan of what follows what if nobody does anything. */
export class Model {
  readonly runtime = new VirtualRuntime();
  readonly #store = new MemoryStore({ runtime: this.runtime });
  readonly #clients: Coordinator[] = ids.map(() => memoryCoordinator(this.#store));
  readonly #holders = ids.map((id) => Holder.create(id, this.runtime));
  readonly #terms: number[][] = ids.map(() => []);
  readonly #attempts: string[] = ids.map(() => this.runtime.randomHex(16));
  /** Why each term ended; those that last have no entry. */
  readonly #ends = new Map<number, string>();
  #plan: readonly Phase[] = [];
  #newest: Newest | undefined;
  #isSuspended = false;
  #highestTerm = 0;
  readonly seen = new Set<string>();

  async run(steps: readonly Step[]): Promise<void> {
    for (const each of steps) {
      await this.#step(each);
      await this.#compare();
    }
    await this.#compareHistory();
    for (const client of this.#clients) await client.close();
    expect(this.runtime.pendingTimerCount).toBe(0);
  }

  get #nowMs(): number {
    return this.runtime.now().monotonicMs;
  }

  get #phase(): Phase {
    return this.#plan.find(({ untilMs }) => this.#nowMs < untilMs) ?? free;
  }

  async #step(each: Step): Promise<void> {
    if (each.do === 'advance') await this.runtime.advance(each.ms);
    else if (each.do === 'acquire') await this.#acquire(each.who, each.repeat, each.delay);
    else if (each.do === 'renew') await this.#renew(each.who, each.back);
    else if (each.do === 'revoke') await this.#revoke(each.to);
    else if (each.do === 'suspend') await this.#suspend();
    else if (each.do === 'resume') await this.#resume();
    else await this.#end(each);
  }

  async #acquire(index: number, repeat: boolean, isDelayed: boolean): Promise<void> {
    this.#noteExpiry();
    if (!repeat) this.#attempts[index] = this.runtime.randomHex(16);
    const attempt = this.#attempts[index] ?? '';
    const holder = this.#holders[index] as Holder;
    const own = { graceMs: isDelayed ? graceMs : 0, keepHistory: true };
    const request = { name, holder, attempt, ttlMs, ...own };
    const [result] = await this.#client(index).acquire([request], call);
    const { state, to } = this.#phase;
    const newest = this.#newest;
    const isSame = state === 'held' && newest?.owner === index && newest.attempt === attempt;
    if (isSame && newest?.isRevoked === false) {
      expect(result).toEqual({ outcome: 'granted', term: newest.term });
      this.seen.add('repeated attempt');
      return;
    }
    const isFree = state === 'free' || (state === 'reserved' && to === index);
    if (this.#isSuspended || !isFree) {
      expect(result?.outcome).toBe('held');
      this.seen.add(this.#isSuspended ? 'kept out: suspended' : `kept out: ${state}`);
      return;
    }
    if (result?.outcome !== 'granted') throw new Error(`not granted: ${result?.outcome}`);
    const { term } = result;
    expect(term).toBeGreaterThan(this.#highestTerm);
    this.#highestTerm = term;
    this.#terms[index]?.unshift(term);
    this.#newest = {
      owner: index,
      attempt,
      term,
      graceMs: own.graceMs,
      isRevoked: false,
      successor: undefined,
    };
    this.#planLease(this.#nowMs + ttlMs);
    this.seen.add(state === 'reserved' ? 'took what was reserved' : 'granted');
  }

  async #renew(index: number, nth: number): Promise<void> {
    this.#noteExpiry();
    const term = this.#terms[index]?.[nth];
    if (term === undefined) return;
    const holder = this.#holders[index] as Holder;
    const [result] = await this.#client(index).renew([{ name, holder, term, ttlMs }], call);
    if (!this.#isOwn(index, term)) return this.#expectNotYours(result);
    if (this.#newest?.isRevoked) {
      expect(result).toEqual({ outcome: 'not-yours', reason: 'revoked' });
      this.seen.add('revoked');
      return;
    }
    expect(result).toEqual({ outcome: 'renewed' });
    this.#planLease(this.#nowMs + ttlMs);
  }

  async #end(each: Extract<Step, { who: number; back: number }>): Promise<void> {
    this.#noteExpiry();
    const term = this.#terms[each.who]?.[each.back];
    if (term === undefined) return;
    const request = { name, holder: this.#holders[each.who] as Holder, term };
    const client = this.#client(each.who);
    const to = 'to' in each ? each.to : undefined;
    const [result] =
      to === undefined
        ? await client.release([request], call)
        : await client.handoff([{ ...request, to: ids[to] ?? '', reserveMs }], call);
    if (!this.#isOwn(each.who, term)) return this.#expectNotYours(result);
    const { isRevoked, successor } = this.#newest as Newest;
    if (to !== undefined && isRevoked) {
      expect(result).toEqual({ outcome: 'not-yours', reason: 'revoked' });
      return;
    }
    expect(result).toEqual({ outcome: 'ended' });
    const unrevoked = to === undefined ? 'released' : 'handed-off';
    this.#ends.set(term, isRevoked ? 'revoked' : unrevoked);
    const heir = to ?? successor;
    this.#plan =
      heir === undefined ? [] : [{ state: 'reserved', to: heir, untilMs: this.#nowMs + reserveMs }];
  }

  async #revoke(to: number | undefined): Promise<void> {
    this.#noteExpiry();
    const successor = to === undefined ? {} : { to: ids[to] ?? '', reserveMs };
    const record = await this.#client(0).revoke(name, { ...act, ...successor }, call);
    if (this.#isSuspended || this.#phase.state !== 'held') return;
    expect(record).toMatchObject({ state: 'held', revocation: act });
    this.#revokeNewest(to);
    this.seen.add(to === undefined ? 'revoke' : 'revoke for a successor');
  }

  async #suspend(): Promise<void> {
    this.#noteExpiry();
    expect((await this.#client(0).suspend(name, act, call)).state).toBe('suspended');
    this.#isSuspended = true;
    if (this.#phase.state === 'held' && this.#newest?.isRevoked === false) {
      this.#revokeNewest(undefined);
    }
  }

  async #resume(): Promise<void> {
    expect(await this.#client(0).resume(name, act, call)).toBe(this.#isSuspended);
    if (this.#isSuspended) this.seen.add(`resumed: ${this.#phase.state}`);
    this.#isSuspended = false;
  }

  #revokeNewest(successor: number | undefined): void {
    const newest = this.#newest as Newest;
    this.#newest = { ...newest, isRevoked: true, successor };
    this.#planLease(this.#phase.untilMs);
  }

  /** What follows what if the newest lease is left alone from now on. */
  #planLease(deadlineMs: number): void {
    const { graceMs: delayMs, successor } = this.#newest as Newest;
    const delayEndMs = deadlineMs + delayMs;
    const reservation: Phase = {
      state: 'reserved',
      to: successor,
      untilMs: delayEndMs + reserveMs,
    };
    this.#plan = [
      { state: 'held', untilMs: deadlineMs },
      { state: 'lock-delay', untilMs: delayEndMs },
      ...(successor === undefined ? [] : [reservation]),
    ];
  }

  #noteExpiry(): void {
    const newest = this.#newest;
    if (newest === undefined || this.#ends.has(newest.term) || this.#phase.state === 'held') return;
    this.#ends.set(newest.term, newest.isRevoked ? 'revoked' : 'expired');
  }

  #isOwn(index: number, term: number): boolean {
    return (
      this.#phase.state === 'held' && this.#newest?.owner === index && this.#newest.term === term
    );
  }

  #expectNotYours(result: unknown): void {
    const { state } = this.#phase;
    const reason = state === 'free' || state === 'lock-delay' ? 'vanished' : 'superseded';
    expect(result).toEqual({ outcome: 'not-yours', reason });
    this.seen.add(`stale: ${reason}`);
  }

  /** After every step the store holds what is expected, and nothing else. */
  async #compare(): Promise<void> {
    const [record] = await this.#client(0).read([name], call);
    expect(await this.#client(1).list('group', call)).toEqual(record === undefined ? [] : [record]);
    const { state, untilMs, to } = this.#phase;
    this.seen.add(`stands: ${this.#isSuspended ? 'suspended' : state}`);
    const remainingMs = untilMs - this.#nowMs;
    const term = this.#newest?.term;
    const holder = this.#holders[this.#newest?.owner ?? -1];
    const below = {
      held: { state, term, remainingMs, holder },
      'lock-delay': { state, term, remainingMs },
      reserved: { state, remainingMs, to: ids[to ?? -1] },
      free: undefined,
    }[state];
    if (this.#isSuspended) {
      const ending = state === 'held' ? below : undefined;
      expect(record).toMatchObject({ state: 'suspended', ...(ending && { ending }) });
      if (record?.state === 'suspended') expect(record.ending === undefined).toBe(!ending);
    } else if (below === undefined) expect(record).toBeUndefined();
    else expect(record).toMatchObject(below);
  }

  /** Every term has one line, and every end its reason. */
  async #compareHistory(): Promise<void> {
    this.#noteExpiry();
    const lines = await this.#client(0).history(name, call);
    const terms = lines.flatMap((line) => (line.kind === 'term' ? [line] : []));
    expect(terms.map(({ term, endReason }) => [term, endReason])).toEqual(
      this.#terms
        .flat()
        .sort((one, other) => one - other)
        .map((term) => [term, this.#ends.get(term)]),
    );
    for (const { endReason } of terms) this.seen.add(`ended: ${endReason ?? 'not yet'}`);
  }

  #client(index: number): Coordinator {
    return this.#clients[index] as Coordinator;
  }
}
