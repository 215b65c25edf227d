import { elapsedMs, type Runtime, realRuntime, sleep } from '../../time/index.js';

/** So long nothing has moved when nothing is expected to any more: a takeover takes a ttl, which is shorter. */
const stalledAfterMs = 10_000;
const lookEveryMs = 50;

/** How far the workers are. */
export interface Progress {
  readonly handledCount: number;
  /** What the log has not yet seen handled. */
  readonly waitingCount: number;
}

/**
 * Waits until all is handled, however slow the machine is: it ends early only when nothing has moved for some seconds.
 *
 * @throws the reason of the signal.
 */
export async function untilSettled(
  publishedCount: number,
  look: () => Promise<Progress>,
  signal: AbortSignal,
  runtime: Runtime = realRuntime,
): Promise<void> {
  let last: Progress | undefined;
  let movedAt = runtime.now();
  for (;;) {
    const seen = await look();
    if (seen.handledCount >= publishedCount) return;
    const hasMoved =
      seen.handledCount !== last?.handledCount || seen.waitingCount !== last.waitingCount;
    if (hasMoved) movedAt = runtime.now();
    else if (elapsedMs(movedAt, runtime.now()) >= stalledAfterMs) return;
    last = seen;
    await sleep(runtime, lookEveryMs, signal);
    signal.throwIfAborted();
  }
}
