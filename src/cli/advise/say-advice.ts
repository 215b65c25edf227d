import type { TtlAdvice, TtlRow } from '../../diagnosis/index.js';
import { counted, sayMs } from '../../errors/say.js';
import type { Terminal } from '../terminal.js';
import { wrap } from '../wrap.js';

type Screen = Pick<Terminal, 'style' | 'noteColumns'>;

const dayMs = 24 * 3_600_000;
/** What is rarer was continued too far from what was seen to be given a figure. */
const longestSaidYears = 10;

/** An advice for people, in lines. */
export function sayAdvice(advice: TtlAdvice, screen: Screen): string[] {
  return [
    ...sayMeasured(advice).map((line) => `  ${line}`),
    '',
    ...table(advice, screen),
    '',
    ...sayChoice(advice).flatMap((text, index) =>
      wrap(text, screen.noteColumns).map((line) =>
        index === 0 ? screen.style('bold', line) : line,
      ),
    ),
  ];
}

function sayMeasured(advice: TtlAdvice): string[] {
  const { usualRoundTripMs, slowRoundTripMs, longestRoundTripMs } = advice;
  const { longestPauseMs, seenForMs, failedCount } = advice;
  return [
    `round trips      ${sayMs(usualRoundTripMs)} usually, 99 % up to ${sayMs(slowRoundTripMs)}, at most ${sayMs(longestRoundTripMs)}`,
    `longest pause    ${sayMs(longestPauseMs)}`,
    `looked at        ${sayMs(seenForMs)}`,
    ...(failedCount > 0 ? [`no answer to     ${counted(failedCount, 'request')}`] : []),
  ];
}

/** Two smaller ones than the advised, so that one sees what it spares, and some larger ones. */
function table({ rows, ttlMs }: TtlAdvice, screen: Screen): string[] {
  const headers = ['TTL', 'LOST FOR NOTHING', 'TAKEOVER', 'AT WORST', 'REQUESTS'];
  const place =
    ttlMs === undefined ? rows.length - 1 : rows.findIndex((row) => row.ttlMs === ttlMs);
  const first = Math.max(0, Math.min(place - 3, rows.length - 9));
  const shown = rows.slice(first, first + 9);
  const cells = shown.map((row) => [
    `${row.ttlMs === ttlMs ? '>' : ' '} ${sayMs(row.ttlMs)}`,
    sayLosses(row),
    sayMs(row.takeoverMs),
    sayMs(row.longestTakeoverMs),
    `${row.requestsPerHour}/h`,
  ]);
  const widths = headers.map((header, column) =>
    Math.max(
      header.length + (column === 0 ? 2 : 0),
      ...cells.map((row) => row[column]?.length ?? 0),
    ),
  );
  const line = (row: readonly string[]) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd();
  const [head = '', ...others] = headers;
  return [
    screen.style('bold', line([`  ${head}`, ...others])),
    ...cells.map((row, index) => {
      const text = line(row);
      return shown[index]?.ttlMs === ttlMs ? screen.style('green', text) : text;
    }),
  ];
}

/** `once in 3 d`, `12 a day`. */
function sayLosses({ lossesPerDay }: TtlRow): string {
  if (lossesPerDay >= 1) return `${Math.round(lossesPerDay)} a day`;
  const years = 1 / lossesPerDay / 365;
  if (years > longestSaidYears) return `less than once in ${longestSaidYears} years`;
  return years > 1
    ? `once in ${counted(Math.round(years), 'year')}`
    : `once in ${sayMs(dayMs / lossesPerDay)}`;
}

/** The store stood still or was away, once: an answer that took far longer than all others, or none at all. */
function hadOutage({ failedCount, slowRoundTripMs, longestRoundTripMs }: TtlAdvice): boolean {
  return (
    failedCount > 0 || (longestRoundTripMs >= 1_000 && longestRoundTripMs > 10 * slowRoundTripMs)
  );
}

function sayChoice(advice: TtlAdvice): string[] {
  const { ttlMs, rows, onceInMs, seenForMs } = advice;
  const wanted = `once in ${sayMs(onceInMs)}`;
  const unseen = `It was looked at for ${sayMs(seenForMs)}: what happens more rarely is continued from that, not seen. Measure where the leaders run, under their load; --election counts in what they recorded.`;
  const outage =
    'The store gave no answer meanwhile, or a very late one, and that counts like any pause. If it was an outage that is over, measure again.';
  const doubts = [...(hadOutage(advice) ? [outage] : []), unseen];
  const row = rows.find((one) => one.ttlMs === ttlMs);
  if (row === undefined)
    return [`No ttl up to 2 min is lost for nothing no more often than ${wanted}.`, ...doubts];
  return [
    `A ttl of ${sayMs(row.ttlMs)} is the smallest that is lost for nothing no more often than ${wanted}.`,
    `After a crash nobody leads for ${sayMs(row.takeoverMs)} typically and ${sayMs(row.longestTakeoverMs)} at worst, before a lock-delay.`,
    ...doubts,
  ];
}
