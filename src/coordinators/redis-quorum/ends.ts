import type { EndResult, HandoffRequest, ReleaseRequest } from '../contract.js';
import { answerEnd, endCall, notIndexed } from '../redis/index.js';
import { noMajority } from './errors.js';
import { answersOf, type Votes } from './majority.js';
import { isEndCertain, mergeEnd } from './merge/refusals.js';
import type { Quorum } from './quorum.js';
import { endAtScript } from './scripts/end.js';

type Outcome = 'ended' | 'vanished' | 'superseded' | 'revoked';

/** Ends leases at every node, or reserves their names there. */
export async function endLeases(
  quorum: Quorum,
  requests: readonly (ReleaseRequest | HandoffRequest)[],
  timeoutMs: number,
  nodeTimeoutMs: number,
): Promise<EndResult[]> {
  const { keys, majority, nodes } = quorum;
  const at = (votes: Votes<Outcome[]>, index: number) =>
    answersOf(votes).map(({ answer }) => answer[index] as Outcome);
  const quota = (votes: Votes<Outcome[]>) => ({
    majority,
    silentCount: nodes.length - answersOf(votes).length,
  });
  const call = endCall(keys, requests);
  const votes = await quorum.ask<Outcome[]>(
    {
      script: endAtScript,
      call: { keys: call.keys, args: [...call.args, quorum.stampMs()] },
      parse: (reply) => answerEnd(reply).map(outcomeOf),
      isDecided: (soFar) =>
        requests.every((_, index) => isEndCertain(at(soFar, index), quota(soFar))),
      nodeTimeoutMs,
    },
    quorum.deadlineIn(timeoutMs),
  );
  for (const { name } of requests) keys.place(name).indexFreshUntilMs = notIndexed;
  return requests.map((request, index) => {
    const result = mergeEnd(at(votes, index), quota(votes), 'to' in request);
    if (result !== undefined) return result;
    throw noMajority('the end of a lease', votes, quorum.addresses, false);
  });
}

function outcomeOf(result: EndResult): Outcome {
  return result.outcome === 'ended' ? 'ended' : result.reason;
}
