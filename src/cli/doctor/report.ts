import type { CoordinatorPromises } from '../../coordinators/index.js';
import { type Finding, type Severity, severities, worstOf } from '../../doctor/finding.js';
import { jsonText, visible } from '../display/visible.js';
import { writeDuration } from '../duration.js';
import type { Terminal } from '../terminal.js';
import { wrap } from '../wrap.js';
import type { Examined } from './examine.js';
import { type GroupedFinding, grouped } from './grouped.js';

/** What is kept beside leases, as a part of a sentence. */
const spoken: Readonly<Record<string, string>> = {
  fence: 'the fence (beside the commands and keys of your batches)',
};

const columns = 80;
const labelWidth = 10;
const indent = ' '.repeat(labelWidth);

/** What was found, for people: the worst first, and what is well at the end, a line each. */
export function printReport(terminal: Terminal, examined: Examined): void {
  const { address, namespace, ttlMs, promises, findings, leastRights } = examined;
  const title = `${terminal.style('bold', 'tenure doctor')} on ${visible(address)}`;
  terminal.print(title);
  printHung(terminal, 'for', `leases of ${writeDuration(ttlMs)} in namespace ${namespace}`);
  printHung(terminal, 'promise', promises.exclusion);
  const hazards = promises.termsSurvive.map((hazard) => hazard.replaceAll('-', ' '));
  printHung(terminal, 'terms', `go on rising after: ${hazards.join(', ')}`);
  printHung(terminal, 'expiry', `judged by ${clocks[promises.expiryClock]}`);
  for (const severity of severities) {
    const those = grouped(findings.filter((finding) => finding.severity === severity));
    if (those.length === 0) continue;
    terminal.print();
    for (const [index, finding] of those.entries()) {
      if (severity !== 'ok' && index > 0) terminal.print();
      printFinding(terminal, finding);
    }
  }
  if (leastRights.length > 0 && findings.some(concernsRights)) {
    printRights(terminal, examined);
  }
  terminal.print();
  terminal.print(verdictOf(findings));
}

const clocks: Readonly<Record<CoordinatorPromises['expiryClock'], string>> = {
  'process-monotonic': 'the monotonic clock of the process',
  'server-wall': "the store's wall clock",
  'server-monotonic': "the store's monotonic clock",
};

function printFinding(terminal: Terminal, finding: GroupedFinding): void {
  const { severity, id, at, seen, risk, remedy } = finding;
  const label = severity === 'critical' ? 'CRITICAL' : severity;
  const where = sayWhere(at);
  const start = terminal.style(formats[severity], label.padEnd(labelWidth));
  if (severity === 'ok') {
    printBelow(terminal, start, `${id}${where}: ${seen}`);
    return;
  }
  const [first = '', ...rest] = wrap(visible(`${id}${where}`), columns - labelWidth);
  terminal.print(`${start}${terminal.style('bold', first)}`);
  for (const line of rest) terminal.print(`${indent}${terminal.style('bold', line)}`);
  if (at.length > 1) printBelow(terminal, indent, at.join(', '));
  printBelow(terminal, indent, `${seen}.`);
  if (risk !== undefined && !finding.couldNotLook)
    printBelow(terminal, indent, `What can happen: ${risk}.`);
  if (remedy !== undefined) printBelow(terminal, indent, `Remedy: ${remedy}.`);
}

function sayWhere(at: readonly string[]): string {
  if (at.length > 1) return ` on ${at.length} servers`;
  return at.length === 0 ? '' : ` on ${at[0]}`;
}

const formats: Readonly<Record<Severity, Parameters<Terminal['style']>[0]>> = {
  critical: ['red', 'bold'],
  warning: 'yellow',
  note: 'cyan',
  ok: 'green',
};

function printHung(terminal: Terminal, label: string, text: string): void {
  printBelow(terminal, terminal.style('dim', label.padEnd(labelWidth)), text);
}

/** A first line behind `start`, which is as wide as the indent, and the others below it. */
function printBelow(terminal: Terminal, start: string, text: string): void {
  const [first = '', ...rest] = wrap(visible(text), columns - labelWidth);
  terminal.print(start + first);
  for (const line of rest) terminal.print(indent + line);
}

function printRights(terminal: Terminal, { leastRights, furtherRights = {} }: Examined): void {
  const blocks = Object.entries(furtherRights);
  const who = blocks.length === 0 ? 'tenure and its doctor' : 'leases and the doctor';
  terminal.print();
  terminal.print(`A user with the rights that ${who} need, and no others:`);
  for (const line of leastRights) terminal.print(`  ${visible(line)}`);
  for (const [feature, lines] of blocks) {
    terminal.print();
    terminal.print(`And for ${spoken[feature] ?? feature}:`);
    for (const line of lines) terminal.print(`  ${visible(line)}`);
  }
}

function concernsRights({ id, severity }: Finding): boolean {
  return severity !== 'ok' && /-(?:rights|rights-[a-z]+|login)$/.test(id);
}

function verdictOf(findings: readonly Finding[]): string {
  const counts = severities.flatMap((severity) => {
    const count = grouped(findings.filter((finding) => finding.severity === severity)).length;
    return count === 0 ? [] : [`${count} ${plural(severity, count)}`];
  });
  return `${counts.join(', ')}. Nothing was changed.`;
}

function plural(severity: Severity, count: number): string {
  return count > 1 && (severity === 'warning' || severity === 'note') ? `${severity}s` : severity;
}

export function printJson(terminal: Terminal, examined: Examined): void {
  const { address: store, namespace, ttlMs, promises, findings } = examined;
  const { leastRights, furtherRights = {} } = examined;
  const verdict = worstOf(findings);
  const report = { store, namespace, ttlMs, verdict, promises, findings };
  terminal.print(jsonText({ ...report, leastRights, furtherRights }, 2));
}
