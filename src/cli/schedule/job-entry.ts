import { OptionError } from '../../errors/index.js';
import { type ResolvedJob, resolveJob } from '../../schedule/definition.js';
import type { JobOptions, Misfire, RetryOptions } from '../../schedule/index.js';
import { validateJobName } from '../../schedule/job-name.js';
import { type DurationLimits, durationForm, parseDuration } from '../duration.js';
import { problemOf } from '../naming.js';
import { type CommandLine, parseCommandLine } from '../supervise/plan.js';
import type { YamlNode } from './yaml-node.js';

/** One job of a file. */
export interface JobEntry {
  readonly name: string;
  readonly options: JobOptions;
  readonly resolved: ResolvedJob;
  readonly command: CommandLine;
  /** What the command sees besides, or instead of, what we see. */
  readonly env: Readonly<Record<string, string>>;
  /** Between SIGTERM and SIGKILL, while the lease is held. */
  readonly stopGraceMs: number;
}

/** What a job of a file may say. */
export const jobKeys = [
  ...(['cron', 'timeZone', 'command', 'shell', 'env', 'misfire', 'lateAfter', 'catchUp'] as const),
  ...(['timeout', 'stopGrace', 'retry', 'resumeLimit', 'keepRuns'] as const),
];
const retryKeys = ['limit', 'firstPause', 'longestPause'] as const;
type JobKey = (typeof jobKeys)[number];
type Fields<Key extends string> = Partial<Record<Key, YamlNode>>;

const yearMs = 366 * 24 * 3_600_000;
const dayMs = 24 * 3_600_000;
const defaultStopGraceMs = 10_000;

/** Reads one job, and checks all of it. @throws {OptionError} naming file, line and key. */
export function readJob(name: string, node: YamlNode): JobEntry {
  const fields = node.fields(jobKeys);
  const { stopGrace } = fields;
  const options = optionsOf(node, fields);
  return {
    name: named(node, fields, () => validateJobName(name)),
    options,
    resolved: named(node, fields, () => resolveJob(name, options)),
    command: commandOf(node, fields),
    env: fields.env === undefined ? {} : envOf(fields.env),
    stopGraceMs:
      stopGrace === undefined ? defaultStopGraceMs : duration(stopGrace, { largestMs: dayMs }),
  };
}

function optionsOf(node: YamlNode, fields: Fields<JobKey>): JobOptions {
  const { cron, timeZone, misfire, lateAfter, catchUp, timeout, retry } = fields;
  const { resumeLimit, keepRuns } = fields;
  if (cron === undefined) throw node.complain('has no cron', `add one, such as cron: '0 3 * * *'`);
  const count = 'use a whole number';
  return {
    cron: cron.text(`put it in quotes: cron: '*/5 * * * *'`),
    ...(timeZone && { timeZone: timeZone.text('use a name such as Europe/Berlin') }),
    ...(misfire && { misfire: misfire.text('use skip, once or all') as Misfire }),
    ...(lateAfter && { lateAfterMs: duration(lateAfter) }),
    ...(catchUp && { catchUpMs: duration(catchUp) }),
    ...(timeout && { timeoutMs: duration(timeout, { smallestMs: 1, largestMs: yearMs }) }),
    ...(retry && { retry: retryOf(retry) }),
    ...(resumeLimit && { resumeLimit: resumeLimit.number(count) }),
    ...(keepRuns && { keepRuns: keepRuns.number(count) }),
  };
}

function retryOf(node: YamlNode): RetryOptions {
  const { limit, firstPause, longestPause } = node.fields(retryKeys);
  if (limit === undefined) throw node.complain('has no limit', 'add one, such as limit: 3');
  const limits = { smallestMs: 1, largestMs: dayMs };
  return {
    limit: limit.number('use a whole number'),
    ...(firstPause && { firstPauseMs: duration(firstPause, limits) }),
    ...(longestPause && { longestPauseMs: duration(longestPause, limits) }),
  };
}

function duration(node: YamlNode, limits: DurationLimits = { largestMs: yearMs }): number {
  return parseDuration(node.word(`use ${durationForm}`), node.where, limits);
}

const commandForms = 'use a list of words, such as [node, settle.mjs], or a text';

/** A list as it stands; a text divided at its spaces, or for the shell if that is asked for. */
function commandOf(job: YamlNode, { command, shell }: Fields<JobKey>): CommandLine {
  if (command === undefined) throw job.complain('has no command', commandForms);
  const isForShell = shell?.flag() ?? false;
  if (!command.isList)
    return parseCommandLine(
      command.text(commandForms),
      command.where,
      isForShell,
      'add shell: true',
    );
  if (isForShell)
    throw command.complain('is a list, and shell: true wants a text', 'write it as one text');
  const words = command.items(commandForms).map((word) => word.word('put it in quotes'));
  if (words[0] === undefined || words[0] === '')
    throw command.complain('names no program', commandForms);
  return { words, isForShell };
}

function envOf(node: YamlNode): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of node.entries('use NAME: value')) {
    if (!/^[A-Za-z_]\w*$/.test(name))
      throw value.complain('is no name of a variable', 'use letters, digits and _');
    if (name.startsWith('TENURE_'))
      throw value.complain('begins with TENURE_, as what tenure sets does', 'use another name');
    env[name] = value.word('put it in quotes');
  }
  return env;
}

/** Which key of the file stands for an option of the library. */
const keyOf: Readonly<Record<string, JobKey>> = {
  ...{ cron: 'cron', timeZone: 'timeZone', misfire: 'misfire', retry: 'retry' },
  ...{ lateAfterMs: 'lateAfter', catchUpMs: 'catchUp', timeoutMs: 'timeout' },
  ...{ resumeLimit: 'resumeLimit', keepRuns: 'keepRuns' },
  ...{ 'retry.limit': 'retry', 'retry.firstPauseMs': 'retry', 'retry.longestPauseMs': 'retry' },
};

/** What the library refuses stands in a line of the file. */
function named<Result>(node: YamlNode, fields: Fields<JobKey>, check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    const key = keyOf[error.option];
    const place = (key === undefined ? undefined : fields[key]) ?? node;
    const [, part] = /^retry\.(\w+?)(?:Ms)?$/.exec(error.option) ?? [];
    const problem = part === undefined ? problemOf(error) : `${part} ${problemOf(error)}`;
    throw place.complain(problem, error.remedy, error.value);
  }
}
