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

/** Asks one node: says what became of it, maybe several times while it tries again, and resolves when it gives up or has an answer. */
export type Request<Answer> = (report: (vote: Vote<Answer>) => void) => Promise<void>;

/**
 * Collects the votes of all nodes until they decide.
 *
 * Then it waits a little for the others, as long again as it has waited: their answers make the picture whole, and most
 * are on their way. A node that does not answer costs nobody more than that. What comes later, nobody hears here.
 */
export function poll<Answer>(
  runtime: Runtime,
  requests: readonly Request<Answer>[],
  options: PollOptions<Answer>,
): Promise<Votes<Answer>> {
  return new Promise((resolve) => {
    const votes = requests.map((): Vote<Answer> => ({ kind: 'pending' }));
    const running = new Set(requests.keys());
    const startedAtMs = runtime.now().monotonicMs;
    let linger: Timer | undefined;
    const finish = () => {
      limit.cancel();
      linger?.cancel();
      resolve([...votes]);
    };
    const limit = runtime.setTimer(Math.max(0, options.timeoutMs), finish);
    const startLinger = () => {
      const tookMs = runtime.now().monotonicMs - startedAtMs;
      const waitMs = Math.min(lingerMs, Math.max(shortestLingerMs, tookMs));
      linger ??= runtime.setTimer(waitMs, finish);
    };
    const consider = () => {
      const isQuiet = votes.every(
        ({ kind }, node) => kind !== 'pending' || options.isLagging(node),
      );
      const isEnough = answerCount(votes) >= majorityOf(votes.length);
      if (running.size === 0) finish();
      else if (options.isDecided(votes)) isQuiet ? finish() : startLinger();
      else if (isQuiet && isEnough) startLinger();
    };
    for (const [node, request] of requests.entries()) {
      const report = (vote: Vote<Answer>) => {
        votes[node] = vote;
        consider();
      };
      void request(report).then(() => {
        running.delete(node);
        consider();
      });
    }
  });
}

function answerCount<Answer>(votes: Votes<Answer>): number {
  return votes.filter(({ kind }) => kind === 'answered').length;
}
