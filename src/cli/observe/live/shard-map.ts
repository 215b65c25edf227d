import { columnsOf, visible } from '../../display/visible.js';
import { nobody, ownerOf, type ShardSight } from './board.js';
import { beside, type Format, type Paint, type Strip, shortened, strip } from './strip.js';

/** Each worker has a letter, for who sees no colours, and a colour. */
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const colours: readonly Format[] = ['cyan', 'magenta', 'yellow', 'green', 'blue', 'red'];
const free = '.';
const numberColumns = 6;

/** One character for each shard, by who owns it, below a line that says who is who. At most `rows` lines. */
export function shardMap(
  { group, records }: ShardSight,
  columns: number,
  rows: number,
  paint: Paint,
): Strip[] {
  const owners = [...new Set([...records.values()].map(ownerOf))]
    .filter((id) => id !== nobody)
    .sort();
  const counts = new Map<string, number>();
  for (const record of records.values()) {
    const owner = ownerOf(record);
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  const shardCount = powerOfTwo(Math.max(0, ...records.keys()) + 1);
  const perRow = perRowIn(columns - numberColumns, shardCount);
  const lines = Math.min(rows - 2, Math.ceil(shardCount / perRow));
  const freeCount = shardCount - owners.reduce((sum, id) => sum + (counts.get(id) ?? 0), 0);
  const title = `${visible(group)}  ${shardCount} shards, ${owners.length} workers, ${freeCount} free`;
  return [
    strip(title, columns, (text) => paint('bold', text)),
    legend(owners, counts, columns, paint),
    ...Array.from({ length: Math.max(0, lines) }, (_, line) =>
      row(line * perRow, Math.min(perRow, shardCount - line * perRow), records, owners, paint),
    ),
  ];
}

function row(
  first: number,
  count: number,
  records: ShardSight['records'],
  owners: readonly string[],
  paint: Paint,
): Strip {
  const cells = Array.from({ length: count }, (_, index) => {
    const owner = owners.indexOf(ownerOf(records.get(first + index)));
    if (owner < 0) return strip(free, 1, (text) => paint('dim', text));
    return strip(letterOf(owner), 1, (text) => paint(colourOf(owner), text));
  });
  const number = `${first}`.padStart(numberColumns - 1);
  return beside(
    strip(number, numberColumns, (text) => paint('dim', text)),
    ...cells,
  );
}

function legend(
  owners: readonly string[],
  counts: ReadonlyMap<string, number>,
  columns: number,
  paint: Paint,
): Strip {
  let line = strip('', numberColumns);
  const idColumns = idColumnsFor(owners, columns - numberColumns);
  for (const [index, id] of owners.entries()) {
    const shown = shortened(visible(id), idColumns);
    const text = `${letterOf(index)} ${shown} ${counts.get(id) ?? 0}   `;
    const width = columnsOf(text);
    const room = columns - line.columns;
    const isLast = index === owners.length - 1;
    if (width > room || (!isLast && width + 6 > room))
      return beside(line, strip(`+${owners.length - index}`, Math.min(room, 6)));
    line = beside(
      line,
      strip(text, width, (inner) => paint(colourOf(index), inner)),
    );
  }
  return line;
}

/** A letter, a count of up to five digits, and spaces. */
const besideId = 10;
const shortestId = 12;

/** As many as the longest id takes; where not all fit, so few that they do, if that leaves something of each. */
function idColumnsFor(owners: readonly string[], columns: number): number {
  const ids = owners.map((id) => columnsOf(visible(id)));
  const needed = ids.reduce((sum, id) => sum + id + besideId, 0);
  if (needed <= columns || owners.length === 0) return Math.max(0, ...ids);
  return Math.max(shortestId, Math.floor(columns / owners.length) - besideId);
}

function letterOf(index: number): string {
  return letters[index % letters.length] ?? '?';
}

function colourOf(index: number): Format {
  return colours[index % colours.length] ?? 'white';
}

/** As many as fit, in a number that divides well: 32, 64, 128. */
function perRowIn(columns: number, shardCount: number): number {
  let perRow = 8;
  while (perRow * 2 <= columns && perRow < shardCount) perRow *= 2;
  return perRow;
}

/** Stores list only what is held, and the count of shards is a power of two. */
function powerOfTwo(atLeast: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, atLeast)));
}
