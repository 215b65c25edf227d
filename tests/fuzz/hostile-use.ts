import { expect } from 'vitest';
import { type Coordinator, groupOf, Holder, validateName } from '../../src/coordinators/index.js';
import type { Fence } from '../../src/fences/index.js';
import { Once, type OnceStore } from '../../src/once/index.js';
import { tokenOf } from '../../src/schedule/conformance/scene.js';
import type { JobStore } from '../../src/schedule/index.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { hostileTexts } from './hostile.js';
import { fewOrAll } from './rounds.js';

function fits(text: string, longest: number, check: (text: string) => unknown): boolean {
  try {
    check(text);
    return Buffer.byteLength(text) <= longest;
  } catch {
    return false;
  }
}

export const hostileNames = hostileTexts.filter((text) => fits(text, 255, validateName));
const bare = hostileNames.filter((name) => !name.includes('/'));

/** Leases, candidates, suspensions, histories, groups and documents of all of them at once: none meets another. */
export async function useHostileNames(coordinator: Coordinator): Promise<void> {
  const groups = bare.filter((name) => Buffer.byteLength(name) < 250);
  const inGroups = fewOrAll(groups, 24, 5).map((group) => `${group}/x`);
  const names = [...hostileNames, ...inGroups];
  const ttlMs = Math.min(600_000, coordinator.promises.largestTtlMs);
  const holders = new Map(names.map((name, at) => [name, Holder.create(`h${at}`, realRuntime)]));
  const of = (name: string) => holders.get(name) as Holder;
  const requests = names.map((name) => ({
    ...{ name, holder: of(name), attempt: realRuntime.randomHex(16), ttlMs, keepHistory: true },
  }));
  const terms = new Map<string, number>();
  for (const { result, name } of await inParts(requests, (part) =>
    coordinator.acquire(part, call),
  )) {
    expect(result.outcome, name).toBe('granted');
    if (result.outcome === 'granted') terms.set(name, result.term);
  }
  const look = await inParts(
    names.map((name) => ({ name })),
    (part) =>
      coordinator.read(
        part.map(({ name }) => name),
        call,
      ),
  );
  for (const { result, name } of look) {
    expect(result, name).toMatchObject({ state: 'held', name, term: terms.get(name) });
    expect(result?.state === 'held' && result.holder.equals(of(name)), name).toBe(true);
  }
  await each(['', ...new Set(inGroups.map(groupOf))], async (group) => {
    const listed = await coordinator.list(group, call);
    const expected = names.filter((name) => groupOf(name) === group);
    expect(listed.map(({ name }) => name).sort(), group).toEqual(expected.sort());
  });
  const enrolled = names.map((name) => ({
    ...{ name, holder: of(name), standing: 'present' as const, preference: 1, ttlMs },
    metadata: '1',
  }));
  await inParts(enrolled, (part) => coordinator.enroll(part, call));
  await each(hostileNames, async (name) => {
    const ids = (await coordinator.candidates(name, call)).map(({ id }) => id);
    expect(ids, name).toEqual([of(name).id]);
    const [line] = await coordinator.history(name, call);
    const term = { kind: 'term', term: terms.get(name), holderId: of(name).id };
    expect(line, name).toMatchObject(term);
    await coordinator.writeDocument(name, JSON.stringify(name), 0, call);
  });
  await each(hostileNames, async (name) => {
    const document = await coordinator.readDocument(name, call);
    expect(document, name).toEqual({ version: 1, text: JSON.stringify(name) });
  });
  const suspended = hostileNames.filter((name, at) => at % 3 === 0 && name.trim() !== '');
  await each(suspended, (name) => coordinator.suspend(name, { by: name, reason: name }, call));
  for (const [at, record] of (await coordinator.read([...hostileNames], call)).entries()) {
    const name = hostileNames[at] as string;
    expect(record?.state, name).toBe(suspended.includes(name) ? 'suspended' : 'held');
    if (record?.state === 'suspended')
      expect(record.suspension, name).toMatchObject({ by: name, reason: name });
  }
}

/** Some at a time. */
async function each<Item>(
  items: readonly Item[],
  act: (item: Item, index: number) => Promise<unknown>,
): Promise<void> {
  const left = [...items.entries()];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift())
      await act(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

/** Few enough for any store's one step. */
async function inParts<Request extends { readonly name: string }, Result>(
  requests: readonly Request[],
  ask: (part: Request[]) => Promise<Result[]>,
): Promise<{ name: string; result: Result }[]> {
  const found: { name: string; result: Result }[] = [];
  for (let at = 0; at < requests.length; at += 40) {
    const part = requests.slice(at, at + 40);
    const results = await ask(part);
    for (const [index, result] of results.entries())
      found.push({ name: part[index]?.name as string, result });
  }
  return found;
}

export const hostileKeys = hostileTexts.filter((text) =>
  fits(text, 255, (key) => {
    if (key === '' || /[\p{Cc}\p{Cs}]/u.test(key)) throw new RangeError('no key');
  }),
);

/** Keys of once-only effects: each is called once, and what became of it is its own. */
export async function useHostileKeys(store: OnceStore): Promise<void> {
  const once = new Once(store, { callTimeoutMs: call.timeoutMs });
  for (const again of [false, true])
    await Promise.all(
      hostileKeys.map(async (key) => {
        const result = await once.do(key, () => (again ? expect.fail(`${key} again`) : { key }));
        expect(result, key).toEqual({ key });
        expect(await once.read(key), key).toMatchObject({ key, state: 'done' });
      }),
    );
}

/** Jobs: each has a record of its own under the name that it was given. */
export async function useHostileJobs(store: JobStore): Promise<void> {
  const jobs = bare.filter((job) => Buffer.byteLength(job) <= 100);
  const token = tokenOf(1);
  const claim = (job: string, cron: string) =>
    store.claim(token, [{ job, cron, timeZone: 'UTC' }], undefined, call);
  for (const [at, job] of jobs.entries())
    expect(await claim(job, `${at % 60} * * * *`), job).toMatchObject([{ outcome: 'claimed' }]);
  const { jobs: views, corrupt } = await store.look(jobs, call);
  expect(corrupt).toEqual([]);
  expect(views.map(({ record }) => [record.job, record.cron])).toEqual(
    jobs.map((job, at) => [job, `${at % 60} * * * *`]),
  );
  const all = await store.jobs(call);
  expect(all.jobs.map(({ record }) => record.job).sort()).toEqual([...jobs].sort());
}

/** Names, scopes, keys and ids at a fence: each effect is recorded once, and each name has its own term. */
export async function useHostileAtFence<Transaction>(fence: Fence<Transaction>): Promise<void> {
  const holder = Holder.create('ann', realRuntime);
  await each(hostileNames, (name, at) => fence.claim({ name, term: at + 1, holder }));
  await each(hostileNames, async (name, at) => {
    expect(await fence.installedTerm(name), name).toBe(at + 1);
  });
  const token = { name: 'effects', term: 1, holder };
  const keys = hostileTexts.filter(
    (key) => key !== '' && !/[\0\p{Cs}]/u.test(key) && key.length < 1_000,
  );
  for (const isNew of [true, false])
    for (let from = 0; from < keys.length; from += 20) {
      await fence.transaction(token, async (on) => {
        for (const key of keys.slice(from, from + 20)) {
          const id = key.slice(0, 80);
          expect(await fence.recordOnce(on, 'scope', key, 1, id), key).toBe(isNew);
        }
      });
    }
  for (let from = 0; from < hostileNames.length; from += 20)
    await fence.transaction(token, async (on) => {
      for (const scope of hostileNames.slice(from, from + 20))
        expect(await fence.recordOnce(on, scope, 'key', 1, 'id'), scope).toBe(true);
    });
}
