import { RedisKeys } from '../../coordinators/redis/keys.js';
import { promisesOf } from '../../coordinators/redis/promises.js';
import { type Endpoint, endpointText } from '../../drivers/endpoint.js';
import { slotRanges } from '../../drivers/redis/cluster.js';
import { replyCode } from '../../drivers/redis/errors.js';
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
  const nodes = said.flatMap((one) => ('info' in one ? one : []));
  const strangers = said.flatMap((one) => ('stranger' in one ? one.stranger : []));
  const errors = said.flatMap((one) => ('error' in one ? [one.error] : []));
  if (errors.length === said.length) throw errors[0];
  const [first] = nodes;
  const owner = nodes.find((one) => one.owner !== undefined)?.owner;
  const facts = {
    ...{ slot, strangers, owner: owner && endpointText(owner) },
    ...(first !== undefined && { info: first.info }),
    owners: ownersOf(nodes),
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

/** A server has one id, by whatever addresses it is reached. */
function ownersOf(nodes: readonly SaidByNode[]): string[] {
  const owners = new Map<string, string>();
  for (const { owner, ownerId } of nodes)
    if (owner !== undefined && ownerId !== undefined && !owners.has(ownerId))
      owners.set(ownerId, endpointText(owner));
  return [...owners.values()];
}

interface SaidByNode {
  readonly info: Looked<ClusterInfo>;
  readonly owner: Endpoint | undefined;
  /** Absent: it is not known who the owner is. */
  readonly ownerId?: string | undefined;
}

type Said =
  | SaidByNode
  | { readonly stranger: string }
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

async function lookAtNode(
  link: Link,
  seed: Endpoint,
  slot: number,
  purpose: Purpose,
): Promise<Said> {
  const ask = asker(link, purpose);
  const asked = ask('CLUSTER', 'SLOTS');
  if (await isAlone(asked)) return { stranger: endpointText(seed) };
  const info = await lookWith(ask('CLUSTER', 'INFO'), 'CLUSTER INFO', 'cluster|info', readInfo);
  const slots = await lookWith(asked, 'CLUSTER SLOTS', 'cluster|slots', (reply) =>
    ownerIn(reply, slot, seed.host),
  );
  // Without the right to ask, the node that is named may be the one or not; what it says of itself counts all the same.
  if (!('fact' in slots)) return { info, owner: seed };
  return { info, owner: slots.fact?.endpoint, ownerId: slots.fact?.id };
}

/** @param asked the answer to CLUSTER SLOTS. */
async function isAlone(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return false;
  } catch (error) {
    if (replyCode(error) === undefined) throw error;
    return /cluster support disabled/i.test((error as Error).message);
  }
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

interface Owner {
  readonly endpoint: Endpoint;
  readonly id: string | undefined;
}

/** Of the reply of CLUSTER SLOTS. */
function ownerIn(reply: unknown, slot: number, askedHost: string): Owner | undefined {
  const range = slotRanges(reply, askedHost).find(
    ({ first, last }) => first <= slot && slot <= last,
  );
  return range && { endpoint: range.master, id: range.masterId };
}
