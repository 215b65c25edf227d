import { type Runtime, sleep } from '../../time/index.js';
import { type KernelTime, kernelTimeOf, leftMs } from './kernel-time.js';
import type { ProcessGroup } from './process-group.js';

/** What is left of a group is looked at this often while it is being stopped. */
const lookEveryMs = 20;
/** Who has not died so long after SIGKILL waits for a device, or belongs to somebody else. */
const stuckAfterMs = 10_000;

export interface StopOrder {
  /** When SIGKILL follows. In the past: at once. A function is asked again and again: its answer may come nearer. */
  readonly killAt: KernelTime | (() => KernelTime);
  /** `false` if somebody else has sent SIGTERM already. Default `true`. */
  readonly terminate?: boolean;
}

/** `stuck`: some of it is there although it was killed again and again. */
export type StopResult = 'stopped' | 'killed' | 'stuck';

export type Stoppable = Pick<ProcessGroup, 'terminate' | 'kill' | 'isGone'>;

/** SIGTERM now, SIGKILL at `killAt`, and again until nobody is left. Resolves then; never rejects. */
export async function stopGroup(
  runtime: Runtime,
  group: Stoppable,
  { killAt, terminate = true }: StopOrder,
): Promise<StopResult> {
  if (group.isGone) return 'stopped';
  if (terminate) group.terminate();
  for (;;) {
    const at = typeof killAt === 'function' ? killAt() : killAt;
    const toKillMs = leftMs(at, kernelTimeOf(runtime.now()));
    if (toKillMs <= 0) break;
    await sleep(runtime, Math.min(lookEveryMs, toKillMs));
    if (group.isGone) return 'stopped';
  }
  return killGroup(runtime, group);
}

async function killGroup(runtime: Runtime, group: Stoppable): Promise<'killed' | 'stuck'> {
  const begunAt = kernelTimeOf(runtime.now());
  while (leftMs(begunAt, kernelTimeOf(runtime.now())) > -stuckAfterMs) {
    // Again each time: a group can beget processes as fast as they are killed.
    group.kill();
    await sleep(runtime, lookEveryMs);
    if (group.isGone) return 'killed';
  }
  return 'stuck';
}
