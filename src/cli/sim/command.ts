import { type Command, InvalidArgumentError } from 'commander';
import type { RunCommand } from '../run.js';
import type { Terminal } from '../terminal.js';

interface SimOptions {
  readonly seed?: number;
  readonly seeds?: { readonly from: number; readonly to: number };
  readonly model?: string;
  readonly scenario?: string;
  readonly schedule?: string;
}

const examples = `
Examples:
  tenure sim --seed 7                      one run, a line for each event
  tenure sim --seeds 1..2000               many, and what was covered
  tenure sim --seed 7 --schedule faults.json
                                           the run of a seed with other faults

Exits with 1 if something happened that must never happen.
`;

/** `tenure sim`. */
export function addSim(program: Command, terminal: Terminal, run: RunCommand): void {
  program
    .command('sim')
    .summary("play tenure's own code under simulated faults")
    .description(
      'Plays leases, elections and fences in simulated processes under one virtual clock, with pauses, crashes, bad clocks and a bad network that are drawn from a seed. One seed is one run, byte for byte.',
    )
    .option('--seed <n>', 'play one seed, and print its trace', seedOf)
    .option('--seeds <from..to>', 'play many', rangeOf)
    .option('--model <name>', 'which store (default: drawn from the seed)')
    .option('--scenario <name>', 'what the processes do (default: drawn from the seed)')
    .option('--schedule <file>', 'the faults, as JSON, instead of those of the seed')
    .addHelpText('after', examples)
    .action((options: SimOptions) =>
      run('sim', [], async (signal) => {
        const { playOne, playMany } = await import('./play.js');
        const { seed = 1, seeds } = options;
        if (seeds === undefined) return playOne(seed, options, terminal);
        return playMany(seeds, options, terminal, signal);
      }),
    );
}

function seedOf(text: string): number {
  const seed = Number(text);
  if (/^\d{1,10}$/.test(text) && seed < 2 ** 32) return seed;
  throw new InvalidArgumentError('Use a whole number from 0 to 4294967295.');
}

function rangeOf(text: string): { from: number; to: number } {
  const [, from, to] = /^(\d+)\.\.(\d+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined || seedOf(from) > seedOf(to))
    throw new InvalidArgumentError('Use two seeds, the smaller first: 1..2000.');
  return { from: seedOf(from), to: seedOf(to) };
}
