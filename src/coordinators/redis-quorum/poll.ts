import type { Runtime, Timer } from '../../time/index.js';
import { lingerMs, shortestLingerMs } from './limits.js';
import { majorityOf, type Vote, type Votes } from './majority.js';

export interface PollOptions<Answer> {
  readonly timeoutMs: number;
  /** Whether this node's last request had no answer, so that nobody waits for it without need. */
  readonly isLagging: (node: number) => boolean;
  /** Whether the votes so far say all there is to know. */
  readonly isDecided: (votes: Votes<Answer>) => boolean;
}

/**
 * Collects the votes of all nodes, which never reject, until they decide.
 *
 * Then it waits a little for the others, as long again as it has waited: their answers make the picture whole, and most
 * are on their way. A node that does not answer costs nobody more than that. What comes later, nobody hears here.
 */
export function poll<Answer>(
  runtime: Runtime,
  requests: readonly Promise<Vote<Answer>>[],
  options: PollOptions<Answer>,
): Promise<Votes<Answer>> {
  return new Promise((resolve) => {
    const votes = requests.map((): Vote<Answer> => ({ kind: 'pending' }));
    const startedAtMs = runtime.now().monotonicMs;
    const limit = runtime.setTimer(Math.max(0, options.timeoutMs), () => finish());
    let linger: Timer | undefined;
    const finish = () => {
      limit.cancel();
      linger?.cancel();
      resolve([...votes]);
    };
    const startLinger = () => {
      const tookMs = runtime.now().monotonicMs - startedAtMs;
      const waitMs = Math.min(lingerMs, Math.max(shortestLingerMs, tookMs));
      linger ??= runtime.setTimer(waitMs, finish);
    };
    const consider = () => {
      const isAwaited = (vote: Vote<Answer>, node: number) =>
        vote.kind === 'pending' && !options.isLagging(node);
      const isQuiet = !votes.some(isAwaited);
      if (!votes.some(({ kind }) => kind === 'pending')) finish();
      else if (options.isDecided(votes)) isQuiet ? finish() : startLinger();
      else if (isQuiet && answerCount(votes) >= majorityOf(votes.length)) startLinger();
    };
    for (const [node, request] of requests.entries()) {
      void request.then((vote) => {
        votes[node] = vote;
        consider();
      });
    }
  });
}

function answerCount<Answer>(votes: Votes<Answer>): number {
  return votes.filter(({ kind }) => kind === 'answered').length;
}
