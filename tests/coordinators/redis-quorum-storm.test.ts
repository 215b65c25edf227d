import { expect, it } from 'vitest';
import { type QuorumActor, RedisQuorumFixture } from './redis-quorum-fixture.js';

const fixture = new RedisQuorumFixture();
const stormMs = 4_000;
const ttlMs = 2_000;
const brief = { timeoutMs: 500 };
const pause = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs));

it('while one node after the other is frozen or loses its memory, one holds the name at a time and terms rise', async () => {
  const endAtMs = performance.now() + stormMs;
  const actors = await Promise.all(['a', 'b', 'c'].map((id) => fixture.actor(id)));
  const terms: number[] = [];
  const overlaps: string[] = [];
  let holder: string | undefined;
  let reseededCount = 0;
  actors[0]?.client.on('node-reseeded', () => {
    reseededCount += 1;
  });

  const contend = async (actor: QuorumActor) => {
    while (performance.now() < endAtMs) {
      const startedAtMs = performance.now();
      const result = await actor.acquire('job', { ttlMs }, brief).catch(() => undefined);
      const isInTime = performance.now() - startedAtMs < ttlMs / 2;
      if (result?.outcome !== 'granted' || !isInTime) {
        await pause(Math.random() * 20);
        continue;
      }
      if (holder !== undefined) overlaps.push(`${holder} and ${actor.holder.id}`);
      holder = actor.holder.id;
      terms.push(result.term);
      await pause(Math.random() * 30);
      holder = undefined;
      await actor.release('job', result.term).catch(() => undefined);
    }
  };
  const sabotage = async () => {
    for (let number = 0; performance.now() < endAtMs - 1_500; number = (number + 1) % 5) {
      if (number % 2 === 0) await fixture.admins[number]?.flushall();
      else fixture.freeze(number);
      await pause(400);
      fixture.thaw(number);
      // A node that is out is waited for: two that are, and one that is frozen, are no minority.
      await expect.poll(async () => (await fixture.textsOf('member')).includes(null)).toBe(false);
    }
  };
  await Promise.all([...actors.map(contend), sabotage()]);
  expect(overlaps).toEqual([]);
  expect(terms.filter((term, index) => index > 0 && term <= (terms[index - 1] ?? 0))).toEqual([]);
  expect(terms.length).toBeGreaterThan(10);
  expect(reseededCount).toBeGreaterThan(0);
});

it('while nodes are frozen or lose their memory, no two texts of one version of a document are ever told', async () => {
  const endAtMs = performance.now() + 2_500;
  const actors = await Promise.all(['a', 'b', 'c'].map((id) => fixture.actor(id)));
  const told = new Map<number, Set<string>>();
  const note = (version: number, text: string) =>
    told.set(version, (told.get(version) ?? new Set()).add(text));
  let lastVersion = 0;
  const write = async ({ client, holder }: QuorumActor) => {
    for (let round = 0; performance.now() < endAtMs; round++) {
      const stored = await client.readDocument('pins', brief).catch(() => 'unknown' as const);
      if (stored === 'unknown') continue;
      if (stored !== undefined) note(stored.version, stored.text);
      const text = `${holder.id} ${round}`;
      const version = stored?.version ?? 0;
      const result = await client
        .writeDocument('pins', text, version, brief)
        .catch(() => undefined);
      if (result?.outcome === 'written') note(result.version, text);
      if (result?.outcome === 'conflict' && result.current !== undefined)
        note(result.current.version, result.current.text);
      lastVersion = Math.max(lastVersion, version);
    }
  };
  const sabotage = async () => {
    for (let number = 0; performance.now() < endAtMs - 500; number = (number + 2) % 5) {
      if (number === 0) await fixture.admins[number]?.flushall();
      else fixture.freeze(number);
      await pause(300);
      fixture.thaw(number);
    }
  };
  await Promise.all([...actors.map(write), sabotage()]);
  const torn = [...told].filter(([, texts]) => texts.size > 1);
  expect(torn.map(([version, texts]) => `${version}: ${[...texts].join(' and ')}`)).toEqual([]);
  expect(lastVersion).toBeGreaterThan(10);
});
