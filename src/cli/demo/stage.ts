import { elapsedMs, realRuntime, sleep } from '../../time/index.js';
import type { Lateness } from '../lateness.js';
import type { Fleet } from './fleet/fleet.js';
import type { Gateway } from './gateway.js';
import type { Narrator } from './narrator.js';
import type { Newsroom } from './newsroom.js';
import type { Owners, OwnershipWatch } from './ownership.js';
import type { Answer, Sink } from './sink.js';

/** Everything the steps of the demonstration act on. */
export interface Stage {
  readonly fleet: Fleet;
  readonly gateway: Gateway;
  readonly sink: Sink;
  readonly ownership: OwnershipWatch;
  readonly news: Newsroom;
  readonly narrator: Narrator;
  readonly lateness: Lateness;
  /** Aborts when the demonstration is to stop. */
  readonly signal: AbortSignal;
  /** What brought the followed customer a new owner, in order; told beside the conversation at the end. */
  readonly changes: Change[];
}

export interface Change {
  readonly atMs: number;
  readonly what: string;
}

/** A pause for the reader, and for messages to flow. @throws if the demonstration is to stop. */
export async function pause(stage: Stage, durationMs: number): Promise<void> {
  await sleep(realRuntime, durationMs, stage.signal);
  stage.signal.throwIfAborted();
}

export function note(stage: Stage, what: string): void {
  stage.changes.push({ atMs: realRuntime.now().wallMs, what });
}

/** What the sink holds as soon as the condition is met, or what it holds when the time is up. */
export async function untilSink(
  stage: Stage,
  condition: (answers: readonly Answer[]) => boolean,
  limitMs: number,
): Promise<Answer[]> {
  const since = realRuntime.now();
  for (;;) {
    const answers = await stage.sink.answers();
    if (condition(answers) || elapsedMs(since, realRuntime.now()) >= limitMs) return answers;
    await pause(stage, 50);
  }
}

export function ownerOf(owners: Owners, shard: number): string {
  const owner = owners.get(shard);
  if (owner === undefined) throw new Error(`shard ${shard} has no owner in the store`);
  return owner.worker;
}
