import type { Command } from 'commander';
import { visibleLines } from '../display/visible.js';
import { UsageError } from '../exit-status.js';
import { outputOption } from '../output-option.js';
import type { RunCommand } from '../run.js';
import { addSettings } from '../settings/index.js';
import { Voice } from '../supervise/voice.js';
import type { Terminal } from '../terminal.js';
import type { ScheduleFlags } from './run-schedule.js';

const manual = `
The file is YAML:

  jobs:
    settle-payments:
      cron: '*/5 * * * *'          # five fields, or six with seconds first
      timeZone: Asia/Tokyo         # default UTC
      command: [node, settle.mjs]  # or a text; with shell: true one for /bin/sh
      timeout: 4m                  # default: none
      retry: { limit: 3 }          # default: none

and besides misfire, lateAfter, catchUp, stopGrace, resumeLimit, keepRuns, env.

Each tick has one run in the whole fleet, and a run may have several attempts: a
command that is killed with its machine begins again elsewhere. It sees
TENURE_RUN_ID, the same in every attempt: the idempotency key. And TENURE_JOB,
TENURE_TICK, TENURE_ATTEMPT and TENURE_RUN_KIND, and of the lease TENURE_NAME,
TENURE_TERM, TENURE_HOLDER, TENURE_HOLDER_DIGEST and TENURE_TTL_MS; no other
variable of tenure.

Status 0 is success, every other one a failed attempt. A command that was told
to stop has not finished, whatever its status. It does not outlive the lease, as
with tenure run: it gets SIGTERM and SIGKILL in time, by a watchdog if tenure
itself is killed or frozen.

SIGTERM drains: what is under way has --drain to end in, then it is stopped, and
goes on at the next leader. A second signal ends tenure at once, and the
watchdogs stop the commands.

Examples:
  tenure schedule -f jobs.yaml --check
  tenure schedule -f jobs.yaml --url postgres://localhost/app
  tenure schedule -f jobs.yaml --spread --id machine-1

Exit status: 0 stopped as asked, or the file is good, 64 usage, or the file is
not, 69 store unreachable, 76 a command could not be stopped, 78 store
misconfigured, 126 a command is no program, 127 there is no such command.
`;

/** `tenure schedule`. */
export function addSchedule(program: Command, terminal: Terminal, run: RunCommand): void {
  const voice = new Voice(terminal, 'schedule');
  const command = program
    .command('schedule')
    .summary('run the commands of a file, once per tick in the whole fleet')
    .description(
      'Runs the commands of a file at their times. Started on every machine with the same file, one of them leads and runs the jobs, and each tick has one run.',
    )
    .argument('[file]', 'the jobs, if -f is left out')
    .option('-f, --file <file>', 'the jobs')
    .option('--check', 'check the file, print the next ticks of each job, connect nowhere')
    .option('--name <name>', 'the election whose leader runs the jobs', 'schedule')
    .option('--spread', 'an election for each job, so that machines share the jobs')
    .option('--drain <duration>', 'how long a command may go on when asked to stop', '10s')
    .addOption(outputOption(['text', 'json']));
  addSettings(command, ['url', 'namespace', 'id', 'ttl']).addHelpText('after', manual);
  const complain = (text: string) =>
    voice.say(visibleLines(text.replace(/^tenure schedule: /, '')).trimEnd());
  command.configureOutput({ outputError: complain, writeErr: complain });
  command.action((named: string | undefined, given: Partial<ScheduleFlags>) => {
    const targets: string[] = [];
    return run('schedule', targets, async (stopping) => {
      const file = fileOf(named, given.file);
      const flags = { ...given, file } as ScheduleFlags;
      const { runSchedule } = await import('./run-schedule.js');
      return runSchedule(flags, terminal, voice, targets, stopping);
    });
  });
}

/** @throws {UsageError} */
function fileOf(named: string | undefined, flag: string | undefined): string {
  const file = flag ?? named;
  if (file === undefined) throw new UsageError('no file of jobs was named: use -f jobs.yaml');
  if (named !== undefined && flag !== undefined && named !== flag)
    throw new UsageError(`two files of jobs were named, ${flag} and ${named}: use one`);
  return file;
}
