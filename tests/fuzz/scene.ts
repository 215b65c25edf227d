import { type AcquireResult, type Coordinator, Holder } from '../../src/coordinators/index.js';
import { TenureError } from '../../src/errors/index.js';
import { realRuntime } from '../../src/time/index.js';

const call = { timeoutMs: 30_000 };
const operator = { by: 'ops', reason: 'drill' };
/** Longer than any run: nothing here ends because its time is over. */
const ttlMs = 30_000;

/** What stands in a store for one name, and can be written over. */
export interface Place {
  readonly what: string;
  readonly spoil: () => Promise<unknown>;
}

export type Standing = 'led' | 'suspended' | 'reserved';
export const standings: readonly Standing[] = ['led', 'suspended', 'reserved'];

/** One name with all that a store can keep of it, and what its people do once somebody has meddled with that. */
export class Scene {
  readonly name: string;
  readonly #beside: string;
  readonly #group: string;
  readonly #coordinator: Coordinator;
  readonly #ann = Holder.create('ann', realRuntime);
  readonly #bob = Holder.create('bob', realRuntime);
  #term = 1;

  constructor(coordinator: Coordinator, number: number) {
    this.#coordinator = coordinator;
    this.#group = `fuzz/${number}`;
    this.name = `${this.#group}/name`;
    this.#beside = `${this.#group}/beside`;
  }

  async prepare(standing: Standing): Promise<void> {
    const { name } = this;
    const attempt = realRuntime.randomHex(16);
    const request = { name, holder: this.#ann, attempt, ttlMs, graceMs: 1_000, metadata: '"|"' };
    const [result] = await this.#coordinator.acquire([{ ...request, keepHistory: true }], call);
    if (result?.outcome !== 'granted') throw new Error(`ann was not granted ${name}`);
    this.#term = result.term;
    await this.#enroll();
    await this.#coordinator.writeDocument(name, '{"a":1}', 0, call);
    if (standing === 'suspended') await this.#coordinator.suspend(name, operator, call);
    const handoff = { name, holder: this.#ann, term: result.term, to: 'cid', reserveMs: ttlMs };
    if (standing === 'reserved') await this.#coordinator.handoff([handoff], call);
  }

  /** Everything that can be asked about the name. @returns what must not be. */
  async use(): Promise<string[]> {
    const { name } = this;
    const coordinator = this.#coordinator;
    const own = { name, holder: this.#ann, term: this.#term };
    const wrong: string[] = [];
    const ask = async <Answer>(what: string, act: () => Promise<Answer>) => {
      try {
        return await act();
      } catch (error) {
        if (!(error instanceof TenureError)) wrong.push(`${what}: ${(error as Error).stack}`);
        else if (/TIMEOUT|UNREACHABLE|UNKNOWN/.test(error.code))
          wrong.push(`${what}: ${error.code} ${error.message}`);
        return undefined;
      }
    };
    const acquire = async (when: string) => {
      const results = await ask(`acquire ${when}`, () => this.#acquire());
      const [named, beside] = results ?? [];
      if (named?.outcome === 'granted') wrong.push(`the name was granted ${when}`);
      const isGranted = beside === undefined || beside.outcome === 'granted';
      if (!isGranted) wrong.push(`the name beside it was not: ${beside.outcome}`);
      return beside;
    };
    const beside = await acquire('at once');
    await ask('read', () => coordinator.read([name], call));
    const listed = await ask('list', () => coordinator.list(this.#group, call));
    const isListed = listed?.some((record) => record.name === this.#beside) ?? true;
    if (beside?.outcome === 'granted' && !isListed) wrong.push('the name beside it is not listed');
    await ask('candidates', () => coordinator.candidates(name, call));
    await ask('history', () => coordinator.history(name, call));
    await ask('readDocument', () => coordinator.readDocument(name, call));
    await ask('writeDocument', () => coordinator.writeDocument(name, '{"a":2}', 1, call));
    await ask('enroll', () => this.#enroll());
    await ask('renew', () => coordinator.renew([{ ...own, ttlMs }], call));
    await acquire('after a renewal');
    await ask('revoke', () => coordinator.revoke(name, operator, call));
    await ask('suspend', () => coordinator.suspend(name, operator, call));
    await acquire('after a suspension');
    await ask('handoff', () =>
      coordinator.handoff([{ ...own, to: 'cid', reserveMs: ttlMs }], call),
    );
    await ask('release', () => coordinator.release([own], call));
    await ask('resume', () => coordinator.resume(name, operator, call));
    await ask('withdraw', () => coordinator.withdraw([{ name, holder: this.#bob }], call));
    return wrong;
  }

  /** The same attempt each time, so that the name beside it is granted each time. */
  readonly #besideAttempt = realRuntime.randomHex(16);

  #acquire(): Promise<AcquireResult[]> {
    const holder = this.#bob;
    const attempt = realRuntime.randomHex(16);
    const requests = [
      { name: this.name, holder, attempt, ttlMs },
      { name: this.#beside, holder, attempt: this.#besideAttempt, ttlMs },
    ];
    return this.#coordinator.acquire(requests, call);
  }

  #enroll() {
    const request = {
      name: this.name,
      holder: this.#bob,
      standing: 'waiting',
      preference: 5,
    } as const;
    return this.#coordinator.enroll([{ ...request, ttlMs, metadata: '{}' }], call);
  }
}

let number = 0;

/**
 * Meddles with each place of a name in each of the ways, one name for each, some at a time.
 *
 * @param width how many at a time: a store that writes many in one go takes them sooner.
 * @returns what went wrong, and how many ways there were.
 */
export async function abuse(
  coordinator: Coordinator,
  standing: Standing,
  placesOf: (name: string) => Promise<readonly Place[]>,
  width = 6,
): Promise<{ wrong: string[]; count: number }> {
  const wrong: string[] = [];
  const first = new Scene(coordinator, number++);
  await first.prepare(standing);
  const count = (await placesOf(first.name)).length;
  let next = 0;
  const work = async () => {
    while (next < count) {
      const index = next++;
      const scene = new Scene(coordinator, number++);
      await scene.prepare(standing);
      const place = (await placesOf(scene.name))[index];
      if (place === undefined) throw new Error('a name like the others has other places');
      await place.spoil();
      for (const what of await scene.use()) wrong.push(`${place.what}: ${what}`.slice(0, 700));
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  return { wrong, count };
}
