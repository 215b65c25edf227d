import { availableParallelism, loadavg, platform } from 'node:os';
import type { Course } from './flatness.js';
import type { SoakReport } from './run.js';

/** Whether nothing grew, and every message was handled in order. */
export function isGood({ courses, disorders }: SoakReport): boolean {
  return courses.every(({ isFlat }) => isFlat) && disorders.length === 0;
}

export function headlineOf(report: SoakReport): string {
  const { store, leak, courses, disorders } = report;
  const grown = courses.filter(({ isFlat }) => !isFlat).map(({ quantity }) => quantity.name);
  const what = [
    ...(grown.length > 0 ? [`grows: ${grown.join(', ')}`] : []),
    ...(disorders.length > 0 ? ['messages were handled out of order'] : []),
  ];
  const planted = leak === undefined ? '' : `, with a planted leak of ${leak}`;
  return `${store}${planted}: ${what.length === 0 ? 'flat' : what.join('; ')}`;
}

/** For a person, in Markdown. */
export function verdictOf(report: SoakReport): string {
  const { samples, counts, troubles, disorders, courses } = report;
  const minutes = ((samples.at(-1)?.atMs ?? 0) / 60_000).toFixed(1);
  const done = Object.entries(counts).map(([what, count]) => `${what} ${count}`);
  return [
    `## ${headlineOf(report)}`,
    '',
    `${minutes} minutes, ${samples.length} samples. Done: ${done.join(', ')}.`,
    '',
    '| | first | last | median of the second half | line through it, per hour | rise | allowed | |',
    '|---|---|---|---|---|---|---|---|',
    ...courses.map(row),
    '',
    'From the first sample to the last:',
    '',
    ...courses.map(course),
    ...listed('Errors that were met, the first ones', troubles),
    ...listed('Out of order', disorders),
  ].join('\n');
}

function row(course: Course): string {
  const { quantity, first, last, typical, perHour, rise, allowedRise, isFlat } = course;
  const digits = quantity.unit === 'MiB' ? 2 : 0;
  const show = (value: number) => `${value.toFixed(digits)}${quantity.unit && ` ${quantity.unit}`}`;
  const signed = (value: number) => `${value > 0 ? '+' : ''}${value.toFixed(Math.max(1, digits))}`;
  return `| ${quantity.name} | ${show(first)} | ${show(last)} | ${show(typical)} | ${signed(perHour)} | ${signed(rise)} | ${allowedRise.toFixed(Math.max(1, digits))} | ${isFlat ? 'flat' : '**grows**'} |`;
}

function course({ quantity, values }: Course): string {
  const digits = quantity.unit === 'MiB' ? 1 : 0;
  return `- ${quantity.name}: ${values.map((value) => value.toFixed(digits)).join(', ')}`;
}

function listed(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, '', ...lines.map((line) => `- ${line}`)];
}

/** What a reader has to know of a report. */
export function circumstances(command: string): string {
  const load = loadavg().map((average) => average.toFixed(1));
  return [
    '# Soak report',
    '',
    `Written by \`${command}\` on ${new Date().toISOString().slice(0, 10)}.`,
    `Node ${process.version} on ${platform()}, ${availableParallelism()} cores; load average at the end ${load.join(', ')}.`,
    'How to read it: docs/chaos.md.',
  ].join('\n');
}
