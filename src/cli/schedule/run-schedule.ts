import { isTransient, OptionError, redactSecrets } from '../../errors/index.js';
import { type JobStore, Schedule } from '../../schedule/index.js';
import { realRuntime } from '../../time/index.js';
import { parseDuration } from '../duration.js';
import { exitStatus, UsageError } from '../exit-status.js';
import { reportFailure } from '../failure.js';
import { openJobStore } from '../job-stores.js';
import { quoted } from '../next-command.js';
import { call, refuseMemory } from '../session.js';
import { type Flags, resolveSettings } from '../settings/index.js';
import { ProgramError } from '../supervise/find-program.js';
import { requireGranted } from '../supervise/run-command.js';
import type { Voice } from '../supervise/voice.js';
import type { Terminal } from '../terminal.js';
import { typedText } from '../typed.js';
import { CommandAttempt } from './command-attempt.js';
import type { JobEntry } from './job-entry.js';
import { readJobsFile } from './jobs-file.js';
import { MistakesError } from './mistakes.js';
import { missingPrograms } from './programs.js';
import { tellOf } from './tell.js';
import { Watches } from './watches.js';

/** As the parser gives them. */
export interface ScheduleFlags extends Flags {
  readonly file: string;
  readonly check?: true;
  readonly name: string;
  readonly spread?: true;
  readonly drain: string;
  readonly output: 'text' | 'json';
}

/** Answers with the exit status; never rejects. @param targets gets the store's URL, for messages. */
export async function runSchedule(
  flags: ScheduleFlags,
  terminal: Terminal,
  voice: Voice,
  targets: string[],
  stopping: AbortSignal,
): Promise<number> {
  try {
    const entries = await readJobsFile(flags.file, stopping);
    if (flags.check === undefined)
      return await scheduleSafely(entries, flags, voice, targets, stopping);
    const { check } = await import('./check.js');
    const missing = missingPrograms(entries, process.env);
    check(terminal, flags.file, entries, realRuntime.now().wallMs, flags.output, missing);
    for (const { message } of missing.values()) voice.say(`warning: ${message}`);
    return exitStatus.success;
  } catch (error) {
    if (error instanceof ProgramError) return sayAndAdvise(voice, error, error.next, error.status);
    const mistakes: readonly unknown[] = error instanceof MistakesError ? error.errors : [error];
    const own = mistakes.filter((one) => isIn(flags.file, one));
    const last = own.at(-1);
    if (last !== undefined) {
      for (const mistake of own.slice(0, -1)) voice.say(redactSecrets(mistake.message));
      const next = `tenure schedule -f ${quoted(flags.file)} --check, when it is corrected`;
      return sayAndAdvise(voice, last, next, exitStatus.usage);
    }
    return reportFailure(voice.asTerminal, 'schedule', error, targets);
  }
}

function isIn(file: string, error: unknown): error is OptionError {
  return error instanceof OptionError && error.option.startsWith(`${file}:`);
}

function sayAndAdvise(voice: Voice, error: Error, next: string, status: number): number {
  voice.say(redactSecrets(error.message));
  voice.advise(next);
  return status;
}

async function scheduleSafely(
  entries: readonly JobEntry[],
  flags: ScheduleFlags,
  voice: Voice,
  targets: string[],
  stopping: AbortSignal,
): Promise<number> {
  if (process.platform === 'win32')
    throw new UsageError(
      'this system has no process groups, without which a command cannot be stopped whole',
    );
  const { url, namespace, id, ttl } = resolveSettings(['url', 'namespace', 'id', 'ttl'], flags);
  targets.push(url.value);
  refuseMemory(url.value, url.source);
  const drainMs = parseDuration(flags.drain, '--drain');
  // A mistyped command is told at once, and not at its tick some night.
  const missing = [...missingPrograms(entries, process.env).values()];
  const last = missing.pop();
  for (const { message } of missing) voice.say(message);
  if (last !== undefined) throw last;
  const { store, address } = await openJobStore(url.value, namespace.value, url.source);
  const tell = (text: string) => voice.say(text);
  const watches = new Watches({ runtime: realRuntime, command: 'schedule', tell });
  try {
    requireGranted(ttl, store.coordinator.promises);
    const holder = { id: id.value, ttlMs: ttl.value };
    const schedule = scheduleOf(store, entries, flags, { ...holder, drainMs, watches, voice });
    await tryStore(store, entries, voice);
    watches.prepare();
    const count = entries.length === 1 ? '1 job' : `${entries.length} jobs`;
    voice.say(`${id.value} stands for ${count} at ${address}`);
    return await lead(schedule, voice, stopping);
  } finally {
    await watches.dismiss();
    await store.close();
  }
}

interface Surroundings {
  readonly id: string;
  readonly ttlMs: number;
  readonly drainMs: number;
  readonly watches: Watches;
  readonly voice: Voice;
}

/** @throws {OptionError} naming the flag. */
function scheduleOf(
  store: JobStore,
  entries: readonly JobEntry[],
  { name, spread }: Pick<ScheduleFlags, 'name' | 'spread'>,
  { id, ttlMs, drainMs, watches, voice }: Surroundings,
): Schedule {
  const election = { drainMs: patienceMs(entries, drainMs) };
  const options = { name, spread: spread ?? false, id, ttlMs, election };
  const schedule = named(name, () => new Schedule(store, options));
  const common = { runtime: realRuntime, environment: process.env, drainMs, voice };
  for (const entry of entries)
    schedule.job(entry.name, entry.options, async (context) => {
      const watch = watches.take();
      try {
        await new CommandAttempt({ ...common, entry, context, watch }).run();
      } finally {
        await watches.giveBack(watch);
      }
    });
  return schedule;
}

function named<Made>(name: string, make: () => Made): Made {
  typedText(name, '--name');
  try {
    return make();
  } catch (error) {
    if (!(error instanceof OptionError) || error.option !== 'name') throw error;
    throw new OptionError('--name', name, 'is no name of a schedule', error.remedy);
  }
}

/** Beyond the drain, time to stop in, to be killed in, and to write what has come of it. */
function patienceMs(entries: readonly JobEntry[], drainMs: number): number {
  const graceMs = Math.max(...entries.map(({ stopGraceMs }) => stopGraceMs));
  return Math.min(24 * 3_600_000, drainMs + graceMs + 5_000);
}

/** Tables that are not there are told at once. A store that does not answer is waited for. @throws what is not transient. */
async function tryStore(
  store: JobStore,
  entries: readonly JobEntry[],
  voice: Voice,
): Promise<void> {
  const names = entries.map(({ name }) => name);
  try {
    await store.look(names, call);
  } catch (error) {
    if (!isTransient(error)) throw error;
    voice.sayOnce(`${error.message} Trying again.`);
  }
}

/** Until somebody asks for an end, or an election of ours cannot go on. */
async function lead(schedule: Schedule, voice: Voice, stopping: AbortSignal): Promise<number> {
  const over = new AbortController();
  tellOf(schedule, voice, AbortSignal.any([stopping, over.signal]));
  const failed = new Promise<unknown>((resolve) => {
    // Whoever watches a command starts it again: it ends instead of waiting for what somebody has to mend.
    schedule.events.on('startFailed', ({ error }) => resolve(error));
    schedule.events.on('stopped', ({ error }) => resolve(error));
  });
  const asked = new Promise<undefined>((resolve) => {
    if (stopping.aborted) resolve(undefined);
    stopping.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  schedule.start();
  const error = await Promise.race([asked, failed]);
  if (error === undefined)
    voice.say('stopping: what is under way may end; a second signal ends it');
  over.abort();
  await schedule.close();
  if (error !== undefined) throw error;
  return exitStatus.success;
}
