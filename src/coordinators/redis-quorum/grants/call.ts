import { sleep } from '../../../time/index.js';
import { answersOf, type Votes } from '../majority.js';
import type { Deadline, Question, Quorum } from '../quorum.js';

/** One call of `acquire`, as all of its steps see it. */
export interface AcquireCall {
  readonly quorum: Quorum;
  /** What the whole call may take. */
  readonly timeoutMs: number;
  /** What one node may take for one request. */
  readonly nodeTimeoutMs: number;
  /** Monotonic, ms: before the first request. */
  readonly startedAtMs: number;
  readonly deadline: Deadline;
}

/**
 * Tells all nodes something that nobody has to answer. Never rejects.
 *
 * It goes on for its own time; the call does not wait for it longer than it may.
 */
export async function tellAll(
  { quorum, deadline, nodeTimeoutMs }: AcquireCall,
  question: Pick<Question<true>, 'script' | 'call'>,
): Promise<Votes<true> | undefined> {
  const waiting = new AbortController();
  const asking = quorum.ask<true>(
    {
      ...question,
      parse: () => true,
      isDecided: (votes) => answersOf(votes).length >= quorum.majority,
      nodeTimeoutMs,
    },
    quorum.deadlineIn(nodeTimeoutMs),
  );
  const leftMs = Math.max(0, quorum.leftMs(deadline));
  const timeout = sleep(quorum.runtime, leftMs, waiting.signal).then(() => undefined);
  try {
    return await Promise.race([asking, timeout]);
  } catch {
    return undefined;
  } finally {
    waiting.abort();
  }
}
