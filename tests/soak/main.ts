import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startPostgres } from '../support/servers/postgres.js';
import { startRedis } from '../support/servers/redis.js';
import {
  type Leak,
  leaks,
  runSoak,
  type SoakedStore,
  type SoakReport,
  soakedStores,
} from './run.js';
import { circumstances, headlineOf, isGood, verdictOf } from './verdict.js';

/** @param command how it was called, for the report. */
export async function main(
  { stores, durationMs, sampleEveryMs, leak, report }: ReturnType<typeof settingsOf>,
  command: string,
): Promise<void> {
  const postgres = await startPostgres({ fsync: false });
  const redis = await startRedis();
  try {
    const soaks = stores.map((store) =>
      runSoak({
        ...{ store, durationMs, sampleEveryMs, leak },
        redisUrl: redis.url,
        postgresUrl: postgres.url,
      }),
    );
    const settled = await Promise.allSettled(soaks);
    const reports = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    const text = [circumstances(command), ...reports.map(verdictOf)].join('\n\n');
    console.log(text);
    if (report !== undefined) writeFileSync(report, `${text}\n`);
    sum(reports, failures);
  } finally {
    await redis.stop();
    await postgres.stop();
  }
}

function sum(reports: readonly SoakReport[], failures: readonly unknown[]): void {
  console.log();
  for (const report of reports)
    console.log(`${isGood(report) ? 'ok  ' : 'BAD '} ${headlineOf(report)}`);
  for (const failure of failures) console.log(`BAD  ${String(failure)}`);
  process.exitCode = failures.length === 0 && reports.every(isGood) ? 0 : 1;
}

/** @throws for arguments that it does not take. */
export function settingsOf(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string', default: soakedStores.join(',') },
      duration: { type: 'string', default: '1h' },
      'sample-every': { type: 'string' },
      leak: { type: 'string' },
      report: { type: 'string' },
    },
  });
  const durationMs = durationIn('--duration', values.duration);
  const every = values['sample-every'];
  // An hour has sixty samples, and a minute a dozen.
  const usualEveryMs = Math.min(60_000, Math.max(5_000, durationMs / 60));
  return {
    durationMs,
    stores: values.store.split(',').map((word) => oneOf('--store', word, soakedStores)),
    sampleEveryMs: every === undefined ? usualEveryMs : durationIn('--sample-every', every),
    leak: values.leak === undefined ? undefined : oneOf<Leak>('--leak', values.leak, leaks),
    report: values.report,
  } satisfies { readonly stores: readonly SoakedStore[]; readonly [setting: string]: unknown };
}

function oneOf<Word extends string>(option: string, text: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === text);
  if (word === undefined) throw new Error(`${option} takes ${words.join(', ')}, not "${text}"`);
  return word;
}

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

function durationIn(option: string, text: string): number {
  const [, count, unit = ''] = /^(\d+)(s|m|h)$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (unitMs === undefined) throw new Error(`${option} takes 90s, 10m or 1h, not "${text}"`);
  return Number(count) * unitMs;
}
