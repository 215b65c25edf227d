import { describe, expect, it } from 'vitest';
import {
  type Candidate,
  type HeldRecord,
  type HistoryEntry,
  Holder,
} from '../../src/coordinators/index.js';
import { withLeader } from '../../src/elections/candidates.js';
import { withVacancies } from '../../src/elections/history.js';
import { metadataText, parseMetadata } from '../../src/elections/metadata.js';
import { OptionError } from '../../src/errors/index.js';
import { untyped } from '../support/untyped.js';

describe('what a candidate says about itself', () => {
  it('is host and process id, or any JSON', () => {
    expect(JSON.parse(metadataText())).toMatchObject({ pid: process.pid });
    expect(metadataText({ zone: ['a', 1, true, null] })).toBe('{"zone":["a",1,true,null]}');
    expect(metadataText(null)).toBe('null');
  });

  it.each<[string, unknown]>([
    ['a function', () => {}],
    ['a bigint', 5n],
    ['a circle', Object.assign([] as unknown[], { 0: undefined })],
    ['too long', 'x'.repeat(4_096)],
    ['nested too deep', JSON.parse('['.repeat(17) + ']'.repeat(17))],
  ])('is refused at once if it is %s', (what, value) => {
    if (what === 'a circle') (value as unknown[])[0] = value;
    expect(() => metadataText(untyped(value))).toThrow(OptionError);
    expect(() => metadataText(untyped(value))).toThrow(/^metadata /);
  });

  it('never shows in an error', () => {
    expect(() => metadataText(`secret${'x'.repeat(4_096)}`)).not.toThrow(/secret/);
  });

  it('is read with care when it comes from others', () => {
    expect(parseMetadata(undefined)).toBeUndefined();
    expect(parseMetadata('no json')).toBeUndefined();
    expect(parseMetadata('['.repeat(17) + ']'.repeat(17))).toBeUndefined();
    const value = parseMetadata('{"__proto__":{"admin":true},"zone":{"__proto__":1,"b":2}}');
    expect(value).toEqual({ zone: { b: 2 } });
    expect(Object.getOwnPropertyNames(value)).toEqual(['zone']);
  });
});

describe('the candidates of an election', () => {
  it('are led by the incarnation that holds the name, not by its id or standing', () => {
    const [one, twin] = ['a', 'b'].map((digit) => new Holder('a', digit.repeat(32))) as [
      Holder,
      Holder,
    ];
    const entry = (digest: string): Candidate => ({
      id: 'a',
      digest,
      standing: 'present',
      preference: 0,
      sinceMs: 0,
      remainingMs: 1,
      metadata: undefined,
    });
    const candidates = [entry(one.digest), entry(twin.digest)];
    const record = { state: 'held', holder: twin } as HeldRecord;
    expect(withLeader(candidates, record).map(({ leads }) => leads)).toEqual([false, true]);
    expect(withLeader(candidates, undefined).map(({ leads }) => leads)).toEqual([false, false]);
  });

  it('include a leader that has no entry yet, in its place, by what its lease says', () => {
    const holder = new Holder('m', 'a'.repeat(32));
    const entry = (id: string, standing: Candidate['standing']): Candidate => ({
      id,
      digest: id,
      standing,
      preference: 0,
      sinceMs: 0,
      remainingMs: 1,
      metadata: undefined,
    });
    const held = { state: 'held', holder, grantedAtMs: 7, remainingMs: 900, metadata: '{"z":1}' };
    const record = held as HeldRecord;
    const among = (...candidates: Candidate[]) =>
      withLeader(candidates, record).map(({ id, leads }) => `${id}${leads ? ' leads' : ''}`);
    expect(among(entry('z', 'waiting'), entry('a', 'present'), entry('o', 'observing'))).toEqual([
      'z',
      'a',
      'm leads',
      'o',
    ]);
    expect(among()).toEqual(['m leads']);
    expect(withLeader([], record)).toEqual([
      {
        id: 'm',
        digest: holder.digest,
        standing: 'present',
        preference: 0,
        sinceMs: 7,
        remainingMs: 900,
        metadata: { z: 1 },
        leads: true,
      },
    ]);
    expect(withLeader([], { ...record, state: 'reserved' } as never)).toEqual([]);
  });
});

describe('the history of an election', () => {
  const term = (number: number, grantedAtMs: number, endedAtMs?: number): HistoryEntry => ({
    kind: 'term',
    term: number,
    holderId: 'a',
    grantedAtMs,
    endedAtMs,
    endReason: endedAtMs === undefined ? undefined : 'released',
  });
  const suspended: HistoryEntry = { kind: 'act', act: 'suspend', by: 'x', reason: 'y', atMs: 30 };

  it('says how long nobody led before each term, whatever operators did meanwhile', () => {
    const entries = withVacancies([term(1, 0, 20), suspended, term(2, 50, 60), term(3, 60)]);
    expect(entries).toEqual([
      { ...term(1, 0, 20), vacantMs: undefined },
      suspended,
      { ...term(2, 50, 60), vacantMs: 30 },
      { ...term(3, 60), vacantMs: 0 },
    ]);
  });

  it('does not say it where the end before is not known, and never less than nothing', () => {
    const entries = withVacancies([term(1, 0), term(2, 50, 90), term(3, 70)]);
    expect(entries.map((entry) => entry.kind === 'term' && entry.vacantMs)).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });
});
