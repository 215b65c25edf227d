import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Coordinator, RenewRequest } from '../src/coordinators/index.js';
import { type Election, Elections } from '../src/elections/index.js';
import { Leases } from '../src/leases/index.js';
import type { Finding } from './main.js';
import { compare, median, rounded, timed } from './measure.js';
import { openCoordinator } from './open.js';
import type { MeasuredStore } from './stores/index.js';
import { type Reference, renewedCount } from './stores/reference.js';

/** A store whose servers run, and its plain client. */
export interface Place {
  readonly store: MeasuredStore;
  readonly url: string;
  readonly reference: Reference;
}

const namespace = 'bench';
const laneCount = 16;
const perLane = 20;
const noBound = { wanted: 'no bound', met: true };
const patience = { timeoutMs: 5_000 };

async function lanes(pair: (name: string) => Promise<unknown>): Promise<number> {
  const elapsedMs = await timed(() =>
    Promise.all(
      Array.from({ length: laneCount }, async (_, lane) => {
        for (let step = 0; step < perLane; step++) await pair(`lane-${lane}-${step}`);
      }),
    ),
  );
  return (laneCount * perLane * 1_000) / elapsedMs;
}

/** Each lane takes and gives back names of its own, one after the other. */
export async function acquireAndRelease({ url, reference }: Place): Promise<Finding[]> {
  const coordinator = openCoordinator(url, namespace);
  const leases = new Leases(coordinator);
  try {
    const result = await compare(
      7,
      () =>
        lanes(async (name) => {
          const lease = await leases.acquire(name);
          await lease?.release();
        }),
      () => lanes(reference.pair),
    );
    return [
      {
        what: `acquire and release, ${laneCount} at a time (leases asked for in one turn travel in one request)`,
        measured: `${rounded(result.ratio)} of the plain client (${rounded(result.ours, 0)} to ${rounded(result.reference, 0)} pairs a second)\n       the plain client is ${reference.pairIs}`,
        ...noBound,
      },
    ];
  } finally {
    await leases.close();
    await coordinator.close();
  }
}

export async function renewMany({ url, reference }: Place): Promise<Finding[]> {
  const coordinator = openCoordinator(url, namespace);
  const leases = new Leases(coordinator);
  try {
    const names = Array.from({ length: renewedCount }, (_, index) => `bench/shards/${index}`);
    const requests: RenewRequest[] = (await leases.acquireMany(names)).map((outcome) => {
      if (outcome.outcome !== 'granted') throw new Error(`not granted: ${outcome.outcome}`);
      const { name, holder, term, timing } = outcome.lease;
      return { name, holder, term, ttlMs: timing.ttlMs };
    });
    const callCount = 5;
    const repeat = (call: () => Promise<unknown>) => async () =>
      (await timed(async () => {
        for (let index = 0; index < callCount; index++) await call();
      })) / callCount;
    const result = await compare(
      15,
      repeat(() => coordinator.renew(requests, patience)),
      repeat(reference.renew),
    );
    return [
      {
        what: `renewing ${renewedCount} leases in one call`,
        measured: `${rounded(result.ratio)} times the plain client (${rounded(result.ours)} ms to ${rounded(result.reference)} ms)\n       the plain client is ${reference.renewIs}`,
        ...noBound,
      },
    ];
  } finally {
    await leases.close();
    await coordinator.close();
  }
}

/** From when the store was to let a killed leader's lease expire until the callback of its successor. */
export async function crashedLeader({ url, store }: Place): Promise<Finding[]> {
  const delaysMs: number[] = [];
  for (let round = 0; round < 10; round++) delaysMs.push(await crash(url, store, round));
  const largestMs = Math.max(...delaysMs);
  return [
    {
      what: 'a leader is killed: from the end of its ttl, as the store tells it, until the successor’s callback',
      measured: `largest of 10: ${rounded(largestMs, 0)} ms (median ${rounded(median(delaysMs), 0)} ms), what the store takes to notice included`,
      ...noBound,
    },
  ];
}

async function crash(url: string, { shortTtlMs }: MeasuredStore, round: number): Promise<number> {
  const name = `crash-${round}`;
  const leader = await startLeader(url, name, shortTtlMs);
  const survivor = new Candidate(url, name, shortTtlMs);
  try {
    const led = survivor.elected();
    // What went wrong before is what is told then.
    led.catch(() => {});
    await survivor.untilWaiting();
    const ended = once(leader, 'exit');
    leader.kill('SIGKILL');
    await ended;
    const [record] = await survivor.coordinator.read([name], patience);
    if (record?.state !== 'held') throw new Error('the leader held nothing');
    const expireAtMs = performance.now() + record.remainingMs;
    return (await led) - expireAtMs;
  } finally {
    leader.kill('SIGKILL');
    await survivor.close();
  }
}

async function startLeader(url: string, name: string, ttlMs: number): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('./dying-leader.mjs', import.meta.url));
  const child = fork(program, [url, namespace, name, String(ttlMs)]);
  const isLeading = await Promise.race([
    once(child, 'message').then(() => true),
    once(child, 'exit').then(() => false),
  ]);
  if (!isLeading) throw new Error('the leader ended before it led');
  return child;
}

/** From the call of `handoff` until the callback of the successor, which has a connection of its own. */
export async function gracefulHandoff({ url }: Place): Promise<Finding[]> {
  const one = new Candidate(url, 'handoff', 30_000);
  const other = new Candidate(url, 'handoff', 30_000);
  const delaysMs: number[] = [];
  try {
    await one.elected();
    let [leader, follower] = [one, other];
    for (let round = 0; round < 25; round++) {
      const led = follower.elected();
      led.catch(() => {});
      await follower.untilWaiting();
      const atMs = performance.now();
      await leader.election.handoff(follower.id);
      delaysMs.push((await led) - atMs);
      [leader, follower] = [follower, leader];
    }
  } finally {
    await Promise.all([one.close(), other.close()]);
  }
  return [
    {
      what: 'a leader hands off to one who waits: from its call until the successor’s callback',
      measured: `median of ${delaysMs.length}: ${rounded(median(delaysMs), 1)} ms (largest ${rounded(Math.max(...delaysMs), 1)} ms)`,
      ...noBound,
    },
  ];
}

let candidateCount = 0;

class Candidate {
  readonly id = `candidate-${++candidateCount}`;
  readonly coordinator: Coordinator;
  readonly election: Election;
  readonly #leases: Leases;
  readonly #elections: Elections;
  readonly #stop = new AbortController();
  #campaign: Promise<unknown> | undefined;

  constructor(url: string, name: string, ttlMs: number) {
    this.coordinator = openCoordinator(url, namespace);
    this.#leases = new Leases(this.coordinator, { id: this.id, ttlMs });
    this.#elections = new Elections(this.#leases);
    this.election = this.#elections.election(name);
  }

  /** Campaigns; resolves with when (monotonic, ms) it leads. */
  async elected(): Promise<number> {
    const campaign = this.election.campaign({ signal: this.#stop.signal });
    this.#campaign = campaign.catch(() => undefined);
    await campaign;
    return performance.now();
  }

  async untilWaiting(): Promise<void> {
    for (;;) {
      // With the patience of who measures, not of a lease that is short.
      const candidates = await this.coordinator.candidates(this.election.name, patience);
      if (candidates.some(({ id, standing }) => id === this.id && standing === 'waiting')) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#campaign;
    await this.#elections.close();
    await this.#leases.close();
    await this.coordinator.close();
  }
}
