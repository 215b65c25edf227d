import type { Command } from 'commander';
import { worstOf } from '../../doctor/finding.js';
import { exitStatus } from '../exit-status.js';
import { outputOption } from '../output-option.js';
import { refuseMemory, type Wiring } from '../session.js';
import { addSettings, type Flags, resolveSettings, type Setting } from '../settings/index.js';
import { checkUrl } from '../store-url.js';

interface DoctorFlags extends Flags {
  readonly strict?: boolean;
  readonly output: 'text' | 'json';
}

/** `tenure doctor`. */
export function addDoctor(program: Command, { terminal, run }: Wiring): void {
  const command = program
    .command('doctor')
    .summary('look for what makes leases unsafe on a store')
    .description(
      'Looks at a store, and says what would make leases unsafe there: what can happen, and which setting ends it. It changes nothing there.',
    )
    .argument('[store]', 'a URL; that of the settings if left out')
    .option('--strict', 'warnings fail as well')
    .addOption(outputOption(['text', 'json']));
  addSettings(command, ['url', 'namespace', 'ttl']).addHelpText(
    'after',
    `
A store that is good enough for a long ttl may not be for a short one: name
yours with --ttl. All findings: node_modules/tenure/docs/doctor.md.

Examples:
  tenure doctor redis://localhost
  tenure doctor postgres://localhost/app --ttl 5s --strict
  tenure doctor -o json | jq -r '.findings[] | select(.severity != "ok") | .id'

Exit status: 0 nothing critical, 1 a warning under --strict, 69 store
unreachable, 78 something is critical.
`,
  );
  command.action((store: string | undefined, flags: DoctorFlags) => {
    const targets: string[] = [];
    return run('doctor', targets, async (signal) => {
      const url = store === undefined ? resolveSettings(['url'], flags).url : written(store);
      const { namespace, ttl } = resolveSettings(['namespace', 'ttl'], flags);
      targets.push(url.value);
      refuseMemory(url.value, url.source);
      const { examine } = await import('./examine.js');
      const { printJson, printReport } = await import('./report.js');
      const examined = await examine(url, namespace.value, ttl.value, signal);
      if (flags.output === 'json') printJson(terminal, examined);
      else printReport(terminal, examined);
      return statusOf(worstOf(examined.findings), flags.strict === true);
    });
  });
}

/** @throws {OptionError} naming the argument. */
function written(store: string): Setting<string> {
  const source = 'STORE';
  return { value: checkUrl(store, source), source };
}

function statusOf(worst: ReturnType<typeof worstOf>, isStrict: boolean): number {
  if (worst === 'critical') return exitStatus.misconfigured;
  return worst === 'warning' && isStrict ? exitStatus.failedVerdict : exitStatus.success;
}
