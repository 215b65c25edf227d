import { sayDuration } from '../duration.js';
import type { Terminal } from '../terminal.js';
import type { CheckResult } from './checks.js';
import type { SelftestClock } from './clock.js';
import type { Sabotage } from './sabotage.js';

export function announce(
  terminal: Terminal,
  address: string,
  { ttlMs, renewEveryMs }: SelftestClock,
  sabotages: readonly Sabotage[],
): void {
  terminal.print(
    `${terminal.style('bold', 'tenure selftest')} on ${address}, leases of ${sayDuration(ttlMs)} renewed every ${sayDuration(renewEveryMs)}`,
  );
  for (const { name, effect } of sabotages)
    terminal.print(terminal.style('yellow', `sabotaged: ${name} (${effect})`));
  terminal.print();
}

export function reportCheck(terminal: Terminal, result: CheckResult, number: number): void {
  const verdict = result.passed
    ? terminal.style('green', 'pass')
    : result.undecided
      ? terminal.style('yellow', 'slow')
      : terminal.style(['red', 'bold'], 'FAIL');
  terminal.print(`${verdict}  ${number} ${result.claim}`);
  for (const figure of result.figures) terminal.print(terminal.style('dim', `        ${figure}`));
}

export function reportVerdict(
  terminal: Terminal,
  results: readonly CheckResult[],
  sabotages: readonly Sabotage[],
): void {
  const undecidedCount = results.filter(({ undecided }) => undecided).length;
  const passedCount = results.filter(({ passed }) => passed).length;
  const failedCount = results.length - passedCount - undecidedCount;
  terminal.print();
  if (undecidedCount > 0) reportSlowness(terminal, undecidedCount, results.length);
  if (failedCount === 0 && undecidedCount > 0) return;
  if (failedCount === 0) {
    terminal.print(terminal.style('green', `${passedCount} of ${results.length} checks passed.`));
    if (sabotages.length > 0)
      terminal.print('The sabotage went unnoticed, which is a fault of ours.');
    return;
  }
  terminal.print(
    terminal.style(
      'red',
      `${failedCount} of ${results.length} checks failed, ${passedCount} passed.`,
    ),
  );
  if (sabotages.length > 0) terminal.print('As wanted: the checks see what was broken.');
}

function reportSlowness(terminal: Terminal, count: number, outOf: number): void {
  const fact = `${count} of ${outOf} checks could not be judged: this machine was too slow.`;
  terminal.print(`${terminal.style('yellow', fact)} Run it again when less else runs here.`);
}

export function reportAsJson(
  terminal: Terminal,
  store: string,
  sabotages: readonly Sabotage[],
  checks: readonly CheckResult[],
): void {
  const passed = checks.every((check) => check.passed);
  const names = sabotages.map(({ name }) => name);
  terminal.print(JSON.stringify({ store, sabotages: names, passed, checks }, undefined, 2));
}
