import { RedisKeys } from '../../coordinators/redis/keys.js';
import { promisesOf } from '../../coordinators/redis/promises.js';
import { type Endpoint, endpointText } from '../../drivers/endpoint.js';
import type { Link } from '../../drivers/redis/link.js';
import { slotOf } from '../../drivers/redis/slot.js';
import { judgeAll, type Looked } from '../check.js';
import type { Purpose } from '../finding.js';
import type { ClusterInfo } from './facts.js';
import { clusterChecks } from './judge-cluster.js';
import { asker, fieldsOf, lookWith, openTo } from './look.js';
import type { Places } from './places.js';
import { type Inspected, inspect, messageOf } from './server.js';

/** Looks at the cluster, and at the node that has the slot of the namespace. @throws {TenureError} if no node answers. */
export async function examineCluster(
  places: Places,
  seeds: readonly Endpoint[],
  purpose: Purpose,
): Promise<Inspected> {
  const slot = slotOf(new RedisKeys(purpose.namespace).term);
  const said = await Promise.all(seeds.map((seed) => askNode(places, seed, slot, purpose)));
  const first = said.find((one) => 'info' in one);
  if (first === undefined || !('info' in first))
    throw said.flatMap((one) => ('error' in one ? one.error : []))[0];
  const { info, owner } = first;
  const facts = {
    ...{ slot, info, owner: owner && endpointText(owner) },
    nodes: {
      count: seeds.length,
      failures: said.flatMap((one) => ('failure' in one ? one.failure : [])),
    },
  };
  const promises = promisesOf('cluster', 0);
  const findings = judgeAll(clusterChecks, facts, purpose);
  if (owner === undefined) return { promises, findings };
  const inspected = await inspect(places.at(owner), 'cluster', promises, purpose);
  return { promises, findings: [...findings, ...inspected.findings] };
}

type Said =
  | { readonly info: Looked<ClusterInfo>; readonly owner: Endpoint | undefined }
  | { readonly failure: string; readonly error: unknown };

async function askNode(
  places: Places,
  seed: Endpoint,
  slot: number,
  purpose: Purpose,
): Promise<Said> {
  const half = { ...purpose, timeoutMs: purpose.timeoutMs / 2 };
  try {
    const link = await openTo(places.at(seed), half);
    try {
      return await lookAtNode(link, seed, slot, half);
    } finally {
      link.end('it has answered');
    }
  } catch (error) {
    return { failure: messageOf(error), error };
  }
}

async function lookAtNode(link: Link, seed: Endpoint, slot: number, purpose: Purpose) {
  const ask = asker(link, purpose);
  const info = await lookWith(ask('CLUSTER', 'INFO'), 'CLUSTER INFO', 'cluster|info', readInfo);
  const slots = await lookWith(ask('CLUSTER', 'SLOTS'), 'CLUSTER SLOTS', 'cluster|slots', (reply) =>
    ownerIn(reply, slot, seed.host),
  );
  // Without the right to ask, the node that is named may be the one or not; what it says of itself counts all the same.
  return { info, owner: 'fact' in slots ? slots.fact : seed };
}

function readInfo(reply: unknown): ClusterInfo {
  const fields = fieldsOf(String(reply));
  return {
    state: fields.get('cluster_state') ?? '',
    slotsAssigned: Number(fields.get('cluster_slots_assigned')),
    slotsOk: Number(fields.get('cluster_slots_ok')),
    size: Number(fields.get('cluster_size')),
  };
}

/** Of the reply of CLUSTER SLOTS. A node that leaves out a host means the one it was reached by. */
function ownerIn(reply: unknown, slot: number, askedHost: string): Endpoint | undefined {
  type Range = readonly [
    first: number,
    last: number,
    master?: readonly [host: string, port: number],
  ];
  const ranges = Array.isArray(reply) ? (reply as Range[]) : [];
  const [, , master] = ranges.find(([first, last]) => first <= slot && slot <= last) ?? [];
  if (master === undefined) return undefined;
  const [host, port] = master;
  return { host: host === '' || host === '?' ? askedHost : host, port: Number(port) };
}
