import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { type Coordinator, Holder } from '../src/coordinators/index.js';
import { acquireCall, endCall } from '../src/coordinators/redis/arguments.js';
import { RedisKeys } from '../src/coordinators/redis/keys.js';
import { acquireScript, endScript } from '../src/coordinators/redis/scripts/index.js';
import { type Election, Elections } from '../src/elections/index.js';
import { Leases } from '../src/leases/index.js';
import { redisCoordinator } from '../src/redis.js';
import { realRuntime } from '../src/time/index.js';
import { Counting, type Counts } from './counting.js';
import type { Finding } from './main.js';
import { compare, median, rounded, timed } from './measure.js';

const namespace = 'bench-elections';
const laneCount = 64;
const perLane = 30;
const noDeadline = String(Number.MAX_SAFE_INTEGER);

interface Candidate {
  readonly election: Election;
  close(): Promise<void>;
}

let candidateCount = 0;

function candidate(coordinator: Coordinator, name: string, ttlMs: number): Candidate {
  const leases = new Leases(coordinator, { id: `candidate-${++candidateCount}`, ttlMs });
  const elections = new Elections(leases);
  return {
    election: elections.election(name),
    close: async () => {
      await elections.close();
      await leases.close();
    },
  };
}

/** Campaigns and resigns, 64 at a time, each name in turn; the reference sends the same two scripts one by one. */
export async function campaignAndResign(url: string): Promise<Finding[]> {
  const client = new Redis(url);
  const coordinator = redisCoordinator(url, { namespace });
  const leases = new Leases(coordinator);
  const elections = new Elections(leases);
  const names = Array.from({ length: laneCount * perLane }, (_, index) => `bench/pair-${index}`);
  const all = names.map((name) => elections.election(name));
  await client.script('LOAD', acquireScript.lua);
  await client.script('LOAD', endScript.lua);
  const raw = rawPairs(client, names);
  const lanes = async (pair: (index: number) => Promise<unknown>) => {
    const elapsedMs = await timed(() =>
      Promise.all(
        Array.from({ length: laneCount }, async (_, lane) => {
          for (let step = 0; step < perLane; step++) await pair(lane * perLane + step);
        }),
      ),
    );
    return (names.length * 1000) / elapsedMs;
  };
  const { ours, reference, ratio } = await compare(
    11,
    () =>
      lanes(async (index) => {
        await all[index]?.campaign();
        await all[index]?.resign();
      }),
    () => lanes(async (index) => raw[index]?.()),
  );
  await elections.close();
  await leases.close();
  await coordinator.close();
  await client.quit();
  return [
    {
      what: `campaign and resign, ${laneCount} at a time, against the raw client running the same two scripts one by one`,
      measured: `${rounded(ratio)} of the raw client (${rounded(ours, 0)} to ${rounded(reference, 0)} pairs a second)`,
      wanted: 'no bound',
      met: true,
    },
  ];
}

function rawPairs(client: Redis, names: readonly string[]): (() => Promise<void>)[] {
  const keys = new RedisKeys('raw-elections');
  const holder = Holder.create('raw', realRuntime);
  return names.map((name) => {
    const attempt = realRuntime.randomHex(16);
    const metadata = JSON.stringify({ host: 'localhost', pid: process.pid });
    const take = acquireCall(keys, [
      { name, holder, attempt, ttlMs: 30_000, keepHistory: true, metadata },
    ]);
    const give = endCall(keys, [{ name, holder, attempt }]);
    return async () => {
      await client.evalsha(
        acquireScript.sha,
        take.keys.length,
        ...take.keys,
        noDeadline,
        ...take.args,
      );
      await client.evalsha(endScript.sha, give.keys.length, ...give.keys, noDeadline, ...give.args);
    };
  });
}

async function startLeader(url: string, name: string, ttlMs: number): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('./dying-leader.mjs', import.meta.url));
  const child = fork(program, [url, namespace, name, String(ttlMs)]);
  await once(child, 'message');
  return child;
}

/** Kills the leader. Resolves with when (monotonic, ms) the store lets its lease expire. */
async function kill(leader: ChildProcess, reader: Coordinator, name: string): Promise<number> {
  leader.kill('SIGKILL');
  await once(leader, 'exit');
  const [record] = await reader.read([name], { timeoutMs: 1_000 });
  if (record?.state !== 'held') throw new Error('the leader held nothing');
  return performance.now() + record.remainingMs;
}

/** From the store's expiry of a killed leader's lease until the callback of its successor. */
export async function crashedLeader(url: string): Promise<Finding[]> {
  const ttlMs = 2_000;
  const reader = redisCoordinator(url, { namespace });
  const delaysMs: number[] = [];
  for (let round = 0; round < 10; round++) {
    const name = `bench/crash-${round}`;
    const leader = await startLeader(url, name, ttlMs);
    const coordinator = redisCoordinator(url, { namespace });
    const survivor = candidate(coordinator, name, ttlMs);
    const stop = new AbortController();
    const { promise: led, now: begun } = moment();
    const leading = survivor.election.lead(
      async (lease) => {
        begun();
        await aborted(stop.signal);
        await lease.release();
      },
      { signal: stop.signal },
    );
    await until(async () => (await survivor.election.candidates()).some((one) => !one.leads));
    const expireAtMs = await kill(leader, reader, name);
    delaysMs.push((await led) - expireAtMs);
    stop.abort();
    await leading;
    await survivor.close();
    await coordinator.close();
  }
  await reader.close();
  const largestMs = Math.max(...delaysMs);
  return [
    {
      what: 'a leader is killed: from the store’s expiry of its lease until the successor’s callback',
      measured: `largest of 10: ${rounded(largestMs, 0)} ms (median ${rounded(median(delaysMs), 0)} ms)`,
      wanted: 'under 250 ms',
      met: largestMs < 250,
    },
  ];
}

/** From the call of `resign` until the callback of the successor, which has a connection of its own. */
export async function resignedLeader(url: string): Promise<Finding[]> {
  const name = 'bench/resign';
  const coordinators = [redisCoordinator(url, { namespace }), redisCoordinator(url, { namespace })];
  const [one, other] = coordinators.map((coordinator) => candidate(coordinator, name, 30_000));
  if (one === undefined || other === undefined) throw new Error('two are needed');
  const delaysMs: number[] = [];
  let [leader, follower] = [one, other];
  await leader.election.campaign();
  for (let round = 0; round < 50; round++) {
    const { promise: led, now: begun } = moment();
    const campaign = follower.election.campaign().then(begun);
    const waits = async () =>
      (await leader.election.candidates()).some(({ standing }) => standing === 'waiting');
    await until(waits);
    const resignedAtMs = performance.now();
    await leader.election.resign();
    delaysMs.push((await led) - resignedAtMs);
    await campaign;
    [leader, follower] = [follower, leader];
  }
  await Promise.all([one.close(), other.close()]);
  for (const coordinator of coordinators) await coordinator.close();
  const typicalMs = median(delaysMs);
  return [
    {
      what: 'a leader resigns: from its call until the successor’s callback',
      measured: `median of 50: ${rounded(typicalMs, 1)} ms (largest ${rounded(Math.max(...delaysMs), 1)} ms)`,
      wanted: 'median under 10 ms',
      met: typicalMs < 10,
    },
  ];
}

/** What refreshes an entry in the queue, at its own pace, whether or not anything happens to the leader. */
const refreshing = 'enroll';

/**
 * Requests to the store around a change of leader, from its cause until a second after the successor has begun, beside
 * the refreshing of the queue that goes on at all times (each candidate once in a third of the ttl).
 */
export async function requestsPerFailover(url: string): Promise<Finding[]> {
  const lines: string[] = [];
  const totals: number[] = [];
  for (const count of [2, 50, 500]) {
    const resigned = await failover(url, count, 'resign');
    const expired = await failover(url, count, 'expiry');
    totals.push(resigned.caused, expired.caused);
    lines.push(
      `${count} candidates: ${resigned.caused} (${describe(resigned.counts)}) after a resignation, ${expired.caused} (${describe(expired.counts)}) after an expiry; ${resigned.refreshes} and ${expired.refreshes} refreshes went on beside`,
    );
  }
  return [
    {
      what: 'requests to the store that a change of leader causes, by number of candidates',
      measured: lines.join('\n       '),
      wanted: 'does not grow with the candidates: at most 12 each',
      met: Math.max(...totals) <= 12,
    },
  ];
}

interface Failover {
  readonly counts: Counts;
  readonly caused: number;
  readonly refreshes: number;
}

async function failover(url: string, count: number, how: 'resign' | 'expiry'): Promise<Failover> {
  const ttlMs = 6_000;
  const name = `bench/herd-${how}-${count}`;
  const inner = redisCoordinator(url, { namespace });
  const counting = new Counting(inner);
  const stop = new AbortController();
  const first = how === 'resign' ? candidate(inner, name, ttlMs) : undefined;
  const leader = how === 'expiry' ? await startLeader(url, name, ttlMs) : undefined;
  await first?.election.campaign();
  const waiting = Array.from({ length: count - (first === undefined ? 0 : 1) }, () =>
    candidate(counting.coordinator, name, ttlMs),
  );
  const elected = Promise.race(
    waiting.map(({ election }) => election.campaign({ signal: stop.signal })),
  );
  await until(async () => {
    const present = await inner.candidates(name, { timeoutMs: 1_000 });
    return present.filter(({ standing }) => standing === 'waiting').length === waiting.length;
  });
  counting.take();
  let ownRequests = 0;
  if (leader === undefined) {
    await first?.election.resign();
    // The release itself; the leader's other requests are of its own leaving.
    ownRequests = 1;
  } else {
    await kill(leader, inner, name);
  }
  await elected;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const counts = counting.take();
  const refreshes = counts[refreshing] ?? 0;
  const caused =
    Object.values(counts).reduce((total, one) => total + one, 0) - refreshes + ownRequests;
  elected.catch(() => {});
  stop.abort();
  await Promise.allSettled([first, ...waiting].map((one) => one?.close()));
  await inner.close();
  return { counts, caused, refreshes };
}

function describe(counts: Counts): string {
  return Object.entries(counts)
    .filter(([operation]) => operation !== refreshing)
    .map(([operation, count]) => `${count} ${operation}`)
    .join(', ');
}

/** When (monotonic, ms) something happened: `now` says that it does. */
function moment(): { promise: Promise<number>; now: () => void } {
  let now = () => {};
  const promise = new Promise<number>((resolve) => {
    now = () => resolve(performance.now());
  });
  return { promise, now };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5));
}
