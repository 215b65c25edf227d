import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { migratePostgres, postgresFence } from '../../src/postgres.js';
import { NodeProgram } from '../support/node-program.js';
import { freshPostgresDatabase } from '../support/servers/postgres.js';
import { withClient } from '../support/with-client.js';
import { type Course, coursesOf } from './flatness.js';
import type { Sample, StoreSize, Usage } from './sample.js';
import { postgresSize, redisSize, sqliteSize, sumOf } from './store-size.js';

export const soakedStores = ['memory', 'sqlite', 'redis', 'postgres'] as const;
export type SoakedStore = (typeof soakedStores)[number];

export const leaks = ['memory', 'handles', 'keys'] as const;
export type Leak = (typeof leaks)[number];

export interface WorkerSettings {
  readonly store: SoakedStore;
  readonly url: string;
  /** Where the messages are, of all stores but memory. */
  readonly redisUrl: string;
  readonly namespace: string;
  readonly sampleEveryMs: number;
  /** For how long ids of messages, and effects, are remembered. */
  readonly rememberMs: number;
  readonly leak: Leak | undefined;
}

export interface SoakOptions {
  readonly store: SoakedStore;
  /** From the first sample on, which comes after a minute of work. */
  readonly durationMs: number;
  readonly sampleEveryMs: number;
  /** Servers of which nothing is there yet that belongs to the run. */
  readonly redisUrl: string;
  readonly postgresUrl: string;
  /** One that is planted, which has to be found. Default: none. */
  readonly leak?: Leak | undefined;
}

export interface SoakReport {
  readonly store: SoakedStore;
  readonly durationMs: number;
  readonly leak: Leak | undefined;
  readonly samples: readonly Sample[];
  readonly courses: readonly Course[];
  /** What was done: leases, terms, messages. */
  readonly counts: Readonly<Record<string, number>>;
  readonly troubles: readonly string[];
  /** Messages that were not handled in order. */
  readonly disorders: readonly string[];
  /** How the process ended that was asked to: 0 is well. */
  readonly end: number | string;
}

interface Line {
  readonly atMs: number;
  readonly usage: Usage;
  readonly counts: Readonly<Record<string, number>>;
  readonly troubles: readonly string[];
  readonly disorders: readonly string[];
}

/** As short as it may be. A run begins when all that is kept for so long is there, so that it shows if more comes. */
const rememberMs = 60_000;

/** Two replicas in one process, on one store, without any fault. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { store, durationMs, sampleEveryMs, redisUrl, leak } = options;
  const folder = mkdtempSync(join(tmpdir(), 'tenure-soak-'));
  const database = await databaseFor(options);
  const redis = new Redis(redisUrl);
  const namespace = `soak-${store}-${process.pid}-${Date.now()}`;
  const file = join(folder, 'leases');
  const urls = { memory: '', sqlite: `sqlite:${file}`, redis: redisUrl, postgres: database?.url };
  const settings: WorkerSettings = {
    ...{ store, redisUrl, namespace, sampleEveryMs, leak },
    url: urls[store] ?? '',
    rememberMs,
  };
  const sizeNow = async (): Promise<StoreSize | undefined> => {
    if (store === 'memory') return undefined;
    const messages = await redisSize(redis, namespace);
    if (store === 'sqlite')
      return sumOf([messages, sqliteSize(file), sqliteSize(`${file}-effects`)]);
    return database === undefined ? messages : sumOf([messages, await postgresSize(database.url)]);
  };
  let program: NodeProgram | undefined;
  try {
    const samples: Sample[] = [];
    let last: Line | undefined;
    program = start(settings);
    await program.says(/^\{"atMs"/, 2 * rememberMs + 60_000 + sampleEveryMs);
    for (const startedMs = performance.now(); performance.now() - startedMs < durationMs; ) {
      const index = samples.length;
      if (!program.isRunning) break;
      const text = program.lines.filter((line) => line.startsWith('{"atMs"'))[index];
      if (text === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        continue;
      }
      last = JSON.parse(text) as Line;
      samples.push({ atMs: last.atMs, usage: last.usage, size: await sizeNow() });
    }
    const end = program.isRunning ? await program.stop(30_000) : await program.ended;
    if (last === undefined || end !== 0)
      throw new Error(`the soak of ${store} ended with ${end}:\n${program.output.slice(-4_000)}`);
    const { counts, troubles, disorders } = last;
    const courses = coursesOf(samples);
    return { store, durationMs, leak, samples, courses, counts, troubles, disorders, end };
  } finally {
    await program?.kill();
    redis.disconnect();
    await database?.drop();
    rmSync(folder, { recursive: true });
  }
}

const program = join(import.meta.dirname, 'worker.mjs');

function start(settings: WorkerSettings): NodeProgram {
  return new NodeProgram(['--expose-gc', program], { SOAK: JSON.stringify(settings) });
}

async function databaseFor({ store, postgresUrl }: SoakOptions) {
  if (store !== 'postgres') return undefined;
  const database = await freshPostgresDatabase(postgresUrl);
  await migratePostgres(database.url);
  const fence = postgresFence(database.url);
  await fence.migrate();
  await fence.close();
  await withClient(database.url, (client) =>
    client.query('CREATE TABLE totals (key text PRIMARY KEY, seq bigint NOT NULL)'),
  );
  return database;
}
