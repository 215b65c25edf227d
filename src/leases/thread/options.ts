import type { Coordinator, CoordinatorRecipe } from '../../coordinators/index.js';
import { requireObject } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import { type Runtime, realRuntime } from '../../time/index.js';
import { latestGiveUpMs, type ResolvedTiming } from '../options.js';

/** From where leases are renewed, and what becomes of them when the event loop stands still. */
export interface RenewalOptions {
  /**
   * `main` (default): by this thread's event loop, so a loop that is blocked past `giveUpAfterMs` loses its leases.
   *
   * `thread`: by a worker thread with a connection of its own, so leases outlive a blocked loop. It needs a coordinator made
   * from a URL or a path, and real clocks. The thread starts with the first acquisition and ends with `close()`; by itself it
   * never keeps the process alive. If it fails, the leases it renewed become uncertain and are lost at their deadlines, a
   * `renewal` event carries the error, and the next acquisition starts a new one.
   */
  readonly renewFrom?: 'main' | 'thread';
  /**
   * With `thread`: the event loop may stand still for so long (monotonic, suspend included). It has to turn at least once in
   * this time, or the leases held then are renewed no more. 200 to 86,400,000 ms; default three times the ttl, by which a
   * block of two ttls is survived with one to spare. It may well be longer than `giveUpAfterMs`, since renewal goes on
   * meanwhile. The price of a larger value: if the loop never turns again, others wait for the name that much longer, up to
   * `stallLimitMs` plus the ttl after it last turned. Below 200 ms a pause for garbage or a share of the processor used up
   * would count as a stall.
   */
  readonly stallLimitMs?: number;
  /**
   * With `thread`: what a stall does.
   *
   * - `lose` (default): the leases are lost with the reason `stalled`. The first look at one after the block says so.
   * - `exit`: besides, the process is killed at once (SIGKILL to itself: no handler, no `finally`, no flush), so that it never
   *   wakes up to write. The same happens, whatever `stallLimitMs`, when the store is about to give away a lease that ended
   *   while the loop stood still: unless the loop turned and took note of the end, the process is killed when the ttl, less
   *   1 % and 10 ms for clocks, has passed since the last renewal that succeeded was sent. `giveUpAfterMs` has to leave 200 ms
   *   before that for a healthy loop to turn in.
   *
   * So with `exit` a stalled owner is dead before the store gives its name to another, while this process gets to run at
   * all: one that is stopped as a whole (SIGSTOP, a frozen virtual machine) is killed when it goes on, and one whose thread
   * has failed at its first look. Fence what must not be written twice.
   */
  readonly onStall?: 'lose' | 'exit';
}

/** What renewal from a thread needs. */
export interface ThreadRenewalSettings {
  readonly recipe: CoordinatorRecipe;
  readonly stallLimitMs: number;
  readonly onStall: 'lose' | 'exit';
}

/** What is shorter is no stall: collecting garbage and a processor quota used up take 100 ms each, easily. */
const shortestStallMs = 200;
const longestStallMs = 86_400_000;
const defaultStallTtls = 3;

/** `undefined`: the main thread renews. @throws {OptionError} for a wrong value, or one that has no effect. */
export function resolveRenewal(
  options: RenewalOptions,
  timing: ResolvedTiming,
  coordinator: Coordinator,
  runtime: Runtime,
): ThreadRenewalSettings | undefined {
  const { renewFrom = 'main', onStall = 'lose' } = options;
  checkChoice('renewFrom', renewFrom, ['main', 'thread']);
  checkChoice('onStall', onStall, ['lose', 'exit']);
  if (renewFrom === 'main') {
    for (const option of ['stallLimitMs', 'onStall'] as const) refuseWithoutThread(option, options);
    return undefined;
  }
  if (runtime !== realRuntime) {
    const remedy = "leave runtime out, or use renewFrom: 'main'";
    throw new OptionError('renewFrom', renewFrom, 'needs the real clocks', remedy);
  }
  const { stallLimitMs = defaultStallLimitMs(timing) } = options;
  checkStallLimit(stallLimitMs);
  const settings = { recipe: requireRecipe(coordinator), stallLimitMs, onStall };
  checkTiming(timing, settings);
  return settings;
}

/** @throws {OptionError} if a healthy event loop would not have the time to take note of a loss. */
export function checkTiming(
  { ttlMs, renewEveryMs, giveUpAfterMs }: ResolvedTiming,
  { onStall }: ThreadRenewalSettings,
): void {
  const latestMs = latestGiveUpMs(ttlMs) - shortestStallMs;
  if (onStall === 'lose' || giveUpAfterMs <= latestMs) return;
  throw new OptionError(
    'giveUpAfterMs',
    giveUpAfterMs,
    `leaves less than ${shortestStallMs} ms of a ttl of ${ttlMs} ms for the event loop to take note of a loss, as onStall: 'exit' needs it`,
    latestMs > renewEveryMs
      ? `use at most ${Math.floor(latestMs)} ms`
      : 'use a ttlMs of 650 or more',
  );
}

function defaultStallLimitMs({ ttlMs }: ResolvedTiming): number {
  return Math.min(longestStallMs, Math.max(shortestStallMs, ttlMs * defaultStallTtls));
}

function checkStallLimit(stallLimitMs: number): void {
  if (
    typeof stallLimitMs === 'number' &&
    stallLimitMs >= shortestStallMs &&
    stallLimitMs <= longestStallMs
  )
    return;
  const remedy = `use ${shortestStallMs} to ${longestStallMs} milliseconds`;
  throw new OptionError('stallLimitMs', stallLimitMs, 'is out of range', remedy);
}

function checkChoice(option: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return;
  const remedy = `use ${choices.map((choice) => `'${choice}'`).join(' or ')}`;
  throw new OptionError(option, value, 'is none of the choices', remedy);
}

function refuseWithoutThread(option: 'stallLimitMs' | 'onStall', options: RenewalOptions): void {
  if (options[option] === undefined) return;
  const remedy = "use it with renewFrom: 'thread', or leave it out";
  throw new OptionError(option, options[option], 'has no effect on renewal from main', remedy);
}

function requireRecipe({ recipe, promises }: Coordinator): CoordinatorRecipe {
  if (recipe === undefined) {
    const problem = `needs a coordinator that a thread can make anew, and this one (${promises.store}) is not`;
    const remedy =
      "make it from a URL or a path, as redisCoordinator('redis://...') and sqliteCoordinator('/var/lib/...') do, or use renewFrom: 'main'";
    throw new OptionError('renewFrom', 'thread', problem, remedy);
  }
  const remedy = 'set { module, factory, args }, or leave it out';
  const { module, factory, args } = requireObject('coordinator.recipe', recipe, remedy);
  if (typeof module === 'string' && typeof factory === 'string' && Array.isArray(args))
    return recipe;
  throw new OptionError('coordinator.recipe', 'hidden', 'is not a recipe', remedy);
}
