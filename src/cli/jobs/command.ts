import type { Command } from 'commander';
import { OptionError } from '../../errors/index.js';
import { validateJobName } from '../../schedule/job-name.js';
import { checkRunId, mostRuns } from '../../schedule/requests.js';
import { visible } from '../display/visible.js';
import { outputOption } from '../output-option.js';
import type { Wiring } from '../session.js';
import { addSettings, type Flags, resolveSettings } from '../settings/index.js';
import { typedReason, typedText } from '../typed.js';
import type { JobOrder } from './order.js';
import { type JobSession, runOnJobs } from './session.js';

interface JobFlags extends Flags {
  readonly output: 'text' | 'json';
  readonly limit?: string;
  readonly reason?: string;
  readonly untilEnded?: true;
  readonly yes?: true;
}

/** `tenure jobs`, with a command for each thing that can be done. */
export function addJobs(program: Command, wiring: Wiring): void {
  const jobs = program
    .command('jobs')
    .summary('look at scheduled jobs, and operate them')
    .description(
      'Scheduled jobs of a store: those of programs that use tenure/schedule, and of tenure schedule. PostgreSQL, SQLite and Redis keep jobs.',
    )
    .addHelpText(
      'after',
      `
Examples:
  tenure jobs list
  tenure jobs history settle-payments
  tenure jobs run settle-payments --reason "for the audit" --until-ended
  tenure jobs pause settle-payments --reason INC-12
`,
    );
  addList(jobs, wiring);
  addHistory(jobs, wiring);
  addRunNow(jobs, wiring);
  addPause(jobs, wiring);
  addResume(jobs, wiring);
  addCancel(jobs, wiring);
  addForget(jobs, wiring);
}

function addList(jobs: Command, wiring: Wiring): void {
  const command = jobs
    .command('list')
    .summary('show all jobs, and when they are due')
    .description(
      'Shows every job with when it is due next, how its last run ended, what is under way, who led it last, whether it is paused, and why nobody runs it, if that is so.',
    )
    .addOption(outputOption(['text', 'json']));
  addPlace(command, [''], '');
  command.action((flags: JobFlags) =>
    runOnJobs(wiring, 'list', flags, async (session) =>
      (await import('./list.js')).list(session, flags.output),
    ),
  );
}

function addHistory(jobs: Command, wiring: Wiring): void {
  const command = jobs
    .command('history')
    .summary('show the runs of a job')
    .description(
      'Shows the runs of a job, the one with the latest tick last: state, duration, attempts, who ran it under which term, and the last error.',
    )
    .argument('<job>', 'the name of a job')
    .option('--limit <count>', `how many runs: 1 to ${mostRuns}`, '20')
    .addOption(outputOption(['text', 'json']));
  addPlace(command, ['settle-payments', 'settle-payments --limit 100 -o json'], '');
  command.action((job: string, flags: JobFlags) =>
    runOnJobs(wiring, 'history', flags, async (session) => {
      const limit = parseLimit(flags.limit ?? '');
      return (await import('./history.js')).history(session, nameOf(job), limit, flags.output);
    }),
  );
}

function addRunNow(jobs: Command, wiring: Wiring): void {
  const command = jobs
    .command('run')
    .summary('run a job now, beside its schedule')
    .description(
      'Asks for a run of the job, also of a paused one. The leader begins it when no other run of the job is open. Waits until it has begun.',
    )
    .argument('<job>', 'the name of a job')
    .option('--until-ended', 'wait until it has ended; 0 only if it succeeded');
  addOrder(command, wiring, {
    examples: ['settle-payments --reason "for the audit"'],
    statuses: '1 it did not succeed',
    act: async (session, order, flags) =>
      (await import('./acts.js')).runNow(session, order, flags.untilEnded ?? false),
  });
}

function addPause(jobs: Command, wiring: Wiring): void {
  const command = jobs
    .command('pause')
    .summary('no tick of a job begins until it is resumed')
    .description(
      'No tick of the job begins from when this returns, whoever leads. A run that is under way goes on: cancel ends it. The first pause stays.',
    )
    .argument('<job>', 'the name of a job');
  addOrder(command, wiring, {
    examples: ['settle-payments --reason INC-12'],
    statuses: '1 there is no such job',
    act: async (session, order) => (await import('./acts.js')).pause(session, order),
  });
}

function addResume(jobs: Command, wiring: Wiring): void {
  const command = jobs
    .command('resume')
    .summary('end a pause')
    .description(
      'Ticks begin again. Those that were due meanwhile are late: the misfire policy of the job says what becomes of them.',
    )
    .argument('<job>', 'the name of a job');
  addOrder(command, wiring, {
    needsReason: false,
    examples: ['settle-payments'],
    statuses: '1 there is no such job',
    act: async (session, order) => (await import('./acts.js')).resume(session, order),
  });
}

function addCancel(jobs: Command, wiring: Wiring): void {
  const command = jobs
    .command('cancel')
    .summary('abort a run that is under way, or withdraw one that was asked for')
    .description(
      'Tells the work of a run to stop, on whatever machine it is, and waits until it has. It is not tried again. A run that was asked for and has not begun is withdrawn. Shows what it will do, and asks.',
    )
    .argument('<job>', 'the name of a job')
    .argument('[run]', 'the id of a run; if left out the open one, else what was asked for')
    .option('-y, --yes', 'do not ask; needed without a terminal');
  addOrder(command, wiring, {
    examples: ['settle-payments --reason "wrong file"'],
    statuses: '1 it ended otherwise, 77 you said no',
    act: async (session, order, flags, runId) => {
      if (runId !== undefined) checkRunId(runId);
      const { cancel } = await import('./acts.js');
      return cancel(session, order, { runId, yes: flags.yes ?? false });
    },
  });
}

function addForget(jobs: Command, wiring: Wiring): void {
  const command = jobs
    .command('forget')
    .summary('remove a job that no program defines any more')
    .description(
      'Removes a job with its history, its pause and what was asked for, unless a run of it is open. A process that does define it makes it anew when it leads. Shows what it will do, and asks.',
    )
    .argument('<job>', 'the name of a job')
    .option('-y, --yes', 'do not ask; needed without a terminal');
  addOrder(command, wiring, {
    needsReason: false,
    examples: ['settle-payments'],
    statuses: '1 a run of it is open, or there is no such job, 77 you said no',
    act: async (session, order, flags) =>
      (await import('./acts.js')).forget(session, order, { yes: flags.yes ?? false }),
  });
}

interface OrderCommand {
  /** Default `true`. */
  readonly needsReason?: boolean;
  readonly examples: readonly string[];
  /** What the exit statuses mean besides those that are the same for all. */
  readonly statuses: string;
  readonly act: (
    session: JobSession,
    order: JobOrder,
    flags: JobFlags,
    rest: string | undefined,
  ) => Promise<number>;
}

function addOrder(command: Command, wiring: Wiring, wanted: OrderCommand): void {
  const { needsReason = true, examples, statuses, act } = wanted;
  const verb = command.name();
  if (needsReason) command.requiredOption('--reason <text>', 'why, for the history');
  command.addOption(outputOption(['text', 'json']));
  addSettings(command, ['url', 'namespace', ...(needsReason ? (['by'] as const) : []), 'timeout']);
  const more = `Exit status: 0 it is so, ${statuses},\n64 usage, 69 store unreachable, 75 not seen in time.\n`;
  command.addHelpText('after', `\nExamples:\n${examplesOf(verb, examples)}\n${more}`);
  command.action((job: string, ...rest: unknown[]) => {
    // The parser hands on the arguments, the flags and the command itself.
    const flags = rest.at(-2) as JobFlags;
    const second = rest.length > 2 ? (rest[0] as string | undefined) : undefined;
    return runOnJobs(wiring, verb, flags, (session) => {
      const { by, timeout } = resolveSettings(['by', 'timeout'], flags);
      const reason = needsReason ? typedReason(flags.reason ?? '') : '';
      const order: JobOrder = {
        ...{ job: nameOf(job), by: by.value, reason },
        timeoutMs: timeout.value,
        format: flags.output,
      };
      const what = `the ${verb} of ${visible(order.job)}`;
      const ofRuns = verb === 'run' || verb === 'cancel';
      const look = ofRuns ? ['jobs', 'history', order.job] : ['jobs', 'list'];
      session.pending.announce(what, session.write(look));
      return act(session, order, flags, second);
    });
  });
}

function addPlace(command: Command, examples: readonly string[], more: string): void {
  addSettings(command, ['url', 'namespace']);
  command.addHelpText('after', `\nExamples:\n${examplesOf(command.name(), examples)}${more}`);
}

function examplesOf(verb: string, examples: readonly string[]): string {
  return examples.map((example) => `  tenure jobs ${verb} ${example}`.trimEnd()).join('\n');
}

/** @throws {OptionError} naming the argument. */
function nameOf(job: string): string {
  typedText(job, 'JOB');
  try {
    return validateJobName(job);
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new OptionError('JOB', job, 'is not the name of a job', error.remedy);
  }
}

/** @throws {OptionError} */
function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,4}$/.test(text) && limit >= 1 && limit <= mostRuns) return limit;
  throw new OptionError('--limit', text, 'is no count', `use a whole number from 1 to ${mostRuns}`);
}
