import type { LeaseRecord } from '../../../coordinators/index.js';
import { elapsedMs, type Instant } from '../../../time/index.js';
import { sayInstant } from '../../display/instant.js';
import { heldForMs, remainingOf, type Sighted, sayRecord } from '../../display/record.js';
import { columnsOf, visible } from '../../display/visible.js';
import { sayDuration } from '../../duration.js';
import type { Board } from './board.js';
import { shardMap } from './shard-map.js';
import {
  beside,
  emptyStrip,
  type Format,
  type Paint,
  panels,
  render,
  type Strip,
  shortened,
  strip,
} from './strip.js';

export interface FrameSize {
  readonly columns: number;
  readonly rows: number;
}

/** From this width on, events stand beside the names and not below them. */
const wideColumns = 140;
/** Below this width, what is shown has the room of the time. */
const narrowColumns = 50;
const leftShare = 0.62;

/** The board as lines of a terminal: none is longer than its columns, and there are no more than its rows. Pure. */
export function frame(board: Board, now: Instant, size: FrameSize, paint: Paint): string[] {
  const { columns, rows } = size;
  const head = header(board, now, columns, paint);
  const room = rows - head.length;
  const body =
    columns >= wideColumns
      ? wide(board, now, columns, room, paint)
      : narrow(board, now, columns, room, paint);
  return [...head, ...body].slice(0, rows).map((line) => render(line, columns));
}

function narrow(board: Board, now: Instant, columns: number, rows: number, paint: Paint): Strip[] {
  const main = [...names(board, now, columns, Math.floor(rows / 2), paint)];
  main.push(...shards(board, columns, rows - main.length - 5, paint));
  return [...main, gap, ...events(board, columns, rows - main.length - 1, paint)];
}

function wide(board: Board, now: Instant, columns: number, rows: number, paint: Paint): Strip[] {
  const left = Math.floor(columns * leftShare);
  const main = [...names(board, now, left - 3, Math.floor(rows / 2), paint)];
  main.push(...shards(board, left - 3, rows - main.length, paint));
  return panels(main, left, events(board, columns - left, rows, paint));
}

const gap = emptyStrip;

function header(board: Board, now: Instant, columns: number, paint: Paint): Strip[] {
  const { address, namespace, target, roundTripsMs, unsure } = board;
  const place = `tenure watch  ${target === undefined ? 'the root group' : visible(target)}  in ${visible(namespace)} at ${visible(address)}`;
  const instant = sayInstant(now.wallMs);
  const isTight = columnsOf(place) + 1 + instant.length > columns;
  const time = columns < narrowColumns ? '' : ` ${isTight ? instant.slice(11) : instant}`;
  const first = beside(
    strip(place, columns - time.length, (text) => paint('bold', text)),
    strip(time, time.length, (text) => paint('dim', text)),
  );
  if (unsure !== undefined)
    return [first, strip(`unsure: ${visible(unsure)}`, columns, (text) => paint('red', text)), gap];
  const last = roundTripsMs.at(-1);
  if (last === undefined) return [first, strip('asking the store ...', columns), gap];
  return [
    first,
    strip(`the store answers in ${sayTrip(last)}  ${spark(roundTripsMs)}`, columns),
    gap,
  ];
}

function sayTrip(ms: number): string {
  return ms < 100 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

const bars = '▁▂▃▄▅▆▇█';
/** What takes so long fills the bar: a request of a ttl of 30 s has 2.5 s, one of 1 s has 83 ms. */
const fullBarMs = 256;

function spark(tripsMs: readonly number[]): string {
  const height = (ms: number) =>
    (Math.log2(Math.max(1, ms)) / Math.log2(fullBarMs)) * (bars.length - 1);
  return tripsMs.map((ms) => bars[Math.min(bars.length - 1, Math.round(height(ms)))]).join('');
}

function names(
  { names, askedAt }: Board,
  now: Instant,
  columns: number,
  rows: number,
  paint: Paint,
): Strip[] {
  const all = [...names];
  if (all.length === 0) return [strip(askedAt === undefined ? '' : 'nothing stands here', columns)];
  const widths = widthsFor(all, columns);
  const shown = all.length > rows - 1 ? all.slice(0, Math.max(1, rows - 2)) : all;
  const passedMs = askedAt === undefined ? 0 : elapsedMs(askedAt, now);
  const lines = shown.map(([name, record]) => nameLine(name, record, passedMs, widths, paint));
  const more = all.length - shown.length;
  const head = beside(
    ...['NAME', 'HOLDER', 'TERM', 'HELD FOR', 'LEFT'].map((header, index) =>
      strip(header, widths[index] ?? 0, (text) => paint('bold', text)),
    ),
  );
  return [
    head,
    ...lines,
    ...(more > 0 ? [strip(`and ${more} more`, columns, (text) => paint('dim', text))] : []),
  ];
}

const termColumns = 15;
const heldColumns = 11;
const leftColumns = 19;
/** Of the time left alone, without a bar. */
const timeColumns = 10;

/** What a name and its holder need at least to be told apart. */
const leastNameColumns = 8;
const leastHolderColumns = 10;
const leastColumns = leastNameColumns + leastHolderColumns;

/**
 * Of the columns that are left for them, the longest name and holder, and what is over to the bar. Where there is too
 * little, name and holder stay: first the time held goes, then the term, then the bar, then the time left.
 */
function widthsFor(
  all: readonly (readonly [string, Sighted | undefined])[],
  columns: number,
): number[] {
  const last = [leftColumns, timeColumns, 0].find((width) => columns - width >= leastColumns) ?? 0;
  const term = columns - last - termColumns >= leastColumns ? termColumns : 0;
  const held = term > 0 && columns - last - term - heldColumns >= leastColumns ? heldColumns : 0;
  const room = columns - term - held - last;
  const name = Math.max(leastNameColumns, ...all.map(([text]) => columnsOf(visible(text)) + 2));
  const holder = Math.max(
    12,
    ...all.map(([, record]) => (record?.state === 'held' ? record.holder.id.length + 2 : 12)),
  );
  const nameColumns = Math.min(name, room - Math.min(holder, Math.floor(room / 2)));
  const holderColumns = Math.min(holder, room - nameColumns);
  const over = columns - nameColumns - holderColumns - term - held;
  const bar = last === leftColumns ? Math.min(leftColumns + 24, over) : last;
  return [nameColumns, holderColumns, term, held, bar];
}

function nameLine(
  name: string,
  record: Sighted | undefined,
  passedMs: number,
  [nameColumns = 0, holderColumns = 0, term = 0, held = 0, bar = 0]: readonly number[],
  paint: Paint,
): Strip {
  const first = beside(strip(visible(name), nameColumns - 1), strip(' ', 1));
  if (record?.state !== 'held') {
    const rest = holderColumns + term + held + bar;
    const colour: Format = record === undefined ? 'yellow' : 'red';
    return beside(
      first,
      strip(sayRecord(record), rest, (text) => paint(colour, text)),
    );
  }
  const isEnding = record.revocation !== undefined;
  return beside(
    first,
    strip(shortened(visible(record.holder.id), holderColumns - 1), holderColumns - 1, (text) =>
      paint(isEnding ? 'red' : 'green', text),
    ),
    strip(' ', 1),
    strip(`${record.term}`, term),
    strip(sayDuration(heldForMs(record) + passedMs), held),
    left(record, passedMs, bar, paint),
  );
}

function left(
  record: LeaseRecord & { readonly ttlMs: number },
  passedMs: number,
  columns: number,
  paint: Paint,
): Strip {
  const leftMs = Math.max(0, (remainingOf(record) ?? 0) - passedMs);
  const said = ` ${sayDuration(leftMs)}`;
  const barColumns = Math.max(0, columns - timeColumns);
  const share = Math.min(1, leftMs / record.ttlMs);
  const full = Math.round(share * barColumns);
  // A lease that is renewed never has less than two thirds left for long; below one third its leader has given it up.
  const colour: Format = share > 0.6 ? 'green' : share > 0.34 ? 'yellow' : 'red';
  return beside(
    strip('█'.repeat(full) + '░'.repeat(barColumns - full), barColumns, (text) =>
      paint(colour, text),
    ),
    strip(said, columns - barColumns),
  );
}

function shards({ shards: sight }: Board, columns: number, rows: number, paint: Paint): Strip[] {
  if (sight === undefined || sight.records.size === 0 || rows < 4) return [];
  return [gap, ...shardMap(sight, columns, rows - 1, paint)];
}

function events({ events: all }: Board, columns: number, rows: number, paint: Paint): Strip[] {
  const head = strip('LAST EVENTS', columns, (text) => paint('bold', text));
  if (rows < 2) return [];
  if (all.length === 0)
    return [head, strip('none since this began', columns, (text) => paint('dim', text))];
  const shown = [...all].reverse().slice(0, rows - 1);
  return [
    head,
    ...shown.map(({ atMs, text, isBad }) =>
      beside(
        strip(`${sayInstant(atMs).slice(11)}  `, 11, (inner) => paint('dim', inner)),
        strip(visible(text), columns - 11, (inner) => (isBad ? paint('yellow', inner) : inner)),
      ),
    ),
  ];
}
