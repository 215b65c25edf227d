import type { styleText } from 'node:util';
import { columnsOf } from '../../display/visible.js';

/** A line, or a part of one: visible texts with their styles, and how many columns they take. */
export interface Strip {
  readonly pieces: readonly Piece[];
  readonly columns: number;
}

interface Piece {
  readonly text: string;
  readonly columns: number;
  readonly styled: (text: string) => string;
}

export type Format = Parameters<typeof styleText>[0];
/** As `Terminal.style`. */
export type Paint = (format: Format, text: string) => string;

const segmenter = new Intl.Segmenter();

/** A visible text in exactly so many columns: cut with an ellipsis, or filled with spaces. */
export function inColumns(text: string, columns: number): string {
  if (columns <= 0) return '';
  const cut = columnsOf(text) <= columns ? text : cutTo(text, columns);
  return cut + ' '.repeat(Math.max(0, columns - columnsOf(cut)));
}

/** The same in so many columns at most: of ids the end tells one replica from another, so that the middle is left out. */
export function shortened(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  const segments = [...segmenter.segment(text)].map(({ segment }) => segment);
  const tail: string[] = [];
  let used = 0;
  for (const segment of segments.reverse()) {
    used += columnsOf(segment);
    if (used > Math.floor((columns - 1) / 2)) break;
    tail.unshift(segment);
  }
  const end = tail.join('');
  return cutTo(text, columns - columnsOf(end)) + end;
}

function cutTo(text: string, columns: number): string {
  let kept = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    const width = columnsOf(segment);
    if (used + width > columns - 1) break;
    kept += segment;
    used += width;
  }
  return `${kept}…`;
}

const asIs = (text: string) => text;

export const emptyStrip: Strip = { pieces: [], columns: 0 };

/** A visible text in exactly so many columns. */
export function strip(text: string, columns: number, styled = asIs): Strip {
  const width = Math.max(0, columns);
  return { pieces: [{ text: inColumns(text, width), columns: width, styled }], columns: width };
}

/** Side by side. */
export function beside(...strips: readonly Strip[]): Strip {
  return {
    pieces: strips.flatMap(({ pieces }) => pieces),
    columns: strips.reduce((sum, { columns }) => sum + columns, 0),
  };
}

/** Two panels of lines side by side, the left one filled up to its width. */
export function panels(
  left: readonly Strip[],
  leftColumns: number,
  right: readonly Strip[],
): Strip[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, index) => {
    const one = left[index] ?? emptyStrip;
    return beside(one, strip('', leftColumns - one.columns), right[index] ?? emptyStrip);
  });
}

/** As it is written to a terminal of so many columns: what does not fit is cut off. */
export function render({ pieces }: Strip, columns: number): string {
  let room = columns;
  const texts = pieces.map(({ text, columns: width, styled }) => {
    const shown = width <= room ? text : inColumns(text, room);
    room -= Math.min(room, width);
    return shown === '' ? '' : styled(shown);
  });
  return texts.join('').trimEnd();
}
