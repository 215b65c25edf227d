import { isLong } from './rounds.js';

/**
 * What somebody may write into the columns of our tables, as literals of SQL. A value that would make another lease of it
 * whose time is over is not among them.
 */
export type Columns = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

export const texts: readonly string[] = ["''", "'x'", "'a:b'", '\'{"toString":1}\'', "'[1,2'"];
export const longText = `'${'x'.repeat(100_000)}'`;
export const wholes: readonly string[] = ['-1', '0', '9007199254740993', '9223372036854775807'];

export interface Change {
  readonly table: string;
  readonly column: string;
  readonly value: string;
}

export function changesOf(columns: Columns): Change[] {
  return Object.entries(columns).flatMap(([table, ofTable]) =>
    Object.entries(ofTable).flatMap(([column, values]) =>
      values.map((value) => ({ table, column, value })),
    ),
  );
}

/** One value for each column, another one with another seed; in the long tier all. */
export function ofEachColumn(columns: Columns, seed: number): Change[] {
  if (isLong) return changesOf(columns);
  return Object.entries(columns).flatMap(([table, ofTable]) =>
    Object.entries(ofTable).map(([column, values], index) => ({
      table,
      column,
      value: values[(index + seed) % values.length] as string,
    })),
  );
}
