import { describe, expect, it } from 'vitest';
import { resolveJob } from '../../src/schedule/definition.js';
import { CronTimes, type JobOptions } from '../../src/schedule/index.js';
import { due } from '../../src/schedule/rules/due.js';
import { programsOf, readPage, runProgram } from '../support/page-programs.js';

const page = readPage('scheduling.md');

/** The cells of a table's rows, by the first of its headers. */
function rowsBelow(header: string): string[][] {
  const lines = page.slice(page.indexOf(header)).split('\n').slice(2);
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(0, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const code = (cell = '') => /`(.*?)`/.exec(cell)?.[1] ?? '';

describe('docs/scheduling.md', () => {
  it.each(programsOf(page))('holds programs that print what it says: %#', async (listing) => {
    expect(await runProgram(listing.program)).toBe(listing.output);
  });

  it('holds three of them', () => {
    expect(programsOf(page)).toHaveLength(3);
  });

  it.each(rowsBelow('| `cron` | `timeZone` |'))(
    'says when %s in %s is due around a change of the clocks',
    (cron, timeZone, _clocks, ticks = '') => {
      const times = new CronTimes(code(cron), code(timeZone));
      const said = ticks.split(', ').map((tick) => Date.parse(`${tick}Z`));
      let atMs = (said[0] ?? 0) - 1;
      expect(said).not.toHaveLength(0);
      for (const tickMs of said) {
        atMs = times.nextAfter(atMs) ?? 0;
        expect(new Date(atMs).toISOString()).toBe(new Date(tickMs).toISOString());
      }
    },
  );

  it.each(rowsBelow('| options | 00:01 |'))(
    'says what becomes of late ticks with %s',
    (options = '', ...said) => {
      const misfire = new Function(`return { ${code(options)} }`)() as Partial<JobOptions>;
      const { times, policy } = resolveJob('job', { cron: '* * * * *', ...misfire });
      const startMs = Date.UTC(2026, 0, 1);
      const nowMs = startMs + 5.5 * 60_000;
      const ran = new Set<number>();
      for (let fromMs = startMs; ; ) {
        const { tickMs, consideredToMs } = due(times, policy, fromMs, nowMs);
        if (tickMs !== undefined) ran.add((tickMs - startMs) / 60_000);
        if (consideredToMs === fromMs) break;
        fromMs = consideredToMs;
      }
      expect([1, 2, 3, 4, 5].map((minute) => (ran.has(minute) ? 'runs' : 'skipped'))).toEqual(said);
    },
  );
});
