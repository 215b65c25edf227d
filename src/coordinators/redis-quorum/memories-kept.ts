import { OutcomeUnknownError } from '../../errors/index.js';
import { votesTogetherMs } from './limits.js';
import type { Vote, Votes } from './majority.js';
import type { Marker, NodeVote, QuorumNode } from './node.js';
import { describeScript } from './scripts/membership.js';

/**
 * The votes that still stand together.
 *
 * A node that lost its memory and got it back knows of a vote only if those that count with it were at the others before
 * these were asked. So whoever voted much earlier than the last one is asked once more, after that one was heard: a node
 * with the same memory has lost nothing until then. What it does not say itself does not count.
 */
export async function withMemoriesKept<Answer>(
  nodes: readonly QuorumNode[],
  votes: Votes<Answer>,
  given: readonly (NodeVote | undefined)[],
  marker: Marker,
  timeoutMs: number,
): Promise<Votes<Answer>> {
  const counting = given.map((vote, node) =>
    vote?.kind === 'answered' && votes[node]?.kind === 'answered' ? vote : undefined,
  );
  const lastMs = Math.max(...counting.map((vote) => vote?.heardAtMs ?? 0));
  const { identity, marker: member, quarantine } = marker.keys;
  const look = { keys: [member, identity, quarantine], args: [] };
  return Promise.all(
    votes.map(async (vote, number): Promise<Vote<Answer>> => {
      const node = nodes[number];
      const then = counting[number];
      const isEarly = then !== undefined && lastMs - then.sentAtMs > votesTogetherMs;
      if (node === undefined || !isEarly) return vote;
      const now = await node.vote(describeScript, look, marker, timeoutMs);
      if (now.kind === 'answered' && now.memory === then.memory) return vote;
      const error = new OutcomeUnknownError(
        `${node.address} answered too early for those that came later, and could not say that it still knows of it.`,
      );
      return { kind: 'failed', error, executed: 'unknown' };
    }),
  );
}
