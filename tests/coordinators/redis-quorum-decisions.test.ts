import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AcquireResult,
  type HeldRecord,
  Holder,
  type LeaseRecord,
} from '../../src/coordinators/index.js';
import { judgeClaim } from '../../src/coordinators/redis-quorum/grants/verdict.js';
import { validityMs } from '../../src/coordinators/redis-quorum/limits.js';
import { isCertain, majorityOf, mayHold } from '../../src/coordinators/redis-quorum/majority.js';
import { judgeMembership, markerOf } from '../../src/coordinators/redis-quorum/membership.js';
import { mergeLines } from '../../src/coordinators/redis-quorum/merge/history.js';
import {
  type Memory,
  mergeDocuments,
  mergeSuspensions,
} from '../../src/coordinators/redis-quorum/merge/memories.js';
import { mergeViews } from '../../src/coordinators/redis-quorum/merge/records.js';
import { mergeEnd, mergeRenewal } from '../../src/coordinators/redis-quorum/merge/refusals.js';
import { nodeUrls } from '../../src/coordinators/redis-quorum/url.js';
import { OptionError } from '../../src/errors/index.js';

const holders = ['a', 'b', 'c', 'd'].map((id, index) => new Holder(id, String(index).repeat(32)));
const attempts = holders.map((_, index) => String(index).repeat(32));

function held(owner: number, parts: Partial<HeldRecord> = {}): HeldRecord {
  return {
    state: 'held',
    name: 'job',
    holder: holders[owner] as Holder,
    term: 10,
    leaseId: attempts[owner] ?? '',
    ttlMs: 1_000,
    remainingMs: 500,
    grantedAtMs: 1,
    renewedAtMs: 1,
    metadata: undefined,
    graceMs: 0,
    revocation: undefined,
    ...parts,
  };
}

const claimOf = (owner: number) => held(owner, { metadata: 'claim' });

/** What contender `own` hears from nodes whose claims are `owners`; the others said nothing. */
function verdictOf(own: number, owners: readonly number[], nodeCount: number) {
  const results = owners.map(
    (owner): AcquireResult =>
      owner === own
        ? { outcome: 'granted', term: 10 }
        : { outcome: 'held', current: claimOf(owner) },
  );
  const request = { attempt: attempts[own] ?? '', holder: holders[own] as Holder };
  const quota = { majority: majorityOf(nodeCount), silentCount: nodeCount - owners.length };
  return judgeClaim(request, results, quota);
}

const claimed = fc.integer({ min: 3, max: 7 }).chain((nodeCount) =>
  fc.record({
    nodeCount: fc.constant(nodeCount),
    owners: fc.array(fc.integer({ min: 0, max: 3 }), {
      minLength: majorityOf(nodeCount),
      maxLength: nodeCount,
    }),
  }),
);

describe('contenders with claims at the nodes that answer', () => {
  it('are never granted it two at a time, and one of them comes first if nobody is', () => {
    fc.assert(
      fc.property(claimed, ({ nodeCount, owners }) => {
        const verdicts = holders.map((_, own) => verdictOf(own, owners, nodeCount));
        const winners = verdicts.filter(({ kind }) => kind === 'won');
        const first = verdicts.filter((verdict) => verdict.kind === 'split' && verdict.isFirst);
        expect(winners.length).toBeLessThanOrEqual(1);
        if (winners.length === 0) expect(first).toHaveLength(1);
        else expect(first).toEqual([]);
      }),
    );
  });

  it('give way to whoever has most, and among equals to the smallest attempt', () => {
    expect(verdictOf(1, [0, 0, 1, 1], 5)).toMatchObject({ kind: 'split', isFirst: false });
    expect(verdictOf(0, [0, 0, 1, 1], 5)).toMatchObject({ kind: 'split', isFirst: true });
    expect(verdictOf(1, [0, 1, 1, 2], 5)).toMatchObject({ kind: 'split', isFirst: true });
    expect(verdictOf(2, [0, 1, 1, 2], 5)).toMatchObject({ kind: 'split', isFirst: false });
  });

  it('take a claim for the lease that its attempt is at another node already', () => {
    const lease: AcquireResult = { outcome: 'held', current: held(1, { term: 12 }) };
    const claim: AcquireResult = { outcome: 'held', current: claimOf(1) };
    const request = { attempt: attempts[0] ?? '', holder: holders[0] as Holder };
    const verdict = judgeClaim(request, [claim, lease, claim], { majority: 3, silentCount: 2 });
    expect(verdict).toMatchObject({ kind: 'held', current: { term: 12 } });
  });
});

describe('a record', () => {
  const quota = (silentCount: number) => ({ majority: 3, silentCount });

  it('counts if a majority holds it, or may hold it', () => {
    fc.assert(
      fc.property(fc.nat(5), fc.nat(5), (holding, silentCount) => {
        fc.pre(holding + silentCount <= 5);
        const free = Array.from({ length: 5 - holding - silentCount }, () => undefined);
        const views = [...Array.from({ length: holding }, () => held(0)), ...free];
        const merged = mergeViews(views, quota(silentCount));
        expect(merged !== undefined).toBe(holding > 0 && holding + silentCount >= 3);
      }),
    );
  });

  it('is none while it is but claims', () => {
    expect(mergeViews([claimOf(0), claimOf(0), claimOf(0)], quota(2))).toBeUndefined();
  });

  it('has as much time left as a majority supports', () => {
    const views = [900, 100, 800, 700, 50].map((remainingMs) => held(0, { remainingMs }));
    expect(mergeViews(views, quota(0))).toMatchObject({ remainingMs: 700 });
  });

  it('is at the first stage that a majority may not have passed', () => {
    const delay: LeaseRecord = { state: 'lock-delay', name: 'job', term: 10, remainingMs: 9 };
    const views = (heldCount: number) => [
      ...Array.from({ length: heldCount }, () => held(0)),
      ...Array.from({ length: 5 - heldCount }, () => delay),
    ];
    expect(mergeViews(views(3), quota(0))?.state).toBe('held');
    expect(mergeViews(views(2), quota(0))?.state).toBe('lock-delay');
  });

  it('is suspended or revoked if a majority may know that it is', () => {
    const act = { by: 'ops', reason: 'why', atMs: 5 };
    const suspended: LeaseRecord = {
      state: 'suspended',
      name: 'job',
      suspension: act,
      ending: undefined,
    };
    const free = undefined;
    expect(mergeViews([suspended, suspended, suspended, free, free], quota(0))).toEqual(suspended);
    expect(mergeViews([suspended, suspended, free, free, free], quota(0))).toBeUndefined();
    const revoked = held(0, { revocation: act });
    const lasting = held(0);
    const few = [revoked, revoked, lasting, lasting, lasting];
    expect(mergeViews(few, quota(0))).toMatchObject({ revocation: undefined });
    const many = [revoked, revoked, revoked, lasting, lasting];
    expect(mergeViews(many, quota(0))).toMatchObject({ revocation: act });
  });
});

describe('a renewal and an end', () => {
  it('count if a majority did it, and are unknown if it may have', () => {
    const quota = (silentCount: number) => ({ majority: 3, silentCount });
    const renewed = 'renewed' as const;
    expect(mergeRenewal([renewed, renewed, renewed, 'vanished'], quota(1))?.outcome).toBe(
      'renewed',
    );
    expect(mergeRenewal([renewed, renewed, 'vanished'], quota(2))).toBeUndefined();
    const lost = mergeRenewal([renewed, renewed, 'vanished', 'revoked', 'superseded'], quota(0));
    expect(lost).toEqual({ outcome: 'not-yours', reason: 'revoked' });
    const few = ['ended', 'ended', 'vanished', 'vanished'] as const;
    expect(mergeEnd(few, quota(1), false)?.outcome).toBe('ended');
    expect(mergeEnd(few, quota(1), true)).toBeUndefined();
    const late = mergeEnd(
      ['ended', 'vanished', 'vanished', 'vanished', 'vanished'],
      quota(0),
      false,
    );
    expect(late).toEqual({ outcome: 'not-yours', reason: 'vanished' });
    expect(mergeEnd(['ended', 'ended'], quota(3), false)).toBeUndefined();
  });

  it('leave a holder its ttl, less the time that passed and the drift of clocks', () => {
    expect(validityMs(10_000, 1_000)).toBe(10_000 - 1_000 - 102);
    expect(validityMs(1_000, 1_000)).toBeLessThan(0);
  });

  it('are certain when what is silent changes nothing', () => {
    fc.assert(
      fc.property(fc.nat(5), fc.nat(5), (count, silentCount) => {
        fc.pre(count + silentCount <= 5);
        const outcomes = Array.from({ length: silentCount + 1 }, (_, more) => count + more >= 3);
        const isSame = outcomes.every((outcome) => outcome === outcomes[0]);
        if (isCertain({ count, silentCount, majority: 3 }) && count > 0) expect(isSame).toBe(true);
        const might = outcomes.some((outcome) => outcome) && count > 0;
        expect(mayHold({ count, silentCount, majority: 3 })).toBe(might);
      }),
    );
  });
});

describe('what nodes remember', () => {
  const hash = (value: readonly string[]): Memory => ({ key: 'k', kind: 'hash', lifeMs: 0, value });

  it('of a suspension is forgotten if somebody knows of its end', () => {
    const suspensions = [hash(['job', 'one']), hash(['job', 'one', 'other', 'two'])];
    const merged = mergeSuspensions(suspensions, [hash(['job', 'one'])]);
    expect([...merged]).toEqual([['other', 'two']]);
    expect([...mergeSuspensions(suspensions, [hash(['job', 'an older one'])])]).toHaveLength(2);
  });

  it('of a document is what was accepted last, and the highest promise', () => {
    const [second, third, ninth] = [2, 3, 9].map(
      (number) => `${String(number).padStart(16, '0')}.0123456789abcdef`,
    ) as [string, string, string];
    const one = hash(['promised', ninth, 'ballot', second, 'version', '1', 'text', 'old']);
    const two = hash(['promised', third, 'ballot', third, 'version', '2', 'text', 'new']);
    const merged = mergeDocuments([one, two]);
    expect(merged?.value).toEqual([
      ...['promised', ninth, 'ballot', third, 'version', '2', 'text', 'new'],
    ]);
  });

  it('of a history is what a majority may know, in order, with the end that most say', () => {
    const lasting = '1T|7|ann|1||';
    const ended = (at: number, reason = 'released') => `1T|7|ann|1|${at}|${reason}`;
    const act = '1A|suspend|4||["ops","why"]';
    const quota = { majority: 3, silentCount: 0 };
    const lists = [[ended(5), act], [ended(6), act], [ended(9, 'expired'), act], [lasting]];
    expect(mergeLines(lists, quota)).toEqual([ended(5), act]);
    expect(mergeLines([[lasting, act], [lasting], [lasting]], quota)).toEqual([lasting]);
    expect(mergeLines([[lasting, act]], { majority: 3, silentCount: 2 })).toEqual([lasting, act]);
  });
});

describe('membership', () => {
  const terms = { nodeCount: 5, largestTtlMs: 1_000 };
  const marker = markerOf(terms, ['1', '2', '3', '4', '5']);
  const view = (text: string | null) => ({
    kind: 'answered' as const,
    answer: { marker: text, identity: null, isUsedAlone: false },
  });
  const silent = { kind: 'pending' as const };
  const votes = (texts: readonly (string | null | undefined)[]) =>
    texts.map((text) => (text === undefined ? silent : view(text)));

  it('follows from the identities of all nodes, in whichever order', () => {
    expect(markerOf(terms, ['5', '4', '3', '2', '1'])).toBe(marker);
    expect(markerOf(terms, ['5', '4', '3', '2', '6'])).not.toBe(marker);
  });

  it.each([
    ['members', [marker, marker, marker, null, undefined]],
    ['members', [marker, marker, marker, 'another', null]],
    ['new', [null, null, null, null, null]],
    ['new', [marker, null, null, null, null]],
    ['forgotten', [marker, null, null, null, undefined]],
    ['unknown', [null, null, null, null, undefined]],
    ['unknown', [marker, marker, null, null, undefined]],
    ['unknown', [marker, marker, undefined, undefined, undefined]],
  ])('is "%s" where nodes say %j', (kind, texts) => {
    expect(judgeMembership(votes(texts)).kind).toBe(kind);
  });
});

describe('the URL of a quorum', () => {
  it('is those of its nodes', () => {
    expect(nodeUrls('redis+quorum://user:p%40w@h1,h2:6380,[::1]:6381/2')).toEqual([
      'redis://user:p%40w@h1/2',
      'redis://user:p%40w@h2:6380/2',
      'redis://user:p%40w@[::1]:6381/2',
    ]);
    expect(nodeUrls('rediss+quorum://h1,h2,h3')[0]).toBe('rediss://h1');
    expect(nodeUrls(['redis://h1', 'redis://h2', 'redis://h3'])).toHaveLength(3);
  });

  it.each([
    'redis+quorum://h1,h2',
    'redis+quorum://h1,h2,h1:6379',
    'redis+quorum://h1,,h2,h3',
    'redis+quorum://h1,h2,h3?timeout=1',
    'redis://h1,h2,h3',
    'redis+quorum://user:secret@h1 ,h2,h3:port',
  ])('is refused, and not shown, if it is %s', (url) => {
    expect(() => nodeUrls(url)).toThrow(OptionError);
    expect(() => nodeUrls(url)).not.toThrow(/secret/);
  });
});
