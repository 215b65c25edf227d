import { randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../support/servers/postgres.js';
import { type ChaosReport, runChaos } from './run.js';
import { type StoreName, storeNames } from './stage.js';
import { headlineOf, isGood, verdictOf } from './verdict.js';

interface Settings {
  readonly stores: readonly StoreName[];
  readonly durationMs: number;
  readonly seed: number;
  readonly isFenced: boolean;
  readonly atOnce: number;
  readonly report: string | undefined;
  readonly folder: string;
  readonly kinds: readonly string[] | undefined;
}

export async function main(settings: Settings): Promise<void> {
  makeRoom(settings);
  const postgres = await startPostgres({ fsync: false });
  const left = [...settings.stores];
  const reports: ChaosReport[] = [];
  const failures: string[] = [];
  const playOn = async (store: StoreName): Promise<void> => {
    const { seed, durationMs, isFenced, folder, kinds } = settings;
    const historyFile = join(folder, `${store}-${seed}.jsonl`);
    console.error(`${store}, seed ${seed}: history in ${historyFile}`);
    try {
      const report = await runChaos({
        ...{ store, seed, durationMs, isFenced, historyFile },
        postgresUrl: postgres.url,
        ...(kinds !== undefined && { kinds }),
      });
      reports.push(report);
      console.log(`${verdictOf(report)}\n`);
    } catch (error) {
      failures.push(`${store}, seed ${seed}: could not be played: ${String(error)}`);
      console.error(error);
    }
  };
  const playSome = async (): Promise<void> => {
    for (let store = left.shift(); store !== undefined; store = left.shift()) await playOn(store);
  };
  try {
    await Promise.all(Array.from({ length: settings.atOnce }, playSome));
  } finally {
    await postgres.stop();
  }
  if (settings.report !== undefined)
    writeFileSync(
      settings.report,
      `${[circumstances(settings), ...reports.map(verdictOf)].join('\n\n')}\n`,
    );
  for (const report of reports)
    console.log(`${isGood(report) ? 'ok  ' : 'BAD '} ${headlineOf(report)}`);
  for (const failure of failures) console.log(`BAD  ${failure}`);
  process.exitCode = failures.length === 0 && reports.every(isGood) ? 0 : 1;
}

/** What cannot be written is known before an hour of faults, and not after it. */
function makeRoom({ folder, report }: Settings): void {
  mkdirSync(folder, { recursive: true });
  if (report === undefined) return;
  mkdirSync(dirname(report), { recursive: true });
  writeFileSync(report, '', { flag: 'a' });
}

/** What a reader has to know of a report. */
function circumstances({ durationMs, seed, isFenced, atOnce }: Settings): string {
  const control = isFenced ? '' : ', without the fence';
  const load = loadavg().map((average) => average.toFixed(1));
  return [
    '# Chaos report',
    '',
    `Written by \`npm run chaos\` on ${new Date().toISOString().slice(0, 10)}: ${durationMs / 1_000} s of faults on each store, seed ${seed}, up to ${atOnce} stores at once${control}.`,
    `Node ${process.version} on ${platform()}, ${availableParallelism()} cores; load average at the end ${load.join(', ')}.`,
    'How to read it: docs/chaos.md.',
  ].join('\n');
}

/** @throws for arguments that it does not take. */
export function settingsOf(args: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string' },
      duration: { type: 'string', default: '270s' },
      seed: { type: 'string' },
      'without-fence': { type: 'boolean', default: false },
      'at-once': { type: 'string', default: '4' },
      report: { type: 'string' },
      history: { type: 'string' },
      faults: { type: 'string' },
    },
  });
  return {
    stores: storesIn(values.store),
    durationMs: durationIn(values.duration),
    seed: values.seed === undefined ? randomInt(2 ** 31) : wholeNumber('--seed', values.seed),
    isFenced: !values['without-fence'],
    atOnce: wholeNumber('--at-once', values['at-once']),
    report: values.report,
    kinds: values.faults?.split(','),
    folder: values.history ?? mkdtempSync(join(tmpdir(), 'tenure-chaos-history-')),
  };
}

function storesIn(text: string | undefined): readonly StoreName[] {
  if (text === undefined || text === 'all') return storeNames;
  return text.split(',').map((word) => {
    const store = storeNames.find((name) => name === word);
    if (store === undefined)
      throw new Error(`--store takes ${storeNames.join(', ')}, not "${word}"`);
    return store;
  });
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

function durationIn(text: string): number {
  const [, count, unit = ''] = /^(\d+)(ms|s|m|h)$/.exec(text) ?? [];
  const unitMs = unitsMs[unit];
  if (unitMs === undefined) throw new Error(`--duration takes 90s, 10m or 1h, not "${text}"`);
  return Number(count) * unitMs;
}

function wholeNumber(option: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`${option} takes a whole number, not "${text}"`);
  return Number(text);
}
