/**
 * A replica that is killed, frozen and skewed: started by the fleet with all it needs in its environment.
 *
 * Its work heeds no signal, as a call to somebody else would not. What it says of itself goes to a table outside of any
 * fence: the witness compares it with what the store and the fenced table have.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { postgresFence } from 'tenure/postgres';
import { schedule } from 'tenure/schedule';
import { openStore } from './stores.mjs';
import { slow, withoutFence } from './wrong-store.mjs';

const {
  STORE: storeName = '',
  STORE_URL: storeUrl = '',
  DATABASE_URL: databaseUrl = '',
  NAMESPACE: namespace = '',
  WORKER_ID: id = '',
  IS_FENCED: isFenced = 'true',
} = process.env;
const ttlMs = Number(process.env.TTL_MS);
const jobCount = Number(process.env.JOB_COUNT);

const pool = new pg.Pool({ connectionString: databaseUrl, max: 6 });
pool.on('error', (error) => console.log(`pool: ${error.message}`));
const fence = postgresFence(pool, { idleInTransactionTimeoutMs: 1_000 });
const opened = await openStore(storeName, storeUrl, namespace);
const refused = () => note({ kind: 'refused' });
// What is forged is forged when it arrives, or whoever is frozen on the way would be refused after all.
const store = slow(isFenced === 'true' ? opened : withoutFence(opened), refused);

/** @type {Set<Promise<unknown>>} */
const pending = new Set();

/** @param {{ kind: string, run?: string, attempt?: number, term?: number, holder?: string }} told */
function note({ kind, run, attempt, term, holder }) {
  const values = [kind, run, attempt, term, holder];
  const noted = pool
    .query(
      'INSERT INTO told (kind, run, attempt, term, holder) VALUES ($1, $2, $3, $4, $5)',
      values,
    )
    .catch(report)
    .finally(() => pending.delete(noted));
  pending.add(noted);
  return noted;
}

/** @param {unknown} error */
function report(error) {
  console.log(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

/** @param {import('tenure/schedule').RunContext} context */
const work = async ({ run, lease, attempt }) => {
  const { term, holder } = lease;
  await note({ kind: 'start', run: run.id, attempt, term, holder: holder.digest });
  await sleep(10 + Math.random() * 60);
  const insert = 'INSERT INTO payments (run, attempt, term, holder) VALUES ($1, $2, $3, $4)';
  const values = [run.id, attempt, term, holder.digest];
  if (isFenced !== 'true') await pool.query(insert, values);
  else await fence.transaction(lease, (client) => client.query(insert, values));
};

const replica = schedule(store, {
  id,
  ttlMs,
  attemptTimeoutMs: ttlMs / 6,
  pollMs: 250,
  election: { firstPauseMs: 100, longestPauseMs: 300 },
});
for (let number = 1; number <= jobCount; number++)
  replica.job(
    `job-${number}`,
    { cron: '*/1 * * * * *', misfire: 'all', resumeLimit: 1_000, keepRuns: 10_000 },
    work,
  );
replica.events.on('runEnded', ({ run }) => {
  void note({
    kind: run.state,
    run: run.id,
    attempt: run.attempt,
    term: run.term,
    holder: run.holderId,
  });
});
replica.events.on('storeFailed', ({ error }) => report(error));
replica.events.on('runFailed', ({ error }) => report(error));
replica.events.on('leadershipFailed', ({ error }) => report(error));
replica.events.on('stopped', ({ error }) => report(error));

let isStopping = false;
process.on('SIGTERM', async () => {
  if (isStopping) return;
  isStopping = true;
  await replica.close();
  while (pending.size > 0) await Promise.all(pending);
  await store.close();
  await fence.close();
  await pool.end();
});
console.log('begun');
replica.start();
console.log('ready');
