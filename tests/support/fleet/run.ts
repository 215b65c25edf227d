import { freshPostgresDatabase } from '../servers/index.js';
import { Fleet } from './fleet.js';
import { createLedger, judge, type Verdict, type Violations } from './ledger.js';
import { SeededRandom } from './random.js';
import { openTopic, Workload } from './workload.js';

export interface RunOptions {
  readonly seed: number;
  readonly redisUrl: string;
  readonly postgresUrl: string;
  /** Without it handlers write with no check at all. Default true. */
  readonly isFenced?: boolean;
  /** How long faults are made. Default 7 s. */
  readonly disturbedMs?: number;
  readonly messageCount?: number;
}

export interface RunReport {
  readonly verdict: Verdict;
  /** Messages that were still unfinished when the patience ended. */
  readonly backlogCount: number;
  readonly accidents: readonly string[];
  /** One line. */
  readonly summary: string;
  /** What the workers said. */
  readonly output: string;
}

const shardCount = 32;
/** From the end of the last fault. Nothing takes longer than a few ttls and the work itself; a slow machine may. */
const patienceMs = 45_000;

/**
 * Real worker processes on a real Redis and PostgreSQL under load, killed, frozen, drained and joined at random. When
 * the faults are over and the backlog is empty, PostgreSQL alone says what happened.
 */
export async function runFleet(options: RunOptions): Promise<RunReport> {
  const { seed, redisUrl, postgresUrl, isFenced = true, disturbedMs = 7_000 } = options;
  const startedMs = performance.now();
  const random = new SeededRandom(seed);
  const ttlMs = random.pick([1_800, 2_400, 3_000]);
  const namespace = `fleet_${seed.toString(16)}_${process.pid}_${Date.now().toString(36)}`;
  const messageCount = options.messageCount ?? 1_200;
  const workload = new Workload({ random: random.fork(), keyCount: 250, messageCount });
  const database = await freshPostgresDatabase(postgresUrl);
  const { topic, streams } = openTopic(redisUrl, namespace, shardCount);
  let fleet: Fleet | undefined;
  try {
    await createLedger(database.url, shardCount, workload.messages);
    const environment = {
      REDIS_URL: redisUrl,
      DATABASE_URL: database.url,
      NAMESPACE: namespace,
      TTL_MS: String(ttlMs),
      SHARD_COUNT: String(shardCount),
      IS_FENCED: String(isFenced),
    };
    fleet = new Fleet({ random: random.fork(), ttlMs, environment });
    await fleet.untilReady();
    await Promise.all([workload.publish(topic, disturbedMs), fleet.disturb(disturbedMs)]);
    const backlogCount = await untilEmpty(() => topic.backlog());
    await fleet.stop();
    const verdict = await judge(database.url);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    const facts = [`ttl ${ttlMs}`, ...counts(fleet.faults), ...counts(verdict), `${seconds} s`];
    const summary = `seed ${seed}: ${facts.join(', ')}`;
    const { accidents, output } = fleet;
    return { verdict, backlogCount, accidents, summary, output };
  } finally {
    await fleet?.kill();
    await streams.close();
    await database.drop();
  }
}

/** The violations alone, to compare with {@link noViolations}. */
export function violationsOf(verdict: Verdict): Violations {
  const { lost, doubled, foreign, outOfOrder, acceptedStale, sharedTerms } = verdict;
  return { lost, doubled, foreign, outOfOrder, acceptedStale, sharedTerms };
}

export const noViolations: Violations = {
  lost: 0,
  doubled: 0,
  foreign: 0,
  outOfOrder: 0,
  acceptedStale: 0,
  sharedTerms: 0,
};

function counts(record: object): string[] {
  return Object.entries(record).map(([name, count]) => `${name} ${count}`);
}

async function untilEmpty(look: () => Promise<{ readonly count: number }>): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const { count } = await look();
    if (count === 0 || performance.now() - startedMs > patienceMs) return count;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
