import type { ChaosReport } from './run.js';

/** Whether all is well: safe and recovered, or, without the fence, seen to be unsafe. Speed does not count. */
export function isGood(report: ChaosReport): boolean {
  const { violations, accidents, hasRecovered, isFenced, placed } = report;
  if (!isFenced) return violations.length > 0 && placed.wasAccepted;
  return violations.length === 0 && accidents.length === 0 && hasRecovered && !placed.wasAccepted;
}

/** One line. */
export function headlineOf(report: ChaosReport): string {
  const { store, seed, isFenced, violations, accidents, hasRecovered } = report;
  const what = [
    ...(violations.length > 0 ? [`${violations.length} violations`] : []),
    ...(accidents.length > 0 ? [`${accidents.length} accidents`] : []),
    ...(hasRecovered ? [] : ['did not recover']),
  ];
  const how = what.length === 0 ? 'safe, and recovered from every fault' : what.join(', ');
  const control = isFenced ? '' : ' without the fence (control run)';
  return `${store}${control}, seed ${seed}: ${how}`;
}

/** For a person, in Markdown. */
export function verdictOf(report: ChaosReport): string {
  return [
    `## ${headlineOf(report)}`,
    '',
    ...facts(report),
    '',
    ...faultTable(report),
    '',
    ...beliefs(report),
    '',
    ...problems(report),
  ]
    .join('\n')
    .trimEnd();
}

function facts(report: ChaosReport): string[] {
  const { durationMs, ttlMs, acceptedCount, refusedCount, unknownCount, termCount } = report;
  const { placed, healedCount, isFenced } = report;
  const woke = `${placed.who} slept through its term ${placed.term} and wrote when it woke: ${placed.wasAccepted ? '**accepted**' : 'refused'}`;
  return [
    `- ${seconds(durationMs)} of faults, ttl ${ttlMs} ms, ${termCount} terms, ${acceptedCount} accepted writes`,
    `- ${isFenced ? `${refusedCount} stale writes refused` : 'no fence: nothing was refused'}; ${woke}`,
    `- ${unknownCount} commits with unknown outcome; ${healedCount} terms granted anew above what the resource had seen`,
  ];
}

function faultTable({ faults, impossible }: ChaosReport): string[] {
  const kinds = [...new Set(faults.map(({ kind }) => kind))].sort();
  const rows = kinds.map((kind) => {
    const own = faults.filter((fault) => fault.kind === kind);
    const alone = own.filter((fault) => fault.with.length === 0);
    const silences = (alone.length > 0 ? alone : own).map((fault) => fault.longestSilenceMs);
    const effects = own.filter((fault) => fault.hadEffect).length;
    return `| ${kind} | ${own.length} | ${effects} | ${seconds(median(silences))} | ${seconds(Math.max(...silences))} |`;
  });
  const missing = Object.entries(impossible).map(([kind, why]) => `- not played: ${kind}, ${why}`);
  return [
    '| fault | played | had an effect | nothing accepted for: median | longest |',
    '|---|---|---|---|---|',
    ...rows,
    ...(missing.length > 0 ? ['', ...missing] : []),
  ];
}

function beliefs({ doubleBeliefs }: ChaosReport): string[] {
  if (doubleBeliefs.length === 0) return ['Two processes never believed at once that they led.'];
  const lasted = doubleBeliefs.map(({ lastedMs }) => lastedMs);
  const total = lasted.reduce((sum, one) => sum + one, 0);
  return [
    `Two processes believed at once that they led: ${lasted.length} times, ${seconds(median(lasted))} as a rule (median), ${seconds(Math.max(...lasted))} at the longest, ${seconds(total)} in all.`,
  ];
}

const shownCount = 20;

function problems({ violations, accidents, hasRecovered }: ChaosReport): string[] {
  const lists = [
    ...(hasRecovered ? [] : ['Nobody wrote any more after the last fault: see the history.', '']),
    ...list('Violations', violations),
    ...list('Accidents', accidents),
  ];
  return lists;
}

function list(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length - shownCount;
  return [
    `${title}:`,
    '',
    ...lines.slice(0, shownCount).map((line) => `- ${line}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
    '',
  ];
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
