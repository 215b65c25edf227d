import { afterEach, describe, expect, it } from 'vitest';
import { type CallOptions, Holder } from '../../src/coordinators/index.js';
import { OutcomeUnknownError } from '../../src/errors/index.js';
import type { RedisQuorumCoordinatorOptions } from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { FaultProxy } from '../support/proxy.js';
import { act, call, longMs, QuorumActor, RedisQuorumFixture } from './redis-quorum-fixture.js';

const fixture = new RedisQuorumFixture();
/** Until the outcome is unknown. */
const patient = { timeoutMs: 8_000 };
/** For an answer, on a busy machine too. */
const morePatient = { timeoutMs: 30_000 };
/** Longer than votes of one question may lie apart. */
const apartMs = 1_200;
const proxies: FaultProxy[] = [];

afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

/** A client whose way to each node can be closed. */
async function proxied(
  id: string,
  options: RedisQuorumCoordinatorOptions = {},
): Promise<QuorumActor> {
  const own = await Promise.all(fixture.nodes.map(({ port }) => FaultProxy.start(port)));
  proxies.push(...own);
  const urls = own.map(({ port }) => `redis://127.0.0.1:${port}`);
  const actor = new QuorumActor(fixture.client(options, urls), Holder.create(id, realRuntime));
  await actor.client.read(['warm'], { timeoutMs: 30_000 });
  return actor;
}

/** Resolves when the client knows: what it asks from then on is not even sent there. */
async function close({ client }: QuorumActor, ...numbers: number[]): Promise<void> {
  const lost = new Set<string>();
  client.on('disconnected', ({ address }) => lost.add(address));
  for (const number of numbers) {
    proxies[number]?.refuse(true);
    proxies[number]?.reset();
  }
  await expect.poll(() => lost.size).toBe(numbers.length);
}

function open(...numbers: number[]): void {
  for (const number of numbers) proxies[number]?.refuse(false);
}

const pause = (durationMs: number) => new Promise((resolve) => setTimeout(resolve, durationMs));

it('what a majority has said is the answer, though a second look at what nodes disagree about has none', async () => {
  const [ann, bob] = [await fixture.actor('ann'), await proxied('bob')];
  const term = await ann.take('job');
  await fixture.unheardBy([4], ann, () => ann.release('job', term));
  let lookCount = 0;
  for (const { up } of proxies) {
    let count = 0;
    const fateOf = (bytes: Buffer) => {
      if (!bytes.includes('job')) return 'none';
      count += 1;
      lookCount = Math.max(lookCount, count);
      return count > 1 ? 'swallow' : 'none';
    };
    up.set({ kind: 'judge', fateOf });
  }
  expect(await bob.client.read(['job'], { timeoutMs: 30_000 })).toEqual([undefined]);
  expect(lookCount, 'the second look was sent').toBe(2);
});

const questions = {
  'an operator stops a name': async ({ client }: QuorumActor, _: number, limit: CallOptions) =>
    (await client.suspend('job', act, limit)).state,
  'a lease is extended': async (
    { client, holder }: QuorumActor,
    term: number,
    limit: CallOptions,
  ) => {
    const request = { name: 'job', holder, term, ttlMs: longMs, metadata: '"later"' };
    return (await client.renew([request], limit))[0]?.outcome;
  },
};
const answers = ['suspended', 'renewed'];

/** Node 0 alone hears of it, and what `then` says happens before nodes 1 and 2 do. */
async function askedInTwoParts(
  ask: (actor: QuorumActor, term: number, limit: CallOptions) => Promise<unknown>,
  then: () => Promise<unknown>,
  limit = patient,
): Promise<unknown> {
  // A node that has just come back has time for its first answers, on a busy machine too.
  const ann = await proxied('ann', { nodeTimeoutMs: 1_000 });
  const term = await ann.take('job');
  const key = `{tenure:${fixture.namespace}}:lease:job`;
  const suspended = `{tenure:${fixture.namespace}}:suspended`;
  const before = await fixture.admins[0]?.get(key);
  await close(ann, 1, 2, 3, 4);
  const asking = ask(ann, term, limit).catch((error: Error) => error);
  await expect
    .poll(async () => {
      const count = await fixture.admins[0]?.hlen(suspended);
      return count === 1 || (await fixture.admins[0]?.get(key)) !== before;
    })
    .toBe(true);
  await then();
  open(1, 2);
  return asking;
}

describe.each(Object.entries(questions))('while %s', (_, ask) => {
  it('the vote of a node that lost its memory since does not count, though it has a vote again', async () => {
    const bob = await fixture.actor('bob');
    const answer = await askedInTwoParts(ask, async () => {
      const reseeded = bob.reseeded();
      await fixture.admins[0]?.flushall();
      await bob.client.read(['whatever'], call);
      await reseeded;
    });
    expect(answer).toBeInstanceOf(OutcomeUnknownError);
  });

  it('an early vote counts beside late ones if its node has lost nothing', async () => {
    const answer = await askedInTwoParts(ask, () => pause(apartMs), morePatient);
    expect(answers).toContain(answer);
  });
});

describe('an acquisition of several names', () => {
  it('is not said to have failed after one of them was granted', async () => {
    const ann = await proxied('ann');
    // Two contenders who never decide keep her from the other name.
    for (const [number, owner] of [0, 0, 1, 1].entries()) {
      const { wire } = Holder.create(`other-${owner}`, realRuntime);
      const text = `2L|1|${wire}|${longMs}|0|0|${String(owner).repeat(32)}|1|claim`;
      await fixture.admins[number]?.set(
        `{tenure:${fixture.namespace}}:lease:other`,
        text,
        'PX',
        longMs,
      );
    }
    const requests = [ann.request('job'), ann.request('other')];
    const acquiring = ann.client.acquire(requests, { timeoutMs: 30_000 });
    acquiring.catch(() => undefined);
    await expect
      .poll(async () => (await fixture.textsOf('lease:job')).filter((text) => text).length)
      .toBe(5);
    await expect
      .poll(async () => (await fixture.textsOf('lease:job')).join())
      .not.toContain('|claim');
    await close(ann, 0, 1, 2, 3, 4);
    await expect(acquiring).rejects.toThrow(OutcomeUnknownError);
  });
});

describe('what a minority executed before a majority was found to have lost its memory', () => {
  it('is not said to have failed', async () => {
    const ann = await fixture.actor('ann');
    const term = await ann.take('job');
    for (const number of [0, 1, 2]) await fixture.admins[number]?.flushall();
    const renewal = ann.renew('job', term);
    await expect(renewal).rejects.toThrow(OutcomeUnknownError);
    await expect(renewal).rejects.toThrow(/lost their memory/);
  });
});

const successions = {
  handoff: ({ client, holder }: QuorumActor, term: number, to: string) =>
    client.handoff([{ name: 'job', holder, term, to, reserveMs: longMs }], call),
  'revocation in favour of somebody': ({ client }: QuorumActor, term: number, to: string) =>
    client.revoke('job', { ...act, term, to, reserveMs: longMs }, call),
};

describe.each(Object.entries(successions))('a %s', (_, give) => {
  it('is not said to have succeeded while a majority may let another than the successor in', async () => {
    const ann = await fixture.actor('ann');
    const term = await ann.take('job');
    // As if this node had missed the grant.
    await fixture.admins[2]?.del(`{tenure:${fixture.namespace}}:lease:job`);
    fixture.freeze(3, 4);
    await expect(give(ann, term, 'bob')).rejects.toThrow(OutcomeUnknownError);
    fixture.thaw(3, 4);
  });
});

describe('a grant that a minority confirmed', () => {
  it('is no lease that an operator ends: nodes without a claim have not got it', async () => {
    const ann = await proxied('ann', { nodeTimeoutMs: 1_000 });
    const ops = await fixture.actor('ops');
    const lanes = proxies.map(({ up }) => up);
    const hold = async (...words: string[]) => {
      for (const lane of lanes)
        lane.set({
          kind: 'judge',
          fateOf: (bytes) => (words.some((word) => bytes.includes(word)) ? 'hold' : 'none'),
        });
      await Promise.all(lanes.map((lane) => lane.caught()));
    };
    const acquiring = ann.acquire('job', {}, patient);
    await hold('tenure: confirm');
    const start = `{tenure:${fixture.namespace}}`;
    await fixture.admins[2]?.hset(`${start}:suspended`, 'job', '1|1|["ops","maintenance"]');
    for (const number of [3, 4]) await fixture.admins[number]?.del(`${start}:lease:job`);
    await hold('tenure: end');
    expect(await fixture.textsOf('lease:job')).toEqual([
      expect.stringMatching(/\|$/),
      expect.stringMatching(/\|$/),
      expect.stringMatching(/\|claim$/),
      null,
      null,
    ]);
    expect(await ops.client.suspend('job', act, call)).toMatchObject({ ending: undefined });
    for (const lane of lanes) lane.heal();
    expect(await acquiring).toMatchObject({ outcome: 'held', current: { state: 'suspended' } });
  });
});

describe('a grant that a majority confirmed', () => {
  it('goes to the nodes that had no claim for it, before its holder knows of it', async () => {
    const ann = await proxied('ann', { nodeTimeoutMs: 1_000 });
    const lanes = proxies.map(({ up }) => up);
    const acquiring = ann.acquire('job', {}, patient);
    for (const lane of lanes)
      lane.set({
        kind: 'judge',
        fateOf: (bytes) => (bytes.includes('tenure: confirm') ? 'hold' : 'none'),
      });
    await Promise.all(lanes.map((lane) => lane.caught()));
    for (const number of [3, 4])
      await fixture.admins[number]?.del(`{tenure:${fixture.namespace}}:lease:job`);
    for (const lane of lanes) lane.heal();
    const result = await acquiring;
    if (result.outcome !== 'granted') expect.fail(result.outcome);
    await expect.poll(async () => new Set(await fixture.textsOf('lease:job')).size).toBe(1);
    expect(await ann.release('job', result.term)).toBe('ended');
    await expect
      .poll(async () => new Set(await fixture.textsOf('lease:job')))
      .toEqual(new Set([null]));
  });
});

describe('a reader', () => {
  it('who meets a change of owner halfway is not shown the name as free', async () => {
    const bob = await fixture.actor('bob');
    const term = await bob.take('job');
    const ann = await proxied('ann', { nodeTimeoutMs: 1_000 });
    const lanes = proxies.map(({ up }) => up);
    const cid = await proxied('cid', { nodeTimeoutMs: 1_000 });
    const readerLanes = proxies.slice(lanes.length).map(({ up }) => up);
    const handoff = { name: 'job', holder: bob.holder, term, to: 'ann', reserveMs: longMs };
    await bob.client.handoff([handoff], call);
    for (const lane of lanes)
      lane.set({
        kind: 'judge',
        fateOf: (bytes) => (bytes.includes('tenure: confirm') ? 'hold' : 'none'),
      });
    const acquiring = ann.acquire('job', {}, patient);
    await Promise.all(lanes.map((lane) => lane.caught()));
    for (const lane of readerLanes) {
      let count = 0;
      lane.set({ kind: 'judge', fateOf: () => (count++ === 0 ? 'none' : 'hold') });
    }
    const reading = cid.client.read(['job'], patient);
    await Promise.all(readerLanes.map((lane) => lane.caught()));
    for (const lane of lanes) lane.heal();
    const result = await acquiring;
    if (result.outcome !== 'granted') expect.fail(result.outcome);
    for (const lane of readerLanes) lane.heal();
    expect((await reading)[0]).toMatchObject({ state: 'held', term: result.term });
  });
});

describe('a document write', () => {
  it('that somebody else completed and followed is not said to have lost against that', async () => {
    const ann = await proxied('ann', { nodeTimeoutMs: 1_000 });
    const bob = await fixture.actor('bob');
    // Of her second step, node 0 alone hears in time.
    const late = proxies.slice(1).map(({ up }) => up);
    for (const lane of late)
      lane.set({ kind: 'judge', fateOf: (bytes) => (bytes.includes('outbid') ? 'hold' : 'none') });
    const writing = ann.client.writeDocument('pins', 'of ann', 0, patient);
    await Promise.all(late.map((lane) => lane.caught()));
    const key = `{tenure:${fixture.namespace}}:doc:pins`;
    await expect.poll(() => fixture.admins[0]?.hget(key, 'text')).toBe('of ann');
    expect(await bob.client.readDocument('pins', call)).toEqual({ version: 1, text: 'of ann' });
    const next = await bob.client.writeDocument('pins', 'of bob', 1, call);
    expect(next).toEqual({ outcome: 'written', version: 2 });
    for (const lane of late) lane.heal();
    await expect(writing).rejects.toThrow(OutcomeUnknownError);
  });
});
