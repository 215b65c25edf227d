import type { CoordinatorPromises } from '../../coordinators/index.js';
import { Elections } from '../../elections/index.js';
import { OptionError, redactSecrets } from '../../errors/index.js';
import { Leases } from '../../leases/index.js';
import { realRuntime } from '../../time/index.js';
import { parseDuration, writeDuration } from '../duration.js';
import { UsageError } from '../exit-status.js';
import { reportFailure } from '../failure.js';
import { commandWriter } from '../next-command.js';
import { refuseMemory } from '../session.js';
import { type Flags, resolveSettings, type Setting } from '../settings/index.js';
import { openStores } from '../stores.js';
import { typedName } from '../typed.js';
import { ProgramError } from './find-program.js';
import { parseCommandLine, type RunPlan } from './plan.js';
import { Signals } from './signals.js';
import { supervise } from './supervisor.js';
import type { Voice } from './voice.js';
import { Watch } from './watch.js';

/** As the parser gives them. */
export interface RunFlags extends Flags {
  readonly election: string;
  /** `false`: `--no-wait`. */
  readonly wait?: string | false;
  readonly grace: string;
  readonly restart?: 'on-loss';
  readonly onLost?: string;
  readonly shell?: true;
  /** `false`: `--no-evidence`. */
  readonly evidence: boolean;
}

/**
 * Answers with the exit status; never rejects.
 *
 * @param targets gets the store's URL, for messages.
 * @param stopping has aborted if a signal came before this was called. Later ones are caught here.
 */
export async function runCommand(
  words: readonly string[],
  flags: RunFlags,
  voice: Voice,
  targets: string[],
  stopping: AbortSignal,
): Promise<number> {
  try {
    return await runSafely(words, flags, voice, targets, stopping);
  } catch (error) {
    if (error instanceof ProgramError) return reportProgram(voice, error);
    return reportFailure(voice.asTerminal, 'run', error, targets);
  }
}

async function runSafely(
  words: readonly string[],
  flags: RunFlags,
  voice: Voice,
  targets: string[],
  stopping: AbortSignal,
): Promise<number> {
  if (process.platform === 'win32')
    throw new UsageError(
      'this system has no process groups, without which a command cannot be stopped whole',
    );
  const signals = new Signals();
  const watch = new Watch({ runtime: realRuntime, tell: (text) => voice.say(text) });
  const ends: (() => Promise<unknown>)[] = [() => watch.dismiss()];
  try {
    stopping.throwIfAborted();
    const { url, namespace, id, ttl } = resolveSettings(['url', 'namespace', 'id', 'ttl'], flags);
    targets.push(url.value);
    refuseMemory(url.value, url.source);
    const plan = planOf(words, flags);
    const stores = await openStores(url.value, namespace.value, url.source);
    const coordinator = stores.openCoordinator();
    ends.push(() => coordinator.close());
    requireGranted(ttl, coordinator.promises);
    const leases = new Leases(coordinator, { id: id.value, ttlMs: ttl.value });
    ends.push(() => leases.close());
    const elections = new Elections(leases, { evidence: flags.evidence });
    ends.push(() => elections.close());
    const election = elections.election(plan.name, { graceAfterLossMs: plan.graceMs });
    return await supervise({
      plan,
      runtime: leases.runtime,
      leases,
      election,
      signals,
      watch,
      voice,
      address: stores.address,
      write: commandWriter(flags),
      environment: process.env,
    });
  } finally {
    for (const end of ends.reverse()) await end();
    signals.stop();
  }
}

/** What is too short for one store is not for another. @throws {OptionError} naming where the ttl was written. */
export function requireGranted(
  { value, source }: Setting<number>,
  { store, smallestTtlMs, largestTtlMs }: CoordinatorPromises,
): void {
  if (value >= smallestTtlMs && value <= largestTtlMs) return;
  const range = `${writeDuration(smallestTtlMs)} to ${writeDuration(largestTtlMs)}`;
  const problem = `is not granted by the store ${store}`;
  throw new OptionError(source, writeDuration(value), problem, `use ${range}`);
}

/** @throws {OptionError} */
function planOf(words: readonly string[], flags: RunFlags): RunPlan {
  const isForShell = flags.shell ?? false;
  const { election, wait, grace, restart, onLost } = flags;
  return {
    name: typedName(election, '--election'),
    command: { words, isForShell },
    waitMs: waitMsOf(wait),
    graceMs: parseDuration(grace, '--grace'),
    restartsOnLoss: restart === 'on-loss',
    onLost: onLost === undefined ? undefined : parseCommandLine(onLost, '--on-lost', isForShell),
  };
}

function waitMsOf(wait: RunFlags['wait']): number {
  if (wait === false) return 0;
  if (typeof wait !== 'string') return Number.POSITIVE_INFINITY;
  return parseDuration(wait, '--wait', { largestMs: Number.MAX_SAFE_INTEGER });
}

function reportProgram(voice: Voice, error: ProgramError): number {
  voice.say(redactSecrets(error.message));
  voice.advise(error.next);
  return error.status;
}
