import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Coordinator, Holder } from '../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../src/memory.js';
import { VirtualRuntime } from '../../src/testing.js';

const ids = ['ann', 'bob', 'cid'] as const;
const name = 'group/name';
const ttlMs = 1000;
const call = { timeoutMs: 300 };

type Step =
  | { readonly do: 'acquire'; readonly who: number; readonly repeat: boolean }
  | { readonly do: 'renew' | 'release'; readonly who: number; readonly back: number }
  | { readonly do: 'handoff'; readonly who: number; readonly back: number; readonly to: number }
  | { readonly do: 'advance'; readonly ms: number };

const who = fc.nat({ max: ids.length - 1 });
/** Which of its terms a holder uses: 0 is the newest, the others are stale. */
const back = fc.nat({ max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('acquire' as const), who, repeat: fc.boolean() }),
  fc.record({ do: fc.constantFrom('renew' as const, 'release' as const), who, back }),
  fc.record({ do: fc.constant('handoff' as const), who, back, to: who }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.nat({ max: ttlMs + 200 }) }),
);

/** What the store must hold, told in the simplest way; deadlines are on virtual time. */
interface Expected {
  readonly owner: number | undefined;
  readonly reservedFor: number | undefined;
  readonly term: number;
  readonly untilMs: number;
}

const nothing: Expected = { owner: undefined, reservedFor: undefined, term: 0, untilMs: 0 };

class Model {
  readonly runtime = new VirtualRuntime();
  readonly #store = new MemoryStore({ runtime: this.runtime });
  readonly #clients: Coordinator[] = ids.map(() => memoryCoordinator(this.#store));
  readonly #holders = ids.map((id) => Holder.create(id, this.runtime));
  readonly #terms: number[][] = ids.map(() => []);
  readonly #attempts: string[] = ids.map(() => this.runtime.randomHex(16));
  /** The attempt that holds the name now; without it a repeated attempt is a new acquisition. */
  #attempt: string | undefined;
  #expected = nothing;
  #highestTerm = 0;
  readonly seen = new Set<string>();

  async run(steps: readonly Step[]): Promise<void> {
    for (const each of steps) {
      await this.#step(each);
      await this.#compare();
    }
    for (const client of this.#clients) await client.close();
    expect(this.runtime.pendingTimerCount).toBe(0);
  }

  get #nowMs(): number {
    return this.runtime.now().monotonicMs;
  }

  /** What is left of the expectation now. */
  get #current(): Expected {
    return this.#nowMs < this.#expected.untilMs ? this.#expected : nothing;
  }

  async #step(each: Step): Promise<void> {
    if (each.do === 'advance') await this.runtime.advance(each.ms);
    else if (each.do === 'acquire') await this.#acquire(each.who, each.repeat);
    else if (each.do === 'renew') await this.#renew(each.who, each.back);
    else await this.#end(each);
  }

  async #acquire(index: number, repeat: boolean): Promise<void> {
    const { owner, reservedFor, term: currentTerm } = this.#current;
    if (!repeat) this.#attempts[index] = this.runtime.randomHex(16);
    const attempt = this.#attempts[index] ?? '';
    const holder = this.#holders[index] as Holder;
    const [result] = await this.#client(index).acquire([{ name, holder, attempt, ttlMs }], call);
    if (owner === index && attempt === this.#attempt) {
      expect(result).toEqual({ outcome: 'granted', term: currentTerm });
      this.seen.add('repeated attempt');
      return;
    }
    if (owner !== undefined || (reservedFor !== undefined && reservedFor !== index)) {
      expect(result?.outcome).toBe('held');
      this.seen.add(owner === index ? 'own live lease' : 'kept out');
      return;
    }
    if (result?.outcome !== 'granted') throw new Error(`not granted: ${result?.outcome}`);
    expect(result.term).toBeGreaterThan(this.#highestTerm);
    this.#highestTerm = result.term;
    this.#terms[index]?.unshift(result.term);
    this.#attempt = attempt;
    this.#expect({ owner: index, term: result.term, untilMs: this.#nowMs + ttlMs });
    this.seen.add(reservedFor === index ? 'took what was reserved' : 'granted');
  }

  async #renew(index: number, nth: number): Promise<void> {
    const term = this.#terms[index]?.[nth];
    if (term === undefined) return;
    const holder = this.#holders[index] as Holder;
    const [result] = await this.#client(index).renew([{ name, holder, term, ttlMs }], call);
    if (this.#isOwn(index, term)) {
      expect(result).toEqual({ outcome: 'renewed' });
      this.#expect({ owner: index, term, untilMs: this.#nowMs + ttlMs });
    } else this.#expectNotYours(result);
  }

  async #end(each: Exclude<Step, { do: 'acquire' | 'advance' }>): Promise<void> {
    const term = this.#terms[each.who]?.[each.back];
    if (term === undefined) return;
    const request = { name, holder: this.#holders[each.who] as Holder, term };
    const client = this.#client(each.who);
    const reservedFor = each.do === 'handoff' ? each.to : undefined;
    const [result] =
      reservedFor === undefined
        ? await client.release([request], call)
        : await client.handoff(
            [{ ...request, to: ids[reservedFor] ?? '', reserveMs: ttlMs }],
            call,
          );
    if (!this.#isOwn(each.who, term)) {
      this.#expectNotYours(result);
      return;
    }
    expect(result).toEqual({ outcome: 'ended' });
    this.#expect(
      reservedFor === undefined ? nothing : { reservedFor, term, untilMs: this.#nowMs + ttlMs },
    );
  }

  #isOwn(index: number, term: number): boolean {
    return this.#current.owner === index && this.#current.term === term;
  }

  #expectNotYours(result: unknown): void {
    const reason = this.#current === nothing ? 'vanished' : 'superseded';
    expect(result).toEqual({ outcome: 'not-yours', reason });
    this.seen.add(`stale: ${reason}`);
  }

  #expect(expected: Partial<Expected>): void {
    this.#expected = { ...nothing, ...expected };
  }

  /** After every step the store holds what is expected, and nothing else. */
  async #compare(): Promise<void> {
    const [record] = await this.#client(0).read([name], call);
    const { owner, reservedFor, term, untilMs } = this.#current;
    expect(await this.#client(1).list('group', call)).toEqual(record === undefined ? [] : [record]);
    if (owner === undefined && reservedFor === undefined) {
      expect(record).toBeUndefined();
      return;
    }
    expect(record).toMatchObject({ term, remainingMs: untilMs - this.#nowMs });
    if (record?.state === 'held') {
      expect(record.holder.equals(this.#holders[owner ?? -1] as Holder)).toBe(true);
    } else expect(record).toMatchObject({ state: 'reserved', to: ids[reservedFor ?? -1] });
  }

  #client(index: number): Coordinator {
    return this.#clients[index] as Coordinator;
  }
}

it('keeps its promises in whatever order holders acquire, renew, release, hand off and wait', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const model = new Model();
      await model.run(steps);
      for (const each of model.seen) seen.add(each);
    }),
    { numRuns: 300 },
  );
  // A property over cases in which nothing happens proves nothing.
  expect([...seen].sort()).toEqual([
    'granted',
    'kept out',
    'own live lease',
    'repeated attempt',
    'stale: superseded',
    'stale: vanished',
    'took what was reserved',
  ]);
});
