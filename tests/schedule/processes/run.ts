import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { selectedStores } from '../../../scripts/stores.mjs';
import { Holder } from '../../../src/coordinators/index.js';
import { postgresJobs } from '../../../src/postgres.js';
import type { JobStore, RunRecord } from '../../../src/schedule/index.js';
import { tickRunId } from '../../../src/schedule/records.js';
import { call } from '../../support/call.js';
import { SteppableClock } from '../../support/clock-shim/steppable-clock.js';
import { Fleet } from '../../support/fleet/fleet.js';
import { SeededRandom } from '../../support/fleet/random.js';
import { freshPostgresDatabase } from '../../support/servers/index.js';
import { createLedger, judge, type Verdict } from './ledger.js';
import { openStore } from './stores.mjs';

const stores = { PostgreSQL: 'postgres', SQLite: 'sqlite', Redis: 'redis' } as const;
export type StoreName = keyof typeof stores;

/** Those that `TENURE_STORES` does not leave out. */
export const storeNames = (Object.keys(stores) as StoreName[]).filter((name) =>
  selectedStores().includes(stores[name]),
);

export interface ProcessesOptions {
  readonly storeName: StoreName;
  readonly seed: number;
  readonly redisUrl: string;
  readonly postgresUrl: string;
  /** Each job is due every second, and so often. */
  readonly ticksPerJob: number;
  readonly jobCount: number;
  /** `false`: neither runs nor effects are fenced. Default `true`. */
  readonly isFenced?: boolean;
}

export interface ProcessesReport {
  readonly verdict: Verdict;
  readonly accidents: readonly string[];
  /** One line. */
  readonly summary: string;
  /** What the replicas said. */
  readonly output: string;
}

const ttlMs = 2_000;
/** From the end of the last fault until all is caught up: a few ttls, and the work; a slow machine may. */
const patienceMs = 90_000;

/**
 * Three replicas, each a process, of some jobs that are due every second under `all`; they are killed, frozen and closed,
 * and their clocks are set. When they have come back and caught up, the store and the resource say what happened.
 */
export async function runProcesses(options: ProcessesOptions): Promise<ProcessesReport> {
  const { storeName, seed, jobCount, ticksPerJob, isFenced = true } = options;
  const startedMs = performance.now();
  const random = new SeededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'tenure-schedule-'));
  const database = await freshPostgresDatabase(options.postgresUrl);
  const urls = {
    PostgreSQL: database.url,
    SQLite: join(folder, 'jobs.db'),
    Redis: options.redisUrl,
  };
  const url = urls[storeName];
  const namespace = `schedule-${randomBytes(6).toString('hex')}`;
  const clocks = new Map(
    [1, 2, 3].map((seat) => [`worker-${seat}`, new SteppableClock(join(folder, `clock-${seat}`))]),
  );
  let store: JobStore | undefined;
  let fleet: Fleet | undefined;
  try {
    await createLedger(database.url);
    if (storeName === 'PostgreSQL') await migrate(url);
    store = await openStore(storeName, url, namespace);
    const ticks = await expectedTicks(store, jobCount, ticksPerJob);
    fleet = new Fleet({
      random: random.fork(),
      ttlMs,
      program: join(import.meta.dirname, 'replica.mjs'),
      faults: ['kill', 'kill', 'freeze', 'freeze', 'freeze', 'drain', 'skew', 'skew'],
      betweenMs: [300, 2_000],
      clockOf: (seat) => clocks.get(seat) as SteppableClock,
      environment: {
        STORE: storeName,
        STORE_URL: url,
        DATABASE_URL: database.url,
        NAMESPACE: namespace,
        TTL_MS: String(ttlMs),
        JOB_COUNT: String(jobCount),
        IS_FENCED: String(isFenced),
      },
    });
    await fleet.untilReady();
    await fleet.disturb(ticksPerJob * 1_000);
    for (const clock of clocks.values()) clock.step(-clock.offsetMs);
    await untilConsidered(store, ticks);
    await fleet.stop();
    const runs = await runsOf(store, ticks);
    const expected = [...ticks].flatMap(([job, times]) => times.map((at) => tickRunId(job, at)));
    const verdict = await judge(database.url, expected, runs);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    const facts = [...counts(fleet.faults), ...counts(verdict), `${seconds} s`];
    const summary = `${storeName}, seed ${seed}${isFenced ? '' : ', no fence'}: ${facts.join(', ')}`;
    const { accidents, output } = fleet;
    return { verdict, accidents, summary, output };
  } catch (error) {
    console.error(`${storeName}, seed ${seed}\n${fleet?.output}`);
    throw error;
  } finally {
    await fleet?.kill();
    await store?.close();
    for (const clock of clocks.values()) clock.close();
    await database.drop();
    rmSync(folder, { recursive: true });
  }
}

async function migrate(url: string): Promise<void> {
  const store = postgresJobs(url);
  await store.migrate();
  await store.close();
}

type Ticks = ReadonlyMap<string, readonly number[]>;

/** Makes the jobs, so that it is known from when on their ticks count. */
async function expectedTicks(store: JobStore, jobCount: number, count: number): Promise<Ticks> {
  const token = { name: 'schedule', term: 1, holder: new Holder('parent', '0'.repeat(32)) };
  const jobs = Array.from({ length: jobCount }, (_, index) => `job-${index + 1}`);
  const definitions = jobs.map((job) => ({ job, cron: '*/1 * * * * *', timeZone: 'UTC' }));
  await store.claim(token, definitions, undefined, call);
  const { jobs: views } = await store.look(jobs, call);
  return new Map(
    views.map(({ record: { job, consideredToMs } }) => {
      const second = Math.floor(consideredToMs / 1_000);
      return [job, Array.from({ length: count }, (_, index) => (second + 1 + index) * 1_000)];
    }),
  );
}

/** Every tick up to the last one is over. */
async function untilConsidered(store: JobStore, ticks: Ticks): Promise<void> {
  const startedMs = performance.now();
  for (;;) {
    const { jobs } = await store.look([...ticks.keys()], call);
    const isOver = jobs.every(({ record, open }) => {
      const lastMs = ticks.get(record.job)?.at(-1) ?? 0;
      return record.consideredToMs >= lastMs && open.every(({ tickMs }) => tickMs > lastMs);
    });
    if (isOver || performance.now() - startedMs > patienceMs) return;
    await sleep(100);
  }
}

async function runsOf(store: JobStore, ticks: Ticks): Promise<RunRecord[]> {
  const found = [...ticks].map(([job, times]) =>
    store.runs(job, { limit: 1_000, beforeMs: (times.at(-1) ?? 0) + 1 }, call),
  );
  return (await Promise.all(found)).flat();
}

function counts(record: object): string[] {
  return Object.entries(record).map(([name, count]) => `${name} ${count}`);
}

/** The violations alone. */
export function violationsOf(verdict: Verdict) {
  const { missing, surplus, endedTwice, sharedAttempts, withoutEffect, staleEffects } = verdict;
  return { missing, surplus, endedTwice, sharedAttempts, withoutEffect, staleEffects };
}

export const noViolations: ReturnType<typeof violationsOf> = {
  missing: 0,
  surplus: 0,
  endedTwice: 0,
  sharedAttempts: 0,
  withoutEffect: 0,
  staleEffects: 0,
};
