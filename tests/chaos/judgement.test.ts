import { describe, expect, it } from 'vitest';
import { violationsIn } from './judgement.js';
import type { Row } from './resource.js';

/** `key:seq term holder` */
function rows(...lines: readonly string[]): Row[] {
  return lines.map((line, index) => {
    const [, key = '', seq, term, holder = ''] = /^(\w+):(\d+) (\d+) (\w+)$/.exec(line) ?? [];
    const position = index + 1;
    return {
      ...{ position, atMs: position, kind: 'effect', name: 'payments', key },
      ...{ seq: Number(seq), term: Number(term), holder, who: `${holder}.1` },
    };
  });
}

describe('the rows of the resource', () => {
  it('say nothing against owners that follow one another', () => {
    const all = rows('x:1 5 a', 'y:1 5 a', 'x:2 5 a', 'x:3 7 b', 'y:2 7 b');
    expect(violationsIn(all, [{ key: 'y', seq: 2, term: 7 }])).toEqual([]);
  });

  it.each([
    ['a term that falls', rows('x:1 5 a', 'x:2 7 b', 'x:3 5 a'), /accepted after term 7/],
    ['two incarnations in one term', rows('x:1 5 a', 'x:2 5 b'), /somebody else's term/],
    ['a number that is doubled', rows('x:1 5 a', 'x:1 6 b'), /1 of x is there a second time/],
    ['a number that is left out', rows('x:1 5 a', 'x:3 5 a'), /3 of x came where 2 was due/],
    ['a first number that is not 1', rows('x:2 5 a'), /2 of x came where 1 was due/],
  ])('prove %s', (_, all, violation) => {
    expect(violationsIn(all)).toEqual([expect.stringMatching(violation)]);
  });

  it('prove that an acknowledged write is gone', () => {
    const told = [
      { key: 'x', seq: 1, term: 5 },
      { key: 'x', seq: 2, term: 5 },
    ];
    expect(violationsIn(rows('x:1 5 a'), told)).toEqual([
      '2 of x in term 5 was acknowledged and is not there',
    ]);
  });
});
