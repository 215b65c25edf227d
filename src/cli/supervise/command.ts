import { type Command, Option } from 'commander';
import { visibleLines } from '../display/visible.js';
import type { RunCommand } from '../run.js';
import { addSettings } from '../settings/index.js';
import type { Terminal } from '../terminal.js';
import type { RunFlags } from './run-command.js';
import { Voice } from './voice.js';

const manual = `
The command sees TENURE_NAME, TENURE_TERM, TENURE_HOLDER, TENURE_HOLDER_DIGEST
and TENURE_TTL_MS, and no other variable of tenure: not TENURE_URL, which may
hold a password. Pass the
term along on every write, and let the resource refuse a lower one.

It has a process group and session of its own. SIGTERM, SIGINT, SIGHUP, SIGQUIT,
SIGUSR1 and SIGUSR2 are passed on to the group (the last two mean nothing while
there is none, and the others end the wait). When the lease is lost the group
gets SIGTERM at once, and SIGKILL before the store may give the name away; so it
does if tenure itself is killed or frozen: a watchdog process sees to that, and
is replaced if it dies. What the command leaves in its session ends with it. A
program that begins a new session (a daemon) or becomes another user escapes,
and while tenure and its watchdog are frozen or killed together the command goes
on: only a fence helps there, and against what was sent before the end.

Examples:
  tenure run --election payments -- ./pay --daily
  tenure run --election payments --restart on-loss -- node worker.js
  tenure run --election report --no-wait -- ./report || echo "not here, not now"
  tenure run --election sync --shell --on-lost 'logger "lost: $TENURE_REASON"' \\
    -- 'rsync -a /data/ backup:/data/ && touch /run/synced'

Exit status: the command's own; 128+n if signal n ended it, or came during the
wait; 64 usage, 69 store unreachable, 70 a bug, or no watchdog to be had, 75 not
elected in time, 76 lost, 77 refused (the name is suspended), 78 store
misconfigured, 126 the command is no program, 127 there is no such command.
`;

/** `tenure run`. */
export function addRun(program: Command, terminal: Terminal, run: RunCommand): void {
  const voice = new Voice(terminal, 'run');
  const command = program
    .command('run')
    .usage('[options] --election <name> -- <command> [args...]')
    .summary('run a command only while this process leads')
    .description(
      'Waits until it is elected for the name, runs the command, and gives the name back when the command has ended. The command does not outlive the lease: it is stopped before anybody else may be elected.',
    )
    .argument('<command...>', 'what to run, after --; nothing of it is interpreted')
    .requiredOption('--election <name>', 'the name to be elected for')
    .option('--wait <duration>', 'how long to wait until elected (default: for ever)')
    .option('--no-wait', 'try once')
    .option('--grace <duration>', 'lock-delay: nobody is elected for so long after a loss', '0s')
    .addOption(
      new Option('--restart <when>', 'campaign again after a loss, when nothing is left').choices([
        'on-loss',
      ]),
    )
    .option('--on-lost <command>', 'run after a loss, with TENURE_REASON; 30s at most')
    .option('--no-evidence', 'keep nothing for tenure diagnose of what was seen at a loss')
    .option('--shell', 'the command is a text for /bin/sh, its arguments $1, $2, ...');
  addSettings(command, ['url', 'namespace', 'id', 'ttl']).addHelpText('after', manual);
  const complain = (text: string) =>
    voice.say(visibleLines(text.replace(/^tenure run: /, '')).trimEnd());
  command.configureOutput({ outputError: complain, writeErr: complain });
  command.action((words: string[], flags: RunFlags) => {
    const targets: string[] = [];
    return run('run', targets, async (stopping) => {
      const { runCommand } = await import('./run-command.js');
      return runCommand(words, flags, voice, targets, stopping);
    });
  });
}
