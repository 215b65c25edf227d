import type { Diagnosis, Finding, Period, TimelinePart } from '../../diagnosis/index.js';
import { sayShare } from '../../diagnosis/say.js';
import { counted, sayMs } from '../../errors/say.js';
import { sayInstant } from '../display/instant.js';
import { sayVacancy } from '../display/record.js';
import { columnsOf, visible } from '../display/visible.js';
import type { Terminal } from '../terminal.js';
import { wrap } from '../wrap.js';

type Screen = Pick<Terminal, 'style' | 'noteColumns'>;

/** A diagnosis for people, in lines. */
export function sayDiagnosis(diagnosis: Diagnosis, screen: Screen): string[] {
  const { findings, timeline, comparison, period } = diagnosis;
  const lines = [...sayHead(diagnosis, screen)];
  for (const [index, finding] of findings.entries())
    lines.push('', ...sayFinding(finding, index + 1, screen));
  if (findings.length === 0) lines.push('', '  no term ended in that time');
  else lines.push('', ...sayTimeline(timeline, screen));
  if (comparison !== undefined)
    lines.push('', ...sayComparison(comparison.before, period, comparison.change, screen));
  return lines;
}

function sayHead(diagnosis: Diagnosis, screen: Screen): string[] {
  const { name, period, witnessedCount } = diagnosis;
  const { fromMs, toMs, lostCount, plannedCount, vacantMs, longestVacantMs } = period;
  const spanMs = toMs - fromMs;
  const lost = counted(lostCount, 'term');
  const head = `${visible(name)}: ${lost} lost and ${plannedCount} given back in ${sayMs(spanMs)}, since ${sayInstant(fromMs)}`;
  const share = spanMs > 0 ? ` (${sayShare(vacantMs / spanMs)})` : '';
  const longest = vacantMs > 0 ? `, at most ${sayMs(longestVacantMs)} at a time` : '';
  return [
    ...wrap(head, screen.noteColumns).map((line) => screen.style('bold', line)),
    ...sayKept(diagnosis),
    ...sayLeader(diagnosis, screen),
    `  without leader   ${sayMs(vacantMs)}${share}${longest}`,
    ...sayUnseen(lostCount - witnessedCount, period.causes['no-longer-kept'] ?? 0),
    ...sayEvidence(diagnosis, screen),
  ];
}

/** What its leaders told. */
function sayEvidence(diagnosis: Diagnosis, screen: Screen): string[] {
  const { evidenceProblem, witnessedCount, period } = diagnosis;
  if (evidenceProblem === undefined) {
    const lost = counted(period.lostCount, 'term');
    const count = `  evidence         of ${witnessedCount} of ${lost}`;
    return [...sayRefusals(diagnosis), ...(period.lostCount > 0 ? [count] : [])];
  }
  return [
    '  writes refused   not known: the evidence cannot be read',
    ...told('evidence', visible(evidenceProblem), screen),
  ];
}

function sayLeader({ leaderId, record }: Diagnosis, screen: Screen): string[] {
  if (leaderId !== undefined) return [`  leads now        ${visible(leaderId)}`];
  const waiting = record === undefined ? '; tenure candidates tells who waits for it' : '';
  return told('leads now', `nobody: ${sayVacancy(record)}${waiting}`, screen);
}

/** A line of the head, and more lines if it is too long. */
function told(what: string, text: string, screen: Screen): string[] {
  return wrap(text, screen.noteColumns - 19).map(
    (line, index) => `  ${(index === 0 ? what : '').padEnd(17)}${line}`,
  );
}

/** Where less is judged than was asked for. */
function sayKept({ keptFromMs, period, comparison }: Diagnosis): string[] {
  if (keptFromMs === undefined) return [];
  if (keptFromMs < (comparison?.before ?? period).fromMs) return [];
  return [`  history begins   ${sayInstant(keptFromMs)}: older lines are not kept`];
}

/** Of a leader that was killed nobody knows when: the store ends its term when its ttl is over. */
function sayUnseen(untoldCount: number, goneCount: number): string[] {
  if (untoldCount === 0) return [];
  const untold = counted(untoldCount, 'term');
  const what = goneCount === 0 ? `${untold} told nothing` : `of ${untold} nothing is kept`;
  return [`                   at least: ${what} (up to a ttl more each)`];
}

/** A leader that was killed tells nothing, so that none is only none that is known of. */
function sayRefusals({ refusals, period: { lostCount, refusedCount } }: Diagnosis): string[] {
  const [newest] = refusals;
  if (newest === undefined)
    return lostCount > 0 ? ['  writes refused   none that their leaders told of'] : [];
  const resources = [...new Set(refusals.map(({ resource }) => visible(resource)))].join(', ');
  return [`  writes refused   ${refusedCount} at ${resources}, last ${sayInstant(newest.atMs)}`];
}

function sayFinding(finding: Finding, place: number, screen: Screen): string[] {
  const { title, endingCount, vacantMs, refusedCount, evidence, advice, isPlanned } = finding;
  const refused = refusedCount > 0 ? `, ${counted(refusedCount, 'write')} refused` : '';
  const cost =
    endingCount === 0
      ? 'no term ended by it'
      : `${counted(endingCount, 'term')}, ${sayMs(vacantMs)} without leader${refused}`;
  const [first = '', ...more] = wrap(title, screen.noteColumns - 4);
  const colour = isPlanned ? 'green' : place === 1 ? 'red' : 'yellow';
  const indented = (mark: string, text: string) =>
    wrap(visible(text), screen.noteColumns - 6).map(
      (line, index) => `    ${index === 0 ? mark : ' '} ${line}`,
    );
  return [
    `${`${place}`.padStart(2)}  ${screen.style([colour, 'bold'], first)}`,
    ...more.map((line) => `    ${screen.style([colour, 'bold'], line)}`),
    `    ${cost}`,
    ...evidence.flatMap((sentence) => indented('-', sentence)),
    ...advice.flatMap((sentence) => indented('>', sentence)),
  ];
}

function sayTimeline(parts: readonly TimelinePart[], screen: Screen): string[] {
  const headers = ['FROM', 'LOST', 'GIVEN BACK', 'ACTS', 'REFUSED', 'ROUND TRIP', 'CPU WAIT'];
  const rows = parts.map((part) => [
    sayMoment(part.fromMs),
    bar(part.lostCount),
    bar(part.plannedCount),
    part.actCount === 0 ? '-' : `${part.actCount}`,
    part.refusedCount === 0 ? '-' : `${part.refusedCount}`,
    part.roundTripMs === undefined ? '-' : sayMs(part.roundTripMs),
    part.waitedShare === undefined ? '-' : sayShare(part.waitedShare),
  ]);
  const widths = headers.map((header, column) =>
    Math.max(header.length, ...rows.map((row) => columnsOf(row[column] ?? ''))),
  );
  const line = (row: readonly string[]) =>
    `    ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd();
  return [screen.style('bold', line(headers)), ...rows.map(line)];
}

/** Without its year, which the first line has: seven columns have to fit. */
function sayMoment(unixMs: number): string {
  return sayInstant(unixMs).slice(5);
}

const longestBar = 6;

/** `3 ###`. */
function bar(number: number): string {
  if (number === 0) return '-';
  return `${number} ${'#'.repeat(Math.min(number, longestBar))}`;
}

const verdicts = {
  better: 'better: fewer terms are lost than before, by more than chance explains',
  worse: 'worse: more terms are lost than before, by more than chance explains',
  same: 'no difference that chance does not explain',
  'too-few': 'too few losses to tell: look again later, or compare longer times',
} as const;

const nothingBefore = 'of the time before no line is kept: compare sooner, or a later time';

function sayComparison(
  before: Period,
  now: Period,
  change: keyof typeof verdicts,
  screen: Screen,
): string[] {
  const verdict = isEmpty(before) ? nothingBefore : verdicts[change];
  const row = (what: string, of: (period: Period) => string) =>
    `    ${what.padEnd(18)}${of(before).padEnd(16)}${of(now)}`;
  const colour = change === 'better' ? 'green' : change === 'worse' ? 'red' : 'yellow';
  const found = Object.keys({ ...before.causes, ...now.causes }) as (keyof Period['causes'])[];
  const spans = [before, now].map(({ fromMs, toMs }) => sayMs(toMs - fromMs));
  const head = `    ${'COMPARED'.padEnd(18)}${`${spans[0]} BEFORE`.padEnd(16)}${spans[1]} SINCE`;
  return [
    screen.style('bold', head),
    row('lost an hour', ({ lostCount, ...span }) => perHour(lostCount, span)),
    row('given back', ({ plannedCount, ...span }) => perHour(plannedCount, span)),
    row('without leader', ({ vacantMs, ...span }) =>
      isEmpty(span) ? '-' : sayShare(vacantMs / (span.toMs - span.fromMs)),
    ),
    row('at a time', ({ longestVacantMs }) => sayMs(longestVacantMs)),
    row('writes refused', ({ refusedCount }) => `${refusedCount}`),
    ...found.map((cause) => row(cause, ({ causes }) => `${causes[cause] ?? 0}`)),
    ...wrap(verdict, screen.noteColumns - 4).map((text) => `    ${screen.style(colour, text)}`),
  ];
}

type Span = Pick<Period, 'fromMs' | 'toMs'>;

function isEmpty({ fromMs, toMs }: Span): boolean {
  return toMs <= fromMs;
}

function perHour(number: number, { fromMs, toMs }: Span): string {
  if (toMs <= fromMs) return '-';
  const rate = (number * 3_600_000) / (toMs - fromMs);
  return `${rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate)}/h`;
}
