import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { redisCoordinator } from '../src/redis.js';
import { shardLeaseName } from '../src/shards/index.js';
import type { Finding } from './main.js';
import { median, rounded } from './measure.js';
import { own } from './owner.js';

const ttlMs = 2_000;
const shardCount = 256;

/** A process that owns every shard of the group. */
async function startVictim(url: string, group: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('./crashing-worker.mjs', import.meta.url));
  const child = fork(program, [url, group, String(ttlMs), String(shardCount)]);
  await once(child, 'message');
  return child;
}

/**
 * How long after the store let the leases of a killed process expire the last of them was at work elsewhere: the
 * survivor is there before, a member with all 256 shards to take.
 */
async function oneTakeover(url: string, round: number): Promise<number> {
  const group = `takeover-${round}`;
  const victim = await startVictim(url, group);
  const survivor = own(url, group, ttlMs, shardCount);
  await survivor.worker.start();
  await until(() => survivor.worker.owned.length === shardCount / 2);
  const left = Array.from({ length: shardCount }, (_, shard) => shard).filter(
    (shard) => !survivor.worker.owned.some((owned) => owned.shard === shard),
  );
  victim.kill('SIGKILL');
  await once(victim, 'exit');
  const reader = redisCoordinator(url, { namespace: 'bench-owner' });
  const records = await reader.read(
    left.map((shard) => shardLeaseName(group, shard)),
    { timeoutMs: 1_000 },
  );
  const expireAtMs =
    performance.now() +
    Math.max(...records.map((record) => (record?.state === 'held' ? record.remainingMs : 0)));
  await reader.close();
  await until(() => survivor.worker.owned.length === shardCount);
  const lastBeganAtMs = Math.max(
    ...left.map((shard) => survivor.beganAtMs.get(shard) ?? Number.NaN),
  );
  await survivor.close();
  return lastBeganAtMs - expireAtMs;
}

export async function crashTakeover(url: string): Promise<Finding[]> {
  const delaysMs: number[] = [];
  for (let round = 0; round < 10; round++) delaysMs.push(await oneTakeover(url, round));
  const largestMs = Math.max(...delaysMs);
  return [
    {
      what: 'crash takeover: a process with 128 of 256 shards is killed; from the store’s expiry of its leases until the last shard is at work at the survivor',
      measured: `largest of 10: ${rounded(largestMs, 0)} ms (median ${rounded(median(delaysMs), 0)} ms)`,
      wanted: 'at most 250 ms',
      met: largestMs <= 250,
    },
  ];
}

export async function gracefulHandoff(url: string): Promise<Finding[]> {
  const group = 'handoff';
  const resident = own(url, group, 30_000, 2);
  await resident.worker.start();
  const delaysMs: number[] = [];
  for (let round = 0; round < 25; round++) {
    const guest = own(url, group, 30_000, 2);
    await guest.worker.start();
    await until(() => guest.worker.owned.length === 1 && resident.worker.owned.length === 1);
    const [moved] = guest.worker.owned;
    const drainedAtMs = resident.drainedAtMs.get(moved?.shard ?? -1) ?? Number.NaN;
    delaysMs.push((guest.beganAtMs.get(moved?.shard ?? -1) ?? Number.NaN) - drainedAtMs);
    await guest.close();
    await until(() => resident.worker.owned.length === 2);
  }
  await resident.close();
  const middleMs = median(delaysMs);
  return [
    {
      what: 'graceful handoff of one shard: from the start of its drain until work begins at the successor',
      measured: `median of ${delaysMs.length}: ${rounded(middleMs, 1)} ms`,
      wanted: 'under 20 ms',
      met: middleMs < 20,
    },
  ];
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}
