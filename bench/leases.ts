import { Redis } from 'ioredis';
import type { AcquireRequest } from '../src/coordinators/index.js';
import { Holder } from '../src/coordinators/index.js';
import { acquireCall, endCall } from '../src/coordinators/redis/arguments.js';
import { RedisKeys } from '../src/coordinators/redis/keys.js';
import { acquireScript, endScript } from '../src/coordinators/redis/scripts/index.js';
import { Leases } from '../src/leases/index.js';
import { redisCoordinator } from '../src/redis.js';
import { realRuntime } from '../src/time/index.js';
import type { Finding } from './main.js';
import { compare, rounded, timed } from './measure.js';

const concurrency = 64;
const perLane = 60;
const noDeadline = String(Number.MAX_SAFE_INTEGER);

/** Every lane takes and gives back names of its own, one after the other. Returns operations a second. */
async function lanes(pair: (name: string) => Promise<void>): Promise<number> {
  const elapsedMs = await timed(() =>
    Promise.all(
      Array.from({ length: concurrency }, async (_, lane) => {
        for (let index = 0; index < perLane; index++) await pair(`bench/${lane}-${index}`);
      }),
    ),
  );
  return (concurrency * perLane * 1000) / elapsedMs;
}

/** The reference: ioredis with its default options sends the same two scripts; their arguments are ready beforehand. */
function rawPair(client: Redis): (name: string) => Promise<void> {
  const keys = new RedisKeys('raw');
  const holder = Holder.create('raw', realRuntime);
  const calls = new Map<
    string,
    { take: (string | number)[]; give: (attempt: string) => (string | number)[] }
  >();
  const prepare = (name: string) => {
    const attempt = realRuntime.randomHex(16);
    const request: AcquireRequest = { name, holder, attempt, ttlMs: 30_000 };
    const take = acquireCall(keys, [request]);
    const give = endCall(keys, [{ name, holder, attempt }]);
    return {
      take: [take.keys.length, ...take.keys, noDeadline, ...take.args],
      give: () => [give.keys.length, ...give.keys, noDeadline, ...give.args],
    };
  };
  for (let lane = 0; lane < concurrency; lane++) {
    for (let index = 0; index < perLane; index++) {
      calls.set(`bench/${lane}-${index}`, prepare(`bench/${lane}-${index}`));
    }
  }
  return async (name) => {
    const call = calls.get(name);
    if (call === undefined) throw new Error('not prepared');
    await client.evalsha(acquireScript.sha, ...(call.take as [number, ...string[]]));
    await client.evalsha(endScript.sha, ...(call.give('') as [number, ...string[]]));
  };
}

export async function acquireAndRelease(url: string): Promise<Finding[]> {
  const client = new Redis(url);
  const coordinator = redisCoordinator(url, { namespace: 'bench' });
  const leases = new Leases(coordinator);
  await client.script('LOAD', acquireScript.lua);
  await client.script('LOAD', endScript.lua);
  const raw = rawPair(client);
  const { ours, reference, ratio } = await compare(
    15,
    () =>
      lanes(async (name) => {
        const lease = await leases.acquire(name);
        await lease?.release();
      }),
    () => lanes(raw),
  );
  await leases.close();
  await coordinator.close();
  await client.quit();
  return [
    {
      what: `acquire and release, ${concurrency} at a time, against the raw client running the same two scripts`,
      measured: `${rounded(ratio)} of the raw client (${rounded(ours, 0)} to ${rounded(reference, 0)} pairs a second)`,
      wanted: 'at least 0.85',
      met: ratio >= 0.85,
    },
  ];
}

const extendAll = `
for i, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('PEXPIRE', key, ARGV[2]) end
end
return #KEYS`;

export async function renewMany(url: string): Promise<Finding[]> {
  const client = new Redis(url);
  const coordinator = redisCoordinator(url, { namespace: 'bench-renew' });
  const leases = new Leases(coordinator);
  const names = Array.from({ length: 256 }, (_, shard) => `bench/shards/${shard}`);
  const outcomes = await leases.acquireMany(names);
  const requests = outcomes.map((outcome) => {
    if (outcome.outcome !== 'granted') throw new Error('not granted');
    const { name, holder, term, timing } = outcome.lease;
    return { name, holder, term, ttlMs: timing.ttlMs };
  });
  const keys = names.map((name) => `raw-renew:${name}`);
  const token = realRuntime.randomHex(32);
  for (const key of keys) await client.set(key, token);
  const sha = (await client.script('LOAD', extendAll)) as string;
  const calls = 20;
  const repeat = (call: () => Promise<unknown>) => async () =>
    (await timed(async () => {
      for (let index = 0; index < calls; index++) await call();
    })) / calls;
  const { ours, reference, ratio } = await compare(
    31,
    repeat(() => coordinator.renew(requests, { timeoutMs: 1_000 })),
    repeat(() => client.evalsha(sha, keys.length, ...keys, token, 30_000)),
  );
  await leases.close();
  await coordinator.close();
  await client.quit();
  return [
    {
      what: 'renewing 256 leases in one request, against one raw script (get, compare, pexpire) over 256 keys',
      measured: `${rounded(ratio)} times the raw script (${rounded(ours)} ms to ${rounded(reference)} ms)`,
      wanted: 'at most 1.3',
      met: ratio <= 1.3,
    },
  ];
}
