import { Argument, type Command } from 'commander';
import { type Runtime, realRuntime, sleep } from '../../time/index.js';
import { visible } from '../display/visible.js';
import type { Wiring } from '../session.js';
import { filesMark, type Shell, scripts, shells } from './scripts.js';

/** `tenure completion`, and the hidden command that its scripts run. */
export function addCompletion(program: Command, { terminal, run }: Wiring): void {
  program
    .command('completion')
    .summary('print the script that completes words in your shell')
    .description(
      'Prints a script that makes your shell complete commands, options, and names from the store.',
    )
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  eval "$(tenure completion bash)"          in ~/.bashrc
  source <(tenure completion zsh)           in ~/.zshrc, after compinit
  tenure completion fish | source           in ~/.config/fish/config.fish
`,
    )
    .action((shell: Shell) =>
      run('completion', [], async () => {
        terminal.print(scripts[shell].trimEnd());
        return true;
      }),
    );
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action((words: string[]) => complete(program, words, terminal.print));
}

/** Prints what may stand at the cursor. It ends in time and in silence, whatever the store does. */
async function complete(
  program: Command,
  words: readonly string[],
  print: (line: string) => void,
): Promise<void> {
  const [{ suggest }, { patienceMs, storeLookup }] = await Promise.all([
    import('./suggest.js'),
    import('./lookup.js'),
  ]);
  const found = await inTime(realRuntime, patienceMs, suggest(program, words, storeLookup));
  for (const { word, meaning } of found?.words ?? [])
    print(meaning === '' ? word : `${word}\t${visible(meaning)}`);
  if (found?.files) print(filesMark);
  // A connection that is still being tried would keep the process.
  process.exit(0);
}

/** What comes of it, or `undefined` if that takes too long or fails. */
export async function inTime<Result>(
  runtime: Runtime,
  limitMs: number,
  work: Promise<Result>,
): Promise<Result | undefined> {
  const quiet = work.catch(() => undefined);
  return await Promise.race([quiet, sleep(runtime, limitMs).then(() => undefined)]);
}
