import { cpus } from 'node:os';
import { startRedis } from '../tests/support/servers/index.js';
import {
  campaignAndResign,
  crashedLeader,
  requestsPerFailover,
  resignedLeader,
} from './elections.js';
import { acquireAndRelease, renewMany } from './leases.js';
import { crashTakeover, gracefulHandoff } from './ownership.js';
import { idleWorker, orderedProcessing } from './streams.js';

/** One line of the report: what was measured, what came out, and the bound it is held against. */
export interface Finding {
  readonly what: string;
  readonly measured: string;
  readonly wanted: string;
  readonly met: boolean;
}

type Benchmark = (redisUrl: string) => Promise<readonly Finding[]>;

const benchmarks: Record<string, Benchmark> = {
  'acquire-release': acquireAndRelease,
  renew: renewMany,
  ordered: orderedProcessing,
  idle: idleWorker,
  takeover: crashTakeover,
  handoff: gracefulHandoff,
  campaign: campaignAndResign,
  'leader-crash': crashedLeader,
  'leader-resign': resignedLeader,
  'failover-requests': requestsPerFailover,
};

export async function main(names: readonly string[]): Promise<void> {
  const chosen = names.length === 0 ? Object.keys(benchmarks) : names;
  const unknown = chosen.filter((name) => !(name in benchmarks));
  if (unknown.length > 0) {
    console.error(
      `no benchmark ${unknown.join(', ')}; there are: ${Object.keys(benchmarks).join(', ')}`,
    );
    process.exitCode = 64;
    return;
  }
  const redis = await startRedis();
  try {
    const [cpu] = cpus();
    console.log(
      `Node ${process.version}, ${cpus().length} x ${cpu?.model.trim()}, Redis on loopback\n`,
    );
    for (const name of chosen) {
      const findings = await benchmarks[name]?.(redis.url);
      for (const { what, measured, wanted, met } of findings ?? []) {
        console.log(`${met ? 'ok  ' : 'MISS'} ${what}\n       ${measured}; wanted: ${wanted}`);
      }
    }
  } finally {
    await redis.stop();
  }
}
