import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { Cleanup } from '../cleanup.js';
import { exitStatus } from '../exit-status.js';
import type { RunCommand } from '../run.js';
import type { Setting } from '../settings/index.js';
import { narrationAside, type Terminal } from '../terminal.js';
import { openTrialStores } from '../trial-stores.js';
import { trialUrl, trialUrlVariable } from '../trial-url.js';
import type { CheckResult } from './checks.js';
import type { SelftestClock } from './clock.js';
import { announce, reportAsJson, reportCheck, reportVerdict } from './report.js';
import { parseSabotage, sabotageNames } from './sabotage.js';

interface SelftestOptions {
  readonly url?: string;
  readonly streams?: string;
  readonly sabotage?: string;
  readonly output: 'text' | 'json';
}

const examples = `
Examples:
  tenure selftest                           in memory, in a few seconds
  tenure selftest --url redis://localhost   the same checks on Redis
  tenure selftest --url etcd://localhost    leases in etcd, messages in memory
  tenure selftest --url etcd://localhost --streams redis://localhost
  tenure selftest --sabotage no-fence       see that a missing fence is noticed
  tenure selftest -o json                   the verdict for a program
`;

/** `tenure selftest`. */
export function addSelftest(program: Command, terminal: Terminal, run: RunCommand): void {
  program
    .command('selftest')
    .summary('check that the promises hold on this machine and store')
    .description(
      'Checks five promises with the clock ten times as fast (leases of 3 s, renewed every second; longer ones where the store grants no such) and exits with 1 if one does not hold, and with 75 if this machine was too slow to tell. What it stores has a namespace of its own and is removed at the end.',
    )
    .option(
      '--url <url>',
      `the store to check, any that keeps leases, or memory: (default: ${trialUrlVariable}, else memory:)`,
    )
    .option(
      '--streams <url>',
      'where messages are kept: memory:, redis://, rediss://, redis+sentinel:// (default: the same store if it keeps any, else memory:)',
    )
    .option('--sabotage <name>', `break one layer: ${sabotageNames.join(', ')}, all`)
    .addOption(
      new Option('-o, --output <format>', 'how the verdict is printed')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText('after', examples)
    .action((options: SelftestOptions) => {
      const url = trialUrl(options.url);
      return run('selftest', targetsOf(options, url), (signal) =>
        selftest(options, url, terminal, signal),
      );
    });
}

/** What is wrong counts, whatever else could not be judged. */
function verdictOf(results: readonly CheckResult[]): boolean | number {
  if (results.some(({ passed, undecided }) => !passed && !undecided)) return false;
  return results.some(({ undecided }) => undecided) ? exitStatus.notInTime : true;
}

function targetsOf({ streams }: SelftestOptions, url: Setting<string>): string[] {
  return streams === undefined ? [url.value] : [url.value, streams];
}

async function selftest(
  options: SelftestOptions,
  url: Setting<string>,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<boolean | number> {
  const sabotages = parseSabotage(options.sabotage);
  const namespace = `selftest-${randomBytes(6).toString('hex')}`;
  const stores = await openTrialStores(url.value, options.streams, namespace, url.source);
  const { runChecks } = await import('./checks.js');
  const asJson = options.output === 'json';
  const voice = asJson ? narrationAside(terminal) : terminal;
  const announced = (clock: SelftestClock) => announce(voice, stores.address, clock, sabotages);
  const report = (result: CheckResult, number: number) => reportCheck(voice, result, number);
  const cleanup = new Cleanup();
  let results: CheckResult[];
  try {
    results = await runChecks(stores, sabotages, { announced, report }, signal, cleanup);
  } finally {
    await cleanup.run(terminal);
  }
  reportVerdict(voice, results, sabotages);
  if (asJson) reportAsJson(terminal, stores.address, sabotages, results);
  return verdictOf(results);
}
