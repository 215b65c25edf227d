import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { benchUsage } from '../scripts/usage.mjs';
import { startRedis } from '../tests/support/servers/index.js';
import {
  campaignAndResign,
  crashedLeader,
  requestsPerFailover,
  resignedLeader,
} from './elections.js';
import { fencedWrites } from './fence-postgres.js';
import { acquireAndRelease, renewMany } from './leases.js';
import { metricsOverhead } from './metrics.js';
import { crashTakeover, gracefulHandoff } from './ownership.js';
import type { Place } from './per-store.js';
import * as stores from './per-store.js';
import { fencedWrite } from './redis-fence.js';
import { simulatedMinutes } from './sim.js';
import { type MeasuredStore, measuredStores } from './stores/index.js';
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
  metrics: metricsOverhead,
  idle: idleWorker,
  takeover: crashTakeover,
  handoff: gracefulHandoff,
  campaign: campaignAndResign,
  'leader-crash': crashedLeader,
  'leader-resign': resignedLeader,
  'failover-requests': requestsPerFailover,
  'fence-postgres': fencedWrites,
  'redis-fence': fencedWrite,
  sim: simulatedMinutes,
};

/** Those that are tried on each store, against its plain client in the same run. */
const perStore: Readonly<Record<string, (place: Place) => Promise<readonly Finding[]>>> = {
  'acquire-release': stores.acquireAndRelease,
  renew: stores.renewMany,
  'leader-crash': stores.crashedLeader,
  handoff: stores.gracefulHandoff,
};

/**
 * `[NAME ...]`: these on a Redis. `[NAME ...] --stores a,b`: those of them that every store has, on each of these stores
 * (`all`: on every one).
 */
export async function main(args: readonly string[]): Promise<void> {
  let parsed: ReturnType<typeof readArguments>;
  try {
    parsed = readArguments(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${benchUsage}`);
    process.exitCode = 64;
    return;
  }
  const [cpu] = cpus();
  console.log(`Node ${process.version}, ${cpus().length} x ${cpu?.model.trim()}, on loopback\n`);
  if (parsed.stores === undefined) await onRedis(parsed.names);
  else for (const store of parsed.stores) await onStore(store, parsed.names);
}

function readArguments(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { stores: { type: 'string' } },
    allowPositionals: true,
  });
  const words = values.stores === 'all' ? Object.keys(measuredStores) : values.stores?.split(',');
  const stores = words?.map((word) => known('store', word.trim(), measuredStores));
  const all = stores === undefined ? benchmarks : perStore;
  const chosen = positionals.length === 0 ? Object.keys(all) : positionals;
  return { stores, names: chosen.map((name) => known('benchmark', name, all)) };
}

function known(kind: string, name: string, among: object): string {
  if (Object.hasOwn(among, name)) return name;
  throw new Error(`no ${kind} ${name}; there are: ${Object.keys(among).join(', ')}`);
}

async function onRedis(names: readonly string[]): Promise<void> {
  const redis = await startRedis();
  try {
    for (const name of names) print(await benchmarks[name]?.(redis.url));
  } finally {
    await redis.stop();
  }
}

async function onStore(storeName: string, names: readonly string[]): Promise<void> {
  const store = measuredStores[storeName] as MeasuredStore;
  console.log(`${storeName}: ${store.servers}`);
  const server = await store.start();
  try {
    const reference = await store.reference(server.url);
    try {
      for (const name of names)
        print(await perStore[name]?.({ store, url: server.url, reference }));
    } finally {
      await reference.close();
    }
  } finally {
    await server.stop();
  }
  console.log();
}

function print(findings: readonly Finding[] = []): void {
  for (const { what, measured, wanted, met } of findings)
    console.log(`${met ? 'ok  ' : 'MISS'} ${what}\n       ${measured}; wanted: ${wanted}`);
}
