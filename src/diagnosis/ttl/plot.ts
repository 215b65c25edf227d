import { sayMs } from '../../errors/say.js';
import type { TtlAdvice, TtlRow } from './advise-ttl.js';

const width = 760;
const height = 420;
const left = 80;
const right = 80;
const top = 50;
const bottom = 60;
/** Losses per day; what is less is drawn at the foot. */
const fewestLosses = 1e-4;

interface Axes {
  readonly x: (ttlMs: number) => number;
  readonly losses: (perDay: number) => number;
  readonly takeover: (ms: number) => number;
}

/** What each ttl loses and costs, as a picture: an SVG text. Pure. */
export function plotTtl({ rows, ttlMs, onceInMs }: TtlAdvice): string {
  const axes = axesFor(rows);
  const wanted = (24 * 3_600_000) / onceInMs;
  const parts = [
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    label(width / 2, 24, 'What a ttl loses, and what it costs', 'middle', '#111111', 16),
    ...grid(rows, axes),
    line(rows, ({ lossesPerDay }) => axes.losses(lossesPerDay), axes, '#c0392b', ''),
    line(rows, ({ longestTakeoverMs }) => axes.takeover(longestTakeoverMs), axes, '#2c5f9e', '6 4'),
    `<line x1="${left}" x2="${width - right}" y1="${axes.losses(wanted)}" y2="${axes.losses(wanted)}" stroke="#c0392b" stroke-dasharray="2 4"/>`,
    label(
      width - right - 4,
      axes.losses(wanted) - 5,
      `wanted: once in ${sayMs(onceInMs)}`,
      'end',
      '#c0392b',
    ),
    ...(ttlMs === undefined ? [] : mark(ttlMs, axes)),
    label(left, height - 14, 'red: losses for nothing, a day', 'start', '#c0392b'),
    label(width / 2, height - 14, 'ttl', 'middle', '#555555'),
    label(
      width - right,
      height - 14,
      'blue, dashed: without leader after a crash, at worst',
      'end',
      '#2c5f9e',
    ),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" role="img">\n${parts.join('\n')}\n</svg>\n`;
}

function axesFor(rows: readonly TtlRow[]): Axes {
  const ttls = rows.map(({ ttlMs }) => ttlMs);
  const most = Math.max(10, ...rows.map(({ lossesPerDay }) => lossesPerDay));
  const takeovers = rows.map(({ longestTakeoverMs }) => longestTakeoverMs);
  return {
    x: scale(Math.min(...ttls), Math.max(...ttls), left, width - right),
    losses: scale(fewestLosses, most, height - bottom, top),
    takeover: scale(Math.min(...takeovers), Math.max(...takeovers), height - bottom, top),
  };
}

/** Logarithmic on both axes: what matters are factors. */
function scale(from: number, to: number, start: number, end: number): (value: number) => number {
  const span = Math.log(Math.max(to, from * 1.0001)) - Math.log(from);
  return (value) => {
    const share = (Math.log(Math.max(value, from)) - Math.log(from)) / span;
    return Math.round((start + Math.min(1, share) * (end - start)) * 10) / 10;
  };
}

function grid(rows: readonly TtlRow[], { x, losses, takeover }: Axes): string[] {
  const isTick = (value: number) => /^1?0*$|^3?0*$/.test(`${value}`);
  const ticks = rows.filter(({ ttlMs }) => isTick(ttlMs));
  const vertical = ticks.flatMap(({ ttlMs }) => [
    `<line x1="${x(ttlMs)}" x2="${x(ttlMs)}" y1="${top}" y2="${height - bottom}" stroke="#e4e4e4"/>`,
    label(x(ttlMs), height - bottom + 18, sayMs(ttlMs), 'middle', '#555555'),
  ]);
  const most = Math.max(10, ...rows.map(({ lossesPerDay }) => lossesPerDay));
  const powers = Array.from({ length: 12 }, (_, power) => Number(`1e${power - 4}`)).filter(
    (one) => one <= most,
  );
  const horizontal = powers.flatMap((power) => [
    `<line x1="${left}" x2="${width - right}" y1="${losses(power)}" y2="${losses(power)}" stroke="#f0f0f0"/>`,
    label(left - 8, losses(power) + 4, `${power}`, 'end', '#c0392b'),
  ]);
  const costs = ticks.map(({ longestTakeoverMs }) =>
    label(
      width - right + 8,
      takeover(longestTakeoverMs) + 4,
      sayMs(longestTakeoverMs),
      'start',
      '#2c5f9e',
    ),
  );
  return [...vertical, ...horizontal, ...costs];
}

function line(
  rows: readonly TtlRow[],
  y: (row: TtlRow) => number,
  { x }: Axes,
  colour: string,
  dashes: string,
): string {
  const points = rows.map((row) => `${x(row.ttlMs)},${y(row)}`).join(' ');
  return `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="2" stroke-dasharray="${dashes}"/>`;
}

function mark(ttlMs: number, { x }: Axes): string[] {
  return [
    `<line x1="${x(ttlMs)}" x2="${x(ttlMs)}" y1="${top}" y2="${height - bottom}" stroke="#1e8449" stroke-width="2"/>`,
    label(x(ttlMs), top - 8, `ttl ${sayMs(ttlMs)}`, 'middle', '#1e8449'),
  ];
}

function label(
  x: number,
  y: number,
  text: string,
  anchor: string,
  colour: string,
  size = 11,
): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${colour}" font-size="${size}">${text}</text>`;
}
