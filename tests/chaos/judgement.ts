import { fallingTerms, sharedTerms } from '../support/witness.js';
import type { Row } from './resource.js';

/** A write of which a holder was told that it is there. */
export interface Acknowledged {
  readonly key: string;
  readonly seq: number;
  readonly term: number;
}

/**
 * What the rows of the resource prove against those who wrote them, one line each; nothing if all is well. It looks at
 * nothing else than the rows, and at what writers were told of them.
 *
 * - the terms of accepted writes never fall;
 * - nobody writes in the term of another incarnation;
 * - the numbers of each key follow one another: none is doubled, none is left out;
 * - every write that was acknowledged is there.
 */
export function violationsIn(
  rows: readonly Row[],
  acknowledged: readonly Acknowledged[] = [],
): string[] {
  const attempts = rows.map((row) => ({
    atMs: Math.round(row.atMs),
    holderId: row.who,
    digest: row.holder,
    term: row.term,
    wasAccepted: true,
  }));
  return [
    ...fallingTerms(attempts),
    ...sharedTerms(attempts),
    ...[...byKey(rows)].flatMap(([key, own]) => brokenSequence(key, own)),
    ...missing(rows, acknowledged),
  ];
}

function byKey(rows: readonly Row[]): Map<string, Row[]> {
  const keys = new Map<string, Row[]>();
  for (const row of rows) {
    const own = keys.get(row.key) ?? [];
    own.push(row);
    keys.set(row.key, own);
  }
  return keys;
}

function brokenSequence(key: string, rows: readonly Row[]): string[] {
  let last = 0;
  return rows.flatMap(({ seq, who, term }) => {
    const expected = last + 1;
    last = Math.max(last, seq);
    if (seq === expected) return [];
    const what = seq < expected ? 'is there a second time' : `came where ${expected} was due`;
    return [`${seq} of ${key} ${what}, from ${who} in term ${term}`];
  });
}

function missing(rows: readonly Row[], acknowledged: readonly Acknowledged[]): string[] {
  const nameOf = ({ key, seq, term }: Acknowledged) => `${seq} of ${key} in term ${term}`;
  const known = new Set(rows.map(nameOf));
  return acknowledged
    .map(nameOf)
    .filter((name) => !known.has(name))
    .map((name) => `${name} was acknowledged and is not there`);
}
