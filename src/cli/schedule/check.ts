import type { CronTimes } from '../../schedule/index.js';
import { sayInstant } from '../display/instant.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { quoted } from '../next-command.js';
import type { Terminal } from '../terminal.js';
import type { JobEntry } from './job-entry.js';

const tickCount = 3;

/**
 * Prints what the file says, and the next ticks of each job. Connects nowhere.
 *
 * @param missing by job, why its command cannot be run here. That is no mistake of the file: other machines may run it.
 */
export function check(
  terminal: Terminal,
  file: string,
  entries: readonly JobEntry[],
  nowMs: number,
  format: 'text' | 'json',
  missing: ReadonlyMap<string, Error>,
): boolean {
  if (format === 'json') {
    const jobs = entries.map((entry) => asJson(entry, nowMs, missing.get(entry.name)));
    terminal.print(jsonText({ file, jobs }, 2));
    return true;
  }
  const rows = entries.flatMap((entry) => rowsOf(entry, nowMs));
  printTable(terminal, ['JOB', 'CRON', 'TIME ZONE', 'NEXT TICKS', 'THERE', 'COMMAND'], rows);
  return true;
}

function rowsOf({ name, resolved, command }: JobEntry, nowMs: number): string[][] {
  const { cron, timeZone } = resolved.definition;
  const text = command.isForShell ? (command.words[0] ?? '') : command.words.map(quoted).join(' ');
  const ticks = nextTicks(resolved.times, nowMs);
  const [first] = ticks;
  const said = (atMs: number) => [sayInstant(atMs), localTime(atMs, timeZone)];
  const head = [visible(name), visible(cron), visible(timeZone)];
  return [
    [...head, ...(first === undefined ? ['never again', ''] : said(first)), visible(text)],
    ...ticks.slice(1).map((atMs) => ['', '', '', ...said(atMs), '']),
  ];
}

function asJson(
  { name, resolved, command }: JobEntry,
  nowMs: number,
  missing: Error | undefined,
): object {
  const { cron, timeZone } = resolved.definition;
  const ticksAtMs = nextTicks(resolved.times, nowMs);
  return {
    job: name,
    cron,
    timeZone,
    ticksAtMs,
    command: command.words,
    shell: command.isForShell,
    problem: missing?.message ?? null,
  };
}

function nextTicks(times: CronTimes, nowMs: number): number[] {
  const ticks: number[] = [];
  let atMs: number | undefined = nowMs;
  while (ticks.length < tickCount) {
    atMs = times.nextAfter(atMs);
    if (atMs === undefined) break;
    ticks.push(atMs);
  }
  return ticks;
}

/** What the clocks show there: `Tue 2026-12-01 09:00:00`. Empty in UTC, where the instant says it. */
function localTime(atMs: number, timeZone: string): string {
  if (timeZone === 'UTC') return '';
  const date = { year: 'numeric', month: '2-digit', day: '2-digit', weekday: 'short' } as const;
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat('en-US', { timeZone, ...date, ...time });
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? '';
  const day = `${part('weekday')} ${part('year')}-${part('month')}-${part('day')}`;
  return `${day} ${part('hour')}:${part('minute')}:${part('second')}`;
}
