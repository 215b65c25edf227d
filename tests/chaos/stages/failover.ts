import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisServer } from '../../support/servers/redis.js';
import { cutReplicasOf, healReplicasOf } from '../../support/servers/redis-replication.js';
import type { Disturbance, Scene } from '../faults/fault.js';

/** Servers one of which has the records of the run, and replicas that follow it. */
export interface Replicated {
  master(): Promise<RedisServer>;
  /** Until all replicas have caught up. */
  settled(): Promise<void>;
  /** Another one is the master from now on, whether the former lives or not. */
  failOver(former: RedisServer): Promise<void>;
}

/** Sentinels take no replica for a successor that was cut off for longer than five seconds. */
const longestCutMs = 2_000;
const electedWithinMs = 15_000;

/** Failovers that lose what the master had told no replica. */
export function failoverFaults(servers: Replicated): Record<string, Disturbance> {
  return {
    /** The master dies. */
    'failover with lost tail': (scene) => failOver(servers, scene, { forgets: false, dies: true }),
    /** The master lives, and its clients with it, when another one takes over. */
    'failover beside a living master': (scene) =>
      failOver(servers, scene, { forgets: false, dies: false }),
    /** What is lost is a grant: the leader dies, its successor is elected, and the new master has never heard of it. */
    'failover that forgets a grant': (scene) =>
      failOver(servers, scene, { forgets: true, dies: true }),
  };
}

async function failOver(
  { settled, master, failOver: next }: Replicated,
  { crew, elected }: Scene,
  { forgets, dies }: { readonly forgets: boolean; readonly dies: boolean },
): Promise<() => Promise<void>> {
  await settled();
  const former = await master();
  const leader = forgets ? crew.leader() : undefined;
  // A replica that is cut off while the lease runs out has it for as long as the master had.
  if (leader !== undefined) await crew.kill(leader);
  const isElected = elected(electedWithinMs);
  await cutReplicasOf(former);
  try {
    if (leader === undefined) await sleep(longestCutMs / 2);
    else await isElected;
    if (dies) await former.kill();
    await next(former);
  } finally {
    if (leader !== undefined) crew.start(leader);
    if (dies) await former.restart({ keepData: true });
    else await healReplicasOf(former);
  }
  return async () => {};
}
