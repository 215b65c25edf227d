import { usualLargestTtlMs } from '../../coordinators/redis-quorum/limits.js';
import { quorumPromises } from '../../coordinators/redis-quorum/promises.js';
import { nodeUrls } from '../../coordinators/redis-quorum/url.js';
import { judgeAll } from '../check.js';
import type { Purpose } from '../finding.js';
import type { QuorumFacts } from './facts.js';
import { runIdOf } from './judge.js';
import { quorumChecks } from './judge-quorum.js';
import { Places } from './places.js';
import { type Inspected, type InspectedServer, inspect, messageOf } from './server.js';

/** Looks at each node, and at all of them beside each other. @throws {TenureError} if none answers. */
export async function examineNodes(url: string, purpose: Purpose): Promise<Inspected> {
  const promises = quorumPromises(usualLargestTtlMs);
  const asked = await Promise.allSettled(
    nodeUrls(url).map((nodeUrl) => {
      const places = new Places(nodeUrl);
      return inspect(places.single, 'quorum', promises, purpose, true);
    }),
  );
  const there = asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  const errors = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  if (there.length === 0) throw errors[0];
  const facts = factsOf(asked.length, there, errors);
  return {
    promises,
    findings: [
      ...judgeAll(quorumChecks, facts, purpose),
      ...there.flatMap(({ findings }) => findings),
    ],
  };
}

function factsOf(
  count: number,
  there: readonly InspectedServer[],
  errors: readonly unknown[],
): QuorumFacts {
  const refusals = there.flatMap(({ facts: { address, write } }) =>
    typeof write === 'object' ? `${address}: ${write.refusal}` : [],
  );
  return {
    nodes: { count, failures: [...errors.map(messageOf), ...refusals] },
    runIds: there.flatMap(({ facts }) => runIdOf(facts) ?? []),
    clocks: there.flatMap(({ facts }) => facts.soundings?.clock ?? []),
  };
}
