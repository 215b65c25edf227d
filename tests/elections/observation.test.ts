import { describe, expect, it } from 'vitest';
import { type HeldRecord, Holder, type LeaseRecord } from '../../src/coordinators/index.js';
import {
  fail,
  forget,
  isSame,
  type Knowledge,
  learn,
  look,
  nothingKnown,
  validForMs,
} from '../../src/elections/observation.js';
import type { Instant } from '../../src/time/index.js';

const self = new Holder('self', 'a'.repeat(32));
const other = new Holder('other', 'b'.repeat(32));
const staleAfterMs = 3_000;

const at = (ms: number): Instant => ({ monotonicMs: ms, uptimeMs: ms, wallMs: ms });

function held(term: number, more: Partial<HeldRecord> = {}): HeldRecord {
  return {
    state: 'held',
    name: 'payments',
    holder: other,
    term,
    leaseId: 'c'.repeat(32),
    ttlMs: 6_000,
    remainingMs: 5_000,
    grantedAtMs: 0,
    renewedAtMs: 0,
    metadata: undefined,
    graceMs: 0,
    revocation: undefined,
    ...more,
  };
}

const suspension = { by: 'ops', reason: 'migration', atMs: 1 };

/** What is known after these answers, each asked for at its time. */
function learned(...answers: readonly (readonly [ms: number, record: LeaseRecord | undefined])[]) {
  return answers.reduce<Knowledge>(
    (knowledge, [ms, record]) => learn(knowledge, record, { sentAt: at(ms), self, staleAfterMs }),
    nothingKnown,
  );
}

describe('what an observer says', () => {
  it('is nothing before the first read has ended', () => {
    expect(look(nothingKnown, at(0))).toBeUndefined();
  });

  it('tells who leads, in which term, with what it says about itself', () => {
    const record = held(7, { metadata: '{"zone":"a"}' });
    expect(look(learned([0, record]), at(100))).toEqual({
      state: 'led',
      holderId: 'other',
      term: 7,
      metadata: { zone: 'a' },
      isSelf: false,
    });
  });

  it('tells a leader that is this very incarnation from one with the same id', () => {
    const twin = new Holder('self', 'd'.repeat(32));
    expect(look(learned([0, held(7, { holder: self })]), at(0))).toMatchObject({ isSelf: true });
    expect(look(learned([0, held(7, { holder: twin })]), at(0))).toMatchObject({ isSelf: false });
  });

  it.each<[string, LeaseRecord | undefined, object]>([
    ['free', undefined, {}],
    [
      'reserved',
      { state: 'reserved', name: 'payments', to: 'b', term: 3, remainingMs: 900 },
      { to: 'b' },
    ],
    [
      'lock-delay',
      { state: 'lock-delay', name: 'payments', term: 3, remainingMs: 900 },
      { afterTerm: 3 },
    ],
    [
      'suspended',
      { state: 'suspended', name: 'payments', suspension, ending: held(3) },
      { suspension, ending: { holderId: 'other', term: 3 } },
    ],
  ])('tells that nobody leads because the name is %s', (because, record, more) => {
    expect(look(learned([0, record]), at(1))).toEqual({ state: 'nobody', because, ...more });
  });
});

describe('what an observer knows', () => {
  const led = learned([100, held(7)]);

  it('is good for as long as the store let the lease live when it was asked, counted from the asking', () => {
    expect(look(led, at(5_099))).toMatchObject({ state: 'led' });
    expect(look(led, at(5_100))).toMatchObject({ state: 'unsure', because: 'outdated' });
    expect(validForMs(led, at(1_100))).toBe(4_000);
    expect(validForMs(led, at(9_000))).toBe(0);
  });

  it('counts the time a suspended machine did not notice', () => {
    const woken = { monotonicMs: 200, uptimeMs: 6_000, wallMs: 200 };
    expect(look(led, woken)).toMatchObject({ state: 'unsure' });
  });

  it('outlives failed reads until its time is over, if somebody leads or a lock-delay runs', () => {
    const delayed = learned([
      100,
      { state: 'lock-delay', name: 'payments', term: 3, remainingMs: 5_000 },
    ]);
    for (const knowledge of [led, delayed]) {
      expect(look(fail(knowledge, 'unreachable'), at(5_099))).toEqual(look(knowledge, at(5_099)));
      expect(look(fail(knowledge, 'unreachable'), at(5_100))).toMatchObject({
        because: 'unreachable',
      });
    }
  });

  it.each<[string, LeaseRecord | undefined]>([
    ['free', undefined],
    ['reserved', { state: 'reserved', name: 'payments', to: 'b', term: 3, remainingMs: 9_000 }],
    ['suspended', { state: 'suspended', name: 'payments', suspension, ending: undefined }],
  ])(
    'ends with the first failed read, and after a while by itself, if the name is %s',
    (_, record) => {
      const knowledge = learned([0, record]);
      const last = look(knowledge, at(2_999));
      expect(last).toMatchObject({ state: 'nobody' });
      expect(look(fail(knowledge, 'unreachable'), at(1))).toEqual({
        state: 'unsure',
        because: 'unreachable',
        last,
      });
      expect(look(knowledge, at(3_000))).toEqual({ state: 'unsure', because: 'outdated', last });
    },
  );

  it('says that something foreign stands there, where the store did answer', () => {
    const unsure = { state: 'unsure', because: 'corrupt' };
    expect(look(fail(nothingKnown, 'corrupt'), at(0))).toMatchObject(unsure);
    expect(look(fail(learned([0, undefined]), 'corrupt'), at(1))).toMatchObject(unsure);
    expect(look(fail(led, 'corrupt'), at(5_099))).toMatchObject({ state: 'led' });
    expect(look(fail(led, 'corrupt'), at(5_100))).toMatchObject(unsure);
  });

  it('says that it is unsure when not even the first read succeeds', () => {
    const unsure = { state: 'unsure', because: 'unreachable', last: undefined };
    expect(look(fail(nothingKnown, 'unreachable'), at(0))).toEqual(unsure);
  });

  it('never lets a term fall: a store that answers with a lower one has lost data', () => {
    const fallen = learned([0, held(7)], [10, held(6)]);
    expect(look(fallen, at(11))).toMatchObject({
      state: 'unsure',
      because: 'term-fell',
      last: { term: 7 },
    });
    const risen = learn(fallen, held(8), { sentAt: at(20), self, staleAfterMs });
    expect(look(risen, at(21))).toMatchObject({ state: 'led', term: 8 });
  });

  it('remembers terms of reservations and of ending leaders, and across a time without observers', () => {
    const reserved: LeaseRecord = {
      state: 'reserved',
      name: 'payments',
      to: 'b',
      term: 7,
      remainingMs: 900,
    };
    const ending: LeaseRecord = {
      state: 'suspended',
      name: 'payments',
      suspension,
      ending: held(7),
    };
    for (const record of [reserved, ending, held(7)]) {
      const forgotten = forget(learned([0, record]));
      expect(look(forgotten, at(0))).toBeUndefined();
      const asked = { sentAt: at(1), self, staleAfterMs };
      expect(look(learn(forgotten, held(6), asked), at(2))).toMatchObject({ because: 'term-fell' });
      expect(look(learn(forgotten, held(7), asked), at(2))).toMatchObject({ state: 'led' });
    }
  });

  it('is the same if only the remaining time differs, or the reason of not knowing', () => {
    const later = learned([0, held(7)], [10, held(7, { remainingMs: 6_000 })]);
    const said = look(later, at(11));
    expect(said && isSame(look(learned([0, held(7)]), at(1)), said)).toBe(true);
    const changed = look(learned([0, held(7, { metadata: '1' })]), at(1));
    expect(changed && isSame(said, changed)).toBe(false);
    const unsure = look(fail(nothingKnown, 'unreachable'), at(0));
    const outdated = look(led, at(9_000));
    expect(outdated && isSame(unsure, outdated)).toBe(true);
  });
});
