import type { Command } from 'commander';
import { OptionError } from '../../errors/index.js';
import { parseDuration } from '../duration.js';
import { outputOption } from '../output-option.js';
import { runOnStore, type Wiring } from '../session.js';
import { addSettings, type Flags } from '../settings/index.js';
import { typedName } from '../typed.js';

interface AdviseFlags extends Flags {
  readonly for: string;
  readonly onceIn: string;
  readonly election?: string;
  readonly plot?: string;
  readonly output: 'text' | 'json';
}

/** `tenure advise`. */
export function addAdvise(program: Command, wiring: Wiring): void {
  const command = program
    .command('advise')
    .summary('say which ttl a store and this machine allow')
    .description(
      'Measures renewals against a store and stalls of a process here, and says the smallest ttl that loses a lease for nothing no more often than is wanted, and how long nobody leads after a crash with it. Run it where the leaders run, under their load.',
    )
    .argument('[store]', 'a URL; that of the settings if left out')
    .option('--for <duration>', 'how long to measure', '30s')
    .option(
      '--once-in <duration>',
      'a lease may be lost for nothing once in so long; days are d',
      '30d',
    )
    .option('--election <name>', 'count in what its leaders recorded of their losses')
    .option('--plot <file>', 'and draw it: an SVG file')
    .addOption(outputOption(['text', 'json']));
  addSettings(command, ['url', 'namespace']).addHelpText(
    'after',
    `
It renews a lease of its own, 20 times a second. What is rarer than the time it
measures is continued from what it saw: measure for longer to know better.

Examples:
  tenure advise redis://localhost --for 5m
  tenure advise --election payments --once-in 7d --plot ttl.svg
  tenure advise -o json | jq .ttlMs

Exit status: 0 there is such a ttl, 1 none up to 2m is good enough.
`,
  );
  command.action((store: string | undefined, flags: AdviseFlags) => {
    const { url = store } = flags as { url?: string };
    const chosen = url === undefined ? flags : { ...flags, url };
    return runOnStore(wiring, 'advise', chosen, async (session) => {
      if (store !== undefined && url !== store)
        throw new OptionError('STORE', store, 'is not what --url names', 'name one of them');
      const { election, plot } = flags;
      if (election !== undefined) typedName(election, '--election');
      const { advise } = await import('./advise.js');
      return advise(session, {
        forMs: parseDuration(flags.for, '--for', { smallestMs: 1_000 }),
        onceInMs: parseDuration(flags.onceIn, '--once-in', {
          smallestMs: 60_000,
          largestMs: yearMs,
        }),
        election,
        plot,
        format: flags.output,
      });
    });
  });
}

const yearMs = 365 * 24 * 3_600_000;
