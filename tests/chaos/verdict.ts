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
    `- ${isFenced ? `stale writes refused: ${refusedCount}` : 'no fence: nothing was refused'}; ${woke}`,
    ...silence(report),
    `- commits with unknown outcome: ${unknownCount}; terms granted anew above what the resource had seen: ${healedCount}`,
  ];
}

function silence({ faults }: ChaosReport): string[] {
  const effective = faults.filter(({ hadEffect, hasFailed }) => hadEffect && !hasFailed);
  if (effective.length === 0) return [];
  const silences = effective.map(({ longestSilenceMs }) => longestSilenceMs);
  return [
    `- ${effective.length} of ${faults.length} faults had an effect; around these nothing was accepted for ${seconds(median(silences))} (median), ${seconds(Math.max(...silences))} at the longest`,
  ];
}

function faultTable({ faults, impossible }: ChaosReport): string[] {
  const played = faults.filter(({ hasFailed }) => !hasFailed);
  const kinds = [...new Set(played.map(({ kind }) => kind))].sort();
  const rows = kinds.map((kind) => {
    const own = played.filter((fault) => fault.kind === kind);
    const alone = own.filter((fault) => fault.with.length === 0);
    const silences = (alone.length > 0 ? alone : own).map((fault) => fault.longestSilenceMs);
    const effects = own.filter((fault) => fault.hadEffect).length;
    return `| ${kind} | ${own.length} | ${effects} | ${seconds(median(silences))} | ${seconds(Math.max(...silences))} |`;
  });
  const missing = [
    ...Object.entries(impossible).map(([kind, why]) => `- not played: ${kind}; ${why}`),
    ...counted(faults.filter(({ hasFailed }) => hasFailed).map(({ kind }) => kind)).map(
      (what) => `- could not be begun, the store was not yet what it needs: ${what}`,
    ),
  ];
  return [
    '| fault | played | had an effect | nothing accepted for: median | longest |',
    '|---|---|---|---|---|',
    ...rows,
    ...(missing.length > 0 ? ['', ...missing] : []),
  ];
}

function beliefs({ doubleBeliefs, faults, ttlMs }: ChaosReport): string[] {
  if (doubleBeliefs.length === 0) return ['Two processes never believed at once that they led.'];
  const lasted = doubleBeliefs.map(({ lastedMs }) => lastedMs);
  const total = lasted.reduce((sum, one) => sum + one, 0);
  const during = doubleBeliefs.map(({ fromMs }) => {
    const present = faults.filter(
      ({ beganAtMs, recoveredAtMs = Infinity }) =>
        beganAtMs <= fromMs && fromMs <= recoveredAtMs + ttlMs,
    );
    return present.map(({ kind }) => kind).join(' with ') || 'no fault';
  });
  return [
    `Two processes believed at once that they led ${times(lasted.length)}: for ${seconds(median(lasted))} (median), ${seconds(Math.max(...lasted))} at the longest, ${seconds(total)} in all. During a fault, or up to a ttl after it: ${counted(during).join(', ')}.`,
  ];
}

/** `freeze (3 times)` */
function counted(words: readonly string[]): string[] {
  return [...new Set(words)].map(
    (word) => `${word} (${times(words.filter((other) => other === word).length)})`,
  );
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
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
