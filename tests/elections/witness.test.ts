import { describe, expect, it } from 'vitest';
import { type Attempt, judge, type WitnessedTerm } from '../support/witness.js';

const terms: WitnessedTerm[] = [
  { term: 1, holderId: 'a', grantedAtMs: 100, endedAtMs: 200 },
  { term: 2, holderId: 'b', grantedAtMs: 250, endedAtMs: undefined },
];
const write = (term: number, holderId: string, atMs: number, more: Partial<Attempt> = {}) => ({
  term,
  holderId,
  digest: `digest of ${holderId}`,
  atMs,
  wasAccepted: true,
  ...more,
});

describe('the witness', () => {
  it('has nothing to say against writes in their own terms, and refused ones outside them', () => {
    const refused = write(1, 'a', 300, { wasAccepted: false });
    const log = [write(1, 'a', 100), write(1, 'a', 200), write(2, 'b', 250), refused];
    expect(judge([...log, write(2, 'b', 999)], terms, 0)).toEqual([]);
  });

  it.each<[string, Attempt[], RegExp]>([
    ['a term that falls', [write(2, 'b', 260), write(1, 'a', 150)], /after term 2/],
    [
      'two incarnations in one term',
      [write(1, 'a', 110), write(1, 'a', 120, { digest: 'another' })],
      /somebody else's term/,
    ],
    ['a term of another', [write(2, 'a', 260)], /granted to b/],
    ['a term that never was', [write(3, 'a', 260)], /never granted/],
    ['a write before its grant', [write(2, 'b', 249)], /before its grant/],
    ['a write after its end', [write(1, 'a', 201)], /1 ms after its term had ended/],
  ])('accuses %s', (_, log, line) => {
    expect(judge(log, terms, 0)).toEqual([expect.stringMatching(line)]);
  });

  it('tolerates what clocks differ by', () => {
    expect(judge([write(1, 'a', 90), write(1, 'a', 210)], terms, 10)).toEqual([]);
    expect(judge([write(1, 'a', 89), write(1, 'a', 211)], terms, 10)).toHaveLength(2);
  });
});
