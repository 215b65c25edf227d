import { historyCount } from '../../history.js';
import { parseLine } from '../../redis/index.js';
import { mayHold } from '../majority.js';

/** How many nodes have to know of a line, and how many said nothing. */
export interface LineSupport {
  readonly majority: number;
  readonly silentCount: number;
}

const endOf = /\|(\d*)\|([a-z-]*)$/;

interface Line {
  readonly texts: string[];
  /** How many nodes know of it. */
  count: number;
}

/**
 * One history out of several nodes' (see `../../redis/history.ts` for the lines), oldest first.
 *
 * A line counts if a majority may know of it; that of a term is the same line whether it has its end or not, and its end is
 * what most say, with the middle of the times. The order is that of the node that knows most.
 */
export function mergeLines(lists: readonly (readonly string[])[], support: LineSupport): string[] {
  const lines = new Map<string, Line>();
  for (const list of lists) {
    for (const [key, text] of new Map(list.map((text) => [keyOf(text), text]))) {
      const line = lines.get(key) ?? { texts: [], count: 0 };
      line.texts.push(text);
      line.count += 1;
      lines.set(key, line);
    }
  }
  const counts = ({ count }: Line) => mayHold({ count, ...support });
  const order = [...lists].sort((one, other) => other.length - one.length);
  const keys: string[] = [];
  for (const list of order) insertInOrder(keys, list.map(keyOf));
  return [...new Set(keys)]
    .flatMap((key) => {
      const line = lines.get(key);
      return line !== undefined && counts(line) ? [agreed(line.texts, support)] : [];
    })
    .slice(-historyCount);
}

/** What is new of a list goes behind what stands before it there. */
function insertInOrder(keys: string[], list: readonly string[]): void {
  let at = 0;
  for (const key of list) {
    const known = keys.indexOf(key);
    if (known >= 0) at = known + 1;
    else keys.splice(at++, 0, key);
  }
}

/** What is in no words of ours is another line than that of the term which it seems to name. */
function keyOf(text: string): string {
  const line = parseLine(text);
  return line?.kind === 'term' ? `1T|${line.term}` : `=${text}`;
}

/** Of a term it has ended if a majority may say so: one node whose clock was stepped ends lines before their time. */
function agreed(texts: readonly string[], support: LineSupport): string {
  const [first = ''] = texts;
  if (parseLine(first)?.kind !== 'term') return first;
  const lasting = texts.find((text) => endReasonOf(text) === '');
  const ended = texts.filter((text) => endReasonOf(text) !== '');
  const hasEnded = lasting === undefined || mayHold({ count: ended.length, ...support });
  if (!hasEnded) return lasting;
  const byReason = new Map<string, string[]>();
  for (const text of ended) {
    const reason = endReasonOf(text);
    byReason.set(reason, [...(byReason.get(reason) ?? []), text]);
  }
  const [most = []] = [...byReason.values()].sort((one, other) => other.length - one.length);
  const inOrder = [...most].sort((one, other) => endedAtOf(one) - endedAtOf(other));
  return inOrder[Math.floor((inOrder.length - 1) / 2)] ?? first;
}

function endReasonOf(text: string): string {
  return endOf.exec(text)?.[2] ?? '';
}

function endedAtOf(text: string): number {
  return Number(endOf.exec(text)?.[1]);
}
