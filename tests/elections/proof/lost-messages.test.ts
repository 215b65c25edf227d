import { describe, expect, it } from 'vitest';
import type { TermEntry } from '../../../src/coordinators/index.js';
import {
  acquireScript,
  endScript,
  renewScript,
} from '../../../src/coordinators/redis/scripts/index.js';
import type { LeasesOptions } from '../../../src/index.js';
import type { CandidateProcess, Death } from '../../support/electorate/candidate.js';
import { type Electorate, on, onFile } from '../../support/electorate/electorate.js';
import { holdRequests, swallowReply, swallowRequest } from '../../support/electorate/requests.js';

/*
 * Requests that get lost, answers that get lost, and requests that arrive when nobody expects them any more. On SQLite, where
 * a request is a function call, nothing can get lost on the way; what comes nearest is said in each title.
 */

/** For a leader that is to outlast a fault: long after the first failure of a renewal it has not given up. */
const patient = { ttlMs: 6_000, renewEveryMs: 1_000, attemptTimeoutMs: 1_000 };

/** Two candidates, of whom `a` leads behind a proxy and `b` waits. */
async function proxied(electorate: Electorate, leases: LeasesOptions = {}) {
  const { proxy, url } = await electorate.proxy();
  const a = await electorate.standing('a', { url, leases });
  const { term } = await electorate.leaderAfter(0, [a]);
  const b = await electorate.standing('b', { leases: patient });
  await electorate.untilWaiting(1);
  return { proxy, a, b, term };
}

/** It was in doubt, and then was not: still in its term, which nobody else has heard of losing. */
async function expectSurvival(
  electorate: Electorate,
  leader: CandidateProcess,
  term: number,
): Promise<void> {
  await leader.heard('uncertain');
  expect((await leader.heard('recovered')).term).toBe(term);
  expect(await leader.state()).toMatchObject({ state: 'held', term });
  expect(await leader.write()).toBe(true);
  expect(leader.story.all('lost')).toEqual([]);
  expect(await electorate.record()).toMatchObject({ state: 'held', term });
  expect(await electorate.violations()).toEqual([]);
}

function termsLedBy({ story }: CandidateProcess): number[] {
  return story.all('elected').map(({ term = 0 }) => term);
}

async function termsOf(electorate: Electorate): Promise<TermEntry[]> {
  return (await electorate.history()).filter((entry) => entry.kind === 'term');
}

describe.concurrent('one renewal that gets lost', { timeout: 60_000 }, () => {
  it(
    'on Redis: puts the leader in doubt, and its term survives',
    on('Redis', async (electorate) => {
      const { proxy, a, term } = await proxied(electorate, patient);
      await swallowRequest(proxy, renewScript);
      await expectSurvival(electorate, a, term);
    }),
  );

  it(
    'on SQLite, where one can only find the file locked for too long: the same',
    onFile(async (electorate, file) => {
      const a = await electorate.standing('a', { leases: patient });
      const { term } = await electorate.leaderAfter(0, [a]);
      const unlock = await file.lock();
      await a.heard('renewalFailed');
      unlock();
      await expectSurvival(electorate, a, term);
    }),
  );
});

describe.concurrent('an answer that gets lost on Redis', { timeout: 60_000 }, () => {
  it(
    'to an acquisition: what was granted unseen is given back, and the candidate leads in a later term, long before a ttl is over',
    on('Redis', async (electorate) => {
      const { proxy, url } = await electorate.proxy();
      const lost = swallowReply(proxy, acquireScript);
      const a = await electorate.standing('a', { url, leases: patient });
      await lost;
      const lostAtMs = performance.now();
      const { term } = await electorate.leaderAfter(0, [a]);
      expect(performance.now() - lostAtMs).toBeLessThan(patient.ttlMs);
      const [unseen, seen] = await termsOf(electorate);
      expect(unseen).toMatchObject({ holderId: 'a', endReason: 'abandoned' });
      expect(seen).toMatchObject({ holderId: 'a', term, endReason: undefined });
      expect(unseen?.term).toBeLessThan(term);
      expect(a.story.all('elected')).toHaveLength(1);
      expect(await electorate.violations()).toEqual([]);
    }),
  );

  it(
    'to a renewal, which was executed: puts the leader in doubt, and its term survives',
    on('Redis', async (electorate) => {
      const { proxy, a, term } = await proxied(electorate, patient);
      await swallowReply(proxy, renewScript);
      await expectSurvival(electorate, a, term);
    }),
  );

  it(
    'to a release: the leader has resigned, once, and the next is elected at once and not disturbed',
    on('Redis', async (electorate) => {
      const { proxy, a, b, term } = await proxied(electorate, patient);
      const lost = swallowReply(proxy, endScript);
      const resigned = a.resign();
      await lost;
      const next = await electorate.leaderAfter(term, [b]);
      expect(await resigned).toBe(true);
      expect(a.story.all('resigned')).toHaveLength(1);
      // By then it is connected again, and a candidate like others.
      await electorate.untilWaiting(1);
      expect(await electorate.record()).toMatchObject({ state: 'held', term: next.term });
      expect(b.story.all('elected')).toHaveLength(1);
      // On a very busy machine an acquisition may have come to nothing as well.
      const ends = (await termsOf(electorate)).map(({ endReason }) => endReason);
      expect(ends.filter((reason) => reason !== 'abandoned')).toEqual(['released', undefined]);
      expect(await electorate.violations()).toEqual([]);
    }),
  );
});

describe.concurrent('an answer that gets lost on SQLite, where only a process can die over it (SIGKILL beside the commit)', {
  timeout: 60_000,
}, () => {
  const dying = async (electorate: Electorate, dies: Death) => {
    const a = await electorate.standing('a', { dies });
    const { term } = await a.elected();
    return { a, term };
  };

  it.each(['before', 'after'] as const)(
    'to an acquisition, %s the commit: the next leads in a higher term',
    (moment) =>
      on('SQLite', async (electorate) => {
        // A file that is there already: the process does nothing but acquire.
        expect(await electorate.record()).toBeUndefined();
        const a = electorate.candidate('a', { dies: { at: 'acquire', moment } });
        await expect(a.lead()).rejects.toThrow(/SIGKILL/);
        const unseen = await electorate.record();
        expect(unseen?.state).toBe(moment === 'before' ? undefined : 'held');
        const b = await electorate.standing('b');
        const { term } = await electorate.leaderAfter(0, [b]);
        const terms = (await termsOf(electorate)).map(({ holderId }) => holderId);
        expect(terms).toEqual(moment === 'before' ? ['b'] : ['a', 'b']);
        expect(term).toBeGreaterThan(unseen?.state === 'held' ? unseen.term : 0);
        expect(a.story.all('elected')).toEqual([]);
        expect(await electorate.violations()).toEqual([]);
      })(),
  );

  it.each(['before', 'after'] as const)(
    'to a renewal, %s the commit: the next waits for what was committed, and leads in a higher term',
    (moment) =>
      on('SQLite', async (electorate) => {
        const { a, term } = await dying(electorate, { at: 'renew', moment });
        expect(await a.ended).toBe('SIGKILL');
        const record = await electorate.record();
        if (record?.state !== 'held') expect.fail('it died a moment ago');
        const isRenewed = record.renewedAtMs > record.grantedAtMs;
        expect(isRenewed).toBe(moment === 'after');
        const b = await electorate.standing('b');
        const next = await electorate.leaderAfter(term, [b]);
        expect(next.term).toBeGreaterThan(term);
        expect(await electorate.violations()).toEqual([]);
      })(),
  );

  it.each(['before', 'after'] as const)(
    'to a release, %s the commit: the name is free if and only if that was committed',
    (moment) =>
      on('SQLite', async (electorate) => {
        const { a, term } = await dying(electorate, { at: 'release', moment });
        await expect(a.resign()).rejects.toThrow(/SIGKILL/);
        expect((await electorate.record())?.state).toBe(moment === 'before' ? 'held' : undefined);
        const b = await electorate.standing('b');
        const next = await electorate.leaderAfter(term, [b]);
        expect(next.term).toBeGreaterThan(term);
        const ends = (await termsOf(electorate)).map(({ endReason }) => endReason);
        expect(ends).toEqual([moment === 'before' ? 'expired' : 'released', undefined]);
        expect(await electorate.violations()).toEqual([]);
      })(),
  );
});

describe.concurrent('requests that are delivered when somebody else leads', {
  timeout: 60_000,
}, () => {
  /** As it says who holds the name since when, and when that was last renewed. */
  async function recordOf(electorate: Electorate) {
    const record = await electorate.record();
    if (record?.state !== 'held') expect.fail('the successor leads');
    const { holder, term, leaseId, renewedAtMs } = record;
    return { whose: { wire: holder.wire, term, leaseId }, renewedAtMs };
  }

  /** What was under way is delivered, and when its sender is heard of again, it has been there. */
  async function expectUntouched(
    electorate: Electorate,
    former: CandidateProcess,
    deliver: () => void,
  ) {
    const before = await recordOf(electorate);
    deliver();
    await electorate.untilWaiting(1);
    const after = await recordOf(electorate);
    expect(after.whose).toEqual(before.whose);
    expect(termsLedBy(former).filter((term) => term > after.whose.term)).toEqual([]);
    expect(await electorate.violations()).toEqual([]);
    return after.renewedAtMs - before.renewedAtMs;
  }

  /** The same while the successor, which is stopped, renews nothing: so nobody does. */
  async function expectUnrenewed(
    electorate: Electorate,
    { former, successor }: Readonly<Record<'former' | 'successor', CandidateProcess>>,
    deliver: () => void,
  ) {
    successor.signal('SIGSTOP');
    const renewedMs = await expectUntouched(electorate, former, deliver);
    // It is told from what is left of the lease, by a clock of whole milliseconds.
    expect(Math.abs(renewedMs)).toBeLessThan(3);
    successor.signal('SIGCONT');
    expect((await successor.state()).state).toMatch(/^(held|uncertain)$/);
  }

  it(
    'on Redis, a renewal that was held on the way: leaves the record of the successor as it is',
    on('Redis', async (electorate) => {
      const { proxy, a, b, term } = await proxied(electorate);
      await holdRequests(proxy, renewScript);
      await electorate.leaderAfter(term, [b]);
      expect(await a.heard('lost')).toMatchObject({ term, reason: 'unreachable' });
      await expectUnrenewed(electorate, { former: a, successor: b }, () => proxy.heal());
    }),
  );

  it(
    'on Redis, a release that was held on the way: leaves the record of the successor as it is',
    on('Redis', async (electorate) => {
      const { proxy, a, b, term } = await proxied(electorate, patient);
      const held = holdRequests(proxy, endScript);
      const resigned = a.resign();
      await held;
      await electorate.leaderAfter(term, [b]);
      expect(await resigned).toBe(true);
      await expectUnrenewed(electorate, { former: a, successor: b }, () => proxy.heal());
    }),
  );

  it(
    'on SQLite, where they never leave their process, which was stopped with a renewal that waited for the lock: the same',
    onFile(async (electorate, file) => {
      const a = await electorate.standing('a');
      const { term } = await electorate.leaderAfter(0, [a]);
      const b = await electorate.standing('b');
      await electorate.untilWaiting(1);
      const unlock = await file.lock();
      await a.heard('renewalFailed');
      a.signal('SIGSTOP');
      unlock();
      const { term: later } = await electorate.leaderAfter(term, [b]);
      await expectUntouched(electorate, a, () => a.signal('SIGCONT'));
      expect(await a.heard('lost')).toMatchObject({ term, reason: 'unreachable' });
      expect(await b.state()).toMatchObject({ state: 'held', term: later });
    }),
  );
});
