import { OptionError } from '../../errors/index.js';
import { type ResolvedJob, resolveJob } from '../../schedule/definition.js';
import type { JobOptions, Misfire, RetryOptions } from '../../schedule/index.js';
import { type DurationLimits, durationForm, parseDuration } from '../duration.js';
import { problemOf } from '../naming.js';
import { type CommandLine, parseCommandLine } from '../supervise/plan.js';
import type { Mistakes } from './mistakes.js';
import type { YamlNode } from './yaml-node.js';

/** One job of a file. */
export interface JobEntry {
  readonly name: string;
  readonly options: JobOptions;
  readonly resolved: ResolvedJob;
  readonly command: CommandLine;
  /** Where the command stands: `jobs.yaml:7: jobs.settle.command`. */
  readonly commandAt: string;
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

/** Reads one job, and checks all of it; `undefined` if there are mistakes, which name file, line and key. */
export function readJob(name: string, node: YamlNode, mistakes: Mistakes): JobEntry | undefined {
  const fields = mistakes.of(() => node.fields(jobKeys, mistakes));
  if (fields === undefined) return undefined;
  const { stopGrace, env } = fields;
  const options = optionsOf(node, fields, mistakes);
  const resolved = resolvedOf(name, node, fields, options, mistakes);
  const command = mistakes.of(() => commandOf(node, fields));
  const variables = env === undefined ? {} : envOf(env, mistakes);
  const stopGraceMs =
    stopGrace === undefined
      ? defaultStopGraceMs
      : mistakes.of(() => duration(stopGrace, { largestMs: dayMs }));
  if (resolved === undefined || command === undefined || stopGraceMs === undefined)
    return undefined;
  const commandAt = (fields.command ?? node).where;
  return { name, options, resolved, command, commandAt, env: variables, stopGraceMs };
}

/** What stands for a `cron` that cannot be used, so that the rest is checked. */
const anyCron = '* * * * *';

function optionsOf(node: YamlNode, fields: Fields<JobKey>, mistakes: Mistakes): JobOptions {
  const { cron, timeZone, misfire, lateAfter, catchUp, timeout, retry } = fields;
  const { resumeLimit, keepRuns } = fields;
  if (cron === undefined)
    mistakes.add(node.complain('has no cron', `add one, such as cron: '0 3 * * *'`));
  const count = 'use a whole number';
  const options = {
    cron:
      mistakes.ofPart(cron, (part) => part.text(`put it in quotes: cron: '*/5 * * * *'`)) ??
      anyCron,
    timeZone: mistakes.ofPart(timeZone, (part) => part.text('use a name such as Europe/Berlin')),
    misfire: mistakes.ofPart(misfire, (part) => part.text('use skip, once or all') as Misfire),
    lateAfterMs: mistakes.ofPart(lateAfter, (part) => duration(part)),
    catchUpMs: mistakes.ofPart(catchUp, (part) => duration(part)),
    timeoutMs: mistakes.ofPart(timeout, (part) =>
      duration(part, { smallestMs: 1, largestMs: yearMs }),
    ),
    retry: mistakes.ofPart(retry, (part) => retryOf(part, mistakes)),
    resumeLimit: mistakes.ofPart(resumeLimit, (part) => part.number(count)),
    keepRuns: mistakes.ofPart(keepRuns, (part) => part.number(count)),
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as unknown as JobOptions;
}

function retryOf(node: YamlNode, mistakes: Mistakes): RetryOptions | undefined {
  const { limit, firstPause, longestPause } = node.fields(retryKeys, mistakes);
  if (limit === undefined) throw node.complain('has no limit', 'add one, such as limit: 3');
  const limits = { smallestMs: 1, largestMs: dayMs };
  const limitCount = mistakes.ofPart(limit, (part) => part.number('use a whole number'));
  const firstPauseMs = mistakes.ofPart(firstPause, (part) => duration(part, limits));
  const longestPauseMs = mistakes.ofPart(longestPause, (part) => duration(part, limits));
  if (limitCount === undefined) return undefined;
  return {
    limit: limitCount,
    ...(firstPauseMs !== undefined && { firstPauseMs }),
    ...(longestPauseMs !== undefined && { longestPauseMs }),
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

function envOf(node: YamlNode, mistakes: Mistakes): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of mistakes.of(() => node.entries('use NAME: value')) ?? []) {
    if (!/^[A-Za-z_]\w*$/.test(name))
      mistakes.add(value.complain('is no name of a variable', 'use letters, digits and _'));
    else if (name.startsWith('TENURE_'))
      mistakes.add(
        value.complain('begins with TENURE_, as what tenure sets does', 'use another name'),
      );
    else env[name] = mistakes.of(() => value.word('put it in quotes')) ?? '';
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

/** What the library refuses stands in a line of the file. It names one option at a time: the others are tried without it. */
function resolvedOf(
  name: string,
  node: YamlNode,
  fields: Fields<JobKey>,
  options: JobOptions,
  mistakes: Mistakes,
): ResolvedJob | undefined {
  let job = name;
  let tried = options;
  for (;;) {
    try {
      return resolveJob(job, tried);
    } catch (error) {
      if (!(error instanceof OptionError)) throw error;
      mistakes.add(complaintOf(error, node, fields));
      const [option = ''] = error.option.split('.');
      if (option === 'job') job = 'any';
      else if (option === 'cron') tried = { ...tried, cron: anyCron };
      else if (option in tried) tried = without(tried, option as keyof JobOptions);
      else return undefined;
    }
  }
}

function without({ ...options }: JobOptions, option: keyof JobOptions): JobOptions {
  delete (options as Partial<JobOptions>)[option];
  return options;
}

/** As a line of the file. */
function complaintOf(error: OptionError, node: YamlNode, fields: Fields<JobKey>): OptionError {
  const key = keyOf[error.option];
  const place = (key === undefined ? undefined : fields[key]) ?? node;
  const [, part] = /^retry\.(\w+?)(?:Ms)?$/.exec(error.option) ?? [];
  const problem = part === undefined ? problemOf(error) : `${part} ${problemOf(error)}`;
  return place.complain(problem, error.remedy, error.value);
}
