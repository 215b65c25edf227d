import pg from 'pg';
import { postgresFence } from '../../../src/postgres.js';
import type { RunRecord } from '../../../src/schedule/index.js';

/**
 * The resource that the work writes to, and what the replicas say of themselves. Nothing here is unique, so that what is
 * doubled shows instead of being refused.
 */
const tables = `
CREATE TABLE payments (
  place bigint GENERATED ALWAYS AS IDENTITY,
  run text NOT NULL,
  attempt integer NOT NULL,
  term bigint NOT NULL,
  holder text NOT NULL
);
CREATE TABLE told (
  place bigint GENERATED ALWAYS AS IDENTITY,
  kind text NOT NULL,
  run text,
  attempt integer,
  term bigint,
  holder text
)`;

/** What must be zero. */
export interface Violations {
  /** Ticks that have no run which succeeded. */
  readonly missing: number;
  /** Runs for no tick, or for the tick of another one. */
  readonly surplus: number;
  /** Runs whose end was accepted more than once. */
  readonly endedTwice: number;
  /** Attempts that were begun more than once. */
  readonly sharedAttempts: number;
  /** Runs that succeeded without an effect. */
  readonly withoutEffect: number;
  /** Effects under a term that another one had followed already. */
  readonly staleEffects: number;
}

/** What must have happened for the zeros to mean something. */
export interface Coverage {
  readonly ticks: number;
  readonly terms: number;
  /** Runs that took more than one attempt. */
  readonly resumed: number;
  /** Writes that the store of jobs refused. */
  readonly refused: number;
}

export type Verdict = Violations & Coverage;

interface Written {
  readonly kind: string;
  readonly run: string;
  readonly attempt: number;
  readonly term: number;
}

export async function createLedger(url: string): Promise<void> {
  const fence = postgresFence(url);
  await fence.migrate();
  await fence.close();
  await ask(url, tables);
}

/** @param expected the ids of the runs that there have to be. @param runs what the store has, up to the last of them. */
export async function judge(
  url: string,
  expected: readonly string[],
  runs: readonly RunRecord[],
): Promise<Verdict> {
  const told = await ask<Written>(
    url,
    'SELECT kind, run, attempt, term::float8 FROM told ORDER BY place',
  );
  const effects = await ask<Written>(
    url,
    "SELECT 'effect' AS kind, run, attempt, term::float8 FROM payments ORDER BY place",
  );
  return verdictOf(expected, runs, told, effects);
}

export function verdictOf(
  expected: readonly string[],
  runs: readonly RunRecord[],
  told: readonly Written[],
  effects: readonly Written[],
): Verdict {
  const ids = new Set(expected);
  const succeeded = new Set(runs.filter(({ state }) => state === 'succeeded').map(({ id }) => id));
  const affected = new Set(effects.map(({ run }) => run));
  const starts = told.filter(({ kind }) => kind === 'start');
  const ends = told.filter(({ kind }) => !['start', 'refused'].includes(kind));
  let highest = 0;
  const stale = effects.filter(({ term }) => {
    const isStale = term < highest;
    highest = Math.max(highest, term);
    return isStale;
  });
  return {
    missing: expected.filter((id) => !succeeded.has(id)).length,
    surplus: runs.length - new Set(runs.map(({ id }) => id).filter((id) => ids.has(id))).size,
    endedTwice: repeated(ends.map(({ run }) => run)),
    sharedAttempts: repeated(starts.map(({ run, attempt }) => `${run} ${attempt}`)),
    withoutEffect: [...succeeded].filter((id) => !affected.has(id)).length,
    staleEffects: stale.length,
    ticks: expected.length,
    terms: new Set(starts.map(({ term }) => term)).size,
    resumed: runs.filter(({ attempt }) => attempt > 1).length,
    refused: told.filter(({ kind }) => kind === 'refused').length,
  };
}

/** How many of them come more than once. */
function repeated(texts: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts.values()].filter((count) => count > 1).length;
}

async function ask<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
