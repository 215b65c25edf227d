import { type Command, Option } from 'commander';
import { OptionError } from '../../errors/index.js';
import { outputOption } from '../output-option.js';
import { askStore, runOnStore, type Session, type Wiring } from '../session.js';
import { addSettings, type Flags } from '../settings/index.js';
import { typedName } from '../typed.js';
import type { StatusFormat } from './status.js';
import type { WatchFormat } from './watch.js';

/** The commands that only look. */
export function addObservers(program: Command, wiring: Wiring): void {
  addWho(program, wiring);
  addStatus(program, wiring);
  addWatch(program, wiring);
  addHistory(program, wiring);
  addCandidates(program, wiring);
}

function addWho(program: Command, wiring: Wiring): void {
  const command = program
    .command('who')
    .summary('print who holds a name')
    .description(
      'Prints the id of the holder. If nobody holds the name, prints nothing, says why on standard error and exits with 1.',
    )
    .argument('<name>', 'the name of a lease or election');
  addSettings(command, ['url', 'namespace']).addHelpText(
    'after',
    `
Examples:
  tenure who payments
  tenure who payments --url redis://localhost && echo "somebody pays"

Exit status: 0 somebody holds it, 1 nobody does, 69 store unreachable.
`,
  );
  command.action((name: string, flags: Flags) =>
    askStore(wiring, 'who', flags, async (session) => {
      typedName(name, 'NAME');
      return (await import('./who.js')).who(session, name);
    }),
  );
}

function addStatus(program: Command, wiring: Wiring): void {
  const command = program
    .command('status')
    .summary('show what stands under names')
    .description(
      'Shows who holds which name, since when and until when; what is reserved, in its lock-delay or suspended. Without arguments all names of the root group, which are those without a slash.',
    )
    .argument('[names...]', 'names, or groups: `jobs` for all of jobs/...')
    .addOption(outputOption(['text', 'wide', 'json']));
  addSettings(command, ['url', 'namespace']).addHelpText(
    'after',
    `
Examples:
  tenure status
  tenure status payments jobs        a name, and a group
  tenure status -o json | jq '.names[] | select(.state == "suspended")'

Exit status: 0 it is shown, 69 store unreachable, 78 a record is damaged: it is
shown as unreadable, and is not free.
`,
  );
  command.action((names: string[], flags: Flags & { output: StatusFormat }) =>
    askStore(wiring, 'status', flags, async (session) => {
      for (const name of names) typedName(name, 'NAME or GROUP');
      return (await import('./status.js')).status(session, names, flags.output);
    }),
  );
}

function addWatch(program: Command, wiring: Wiring): void {
  const command = program
    .command('watch')
    .summary('show who holds what, live, until interrupted')
    .description(
      'On a terminal: who holds what, live, with the time left, the shards of a group by their workers, and the last events. Into a file or a pipe: what stands there now, then a line per change. Says "unsure" when the store does not answer: then nobody can tell. What comes and goes within a moment may not be seen; the history has it.',
    )
    .argument('[name]', 'a name or a group; the root group if left out')
    .addOption(
      new Option('-o, --output <format>', 'default: live on a terminal, else text').choices([
        'live',
        'text',
        'jsonl',
      ]),
    );
  addSettings(command, ['url', 'namespace']).addHelpText(
    'after',
    `
Examples:
  tenure watch payments
  tenure watch chat                a group of workers: the map of its shards
  tenure watch jobs -o jsonl | jq -r 'select(.state == "free") | .name'
`,
  );
  command.action((name: string | undefined, flags: Flags & { output?: 'live' | WatchFormat }) =>
    runOnStore(wiring, 'watch', flags, async (session) => {
      if (name !== undefined) typedName(name, 'NAME or GROUP');
      const { canDraw, takeScreen } = await import('./live/screen.js');
      const { output = canDraw() ? 'live' : 'text' } = flags;
      if (output !== 'live') return (await import('./watch.js')).watch(session, name, output);
      if (!canDraw())
        throw new OptionError('--output', output, 'needs a terminal', 'use text or jsonl');
      return (await import('./live/live.js')).watchLive(session, name, takeScreen());
    }),
  );
}

function addHistory(program: Command, wiring: Wiring): void {
  const command = program
    .command('history')
    .summary('show the terms of a name and what operators did')
    .description(
      'Shows the last 100 lines about a name, oldest first: each term of an election with how long it lasted and how it ended, how long nobody led before it, and each act of an operator with who and why.',
    );
  addOneName(command, wiring, async (session, name, format) =>
    (await import('./history.js')).history(session, name, format),
  );
}

function addCandidates(program: Command, wiring: Wiring): void {
  const command = program
    .command('candidates')
    .summary('show who stands for a name')
    .description(
      'Shows the live candidates of a name: those who wait, in the order in which they will be called, then those who lead, back off or only observe.',
    );
  addOneName(command, wiring, async (session, name, format) =>
    (await import('./candidates.js')).candidates(session, name, format),
  );
}

function addOneName(
  command: Command,
  wiring: Wiring,
  body: (session: Session, name: string, format: 'text' | 'json') => Promise<boolean>,
): void {
  const verb = command.name();
  command
    .argument('<name>', 'the name of a lease or election')
    .addOption(outputOption(['text', 'json']));
  addSettings(command, ['url', 'namespace']).addHelpText(
    'after',
    `
Examples:
  tenure ${verb} payments
  tenure ${verb} payments -o json
`,
  );
  command.action((name: string, flags: Flags & { output: 'text' | 'json' }) =>
    askStore(wiring, verb, flags, async (session) => {
      typedName(name, 'NAME');
      return body(session, name, flags.output);
    }),
  );
}
