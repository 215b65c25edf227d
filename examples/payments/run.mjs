// @ts-check
/**
 * The whole example at once: `node examples/payments/run.mjs`. Three replicas, ten thousand payments, one tick a few
 * seconds from now. The replica that settles is killed at a third, its successor is frozen at two thirds and woken at the
 * end. Then PostgreSQL is asked whether each payment was booked once. Exit code 0 if so, 1 if not.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Replica } from './program.mjs';

const paymentCount = Number(process.env.PAYMENTS ?? 10_000);
const limitMs = 120_000;
/** Time for three processes to start in. */
const leadMs = Number(process.env.LEAD_MS ?? 4_000);

// A fleet of its own, so that one you started by hand is not disturbed. Programs read this when they start.
process.env.NAMESPACE = `payments_run_${randomBytes(4).toString('hex')}`;
process.env.TTL_MS ??= '2000';
const tick = new Date(Math.ceil((Date.now() + leadMs) / 1000) * 1000);
process.env.TIME_ZONE = 'UTC';
process.env.CRON = `${tick.getUTCSeconds()} ${tick.getUTCMinutes()} ${tick.getUTCHours()} * * *`;
const { namespace, job } = await import('./settings.mjs');
const { openDatabase } = await import('./stores.mjs');

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
const { pool, jobStore, close } = await openDatabase();
await pool.query(
  `INSERT INTO payments (accepted_at, payee, cents)
   SELECT now() - interval '1 hour', 'payee ' || n, 100 + n FROM generate_series(1, $1) AS n`,
  [paymentCount],
);

/** @param {string} query @returns {Promise<number>} */
async function count(query) {
  const { rows } = await pool.query(`SELECT count(*)::int AS count FROM ${query}`);
  return rows[0].count;
}

/**
 * Waits for so many bookings, and tells who makes them.
 *
 * @param {number} share of all payments
 * @returns {Promise<Replica | undefined>}
 */
async function booked(share) {
  const startedMs = performance.now();
  while (performance.now() - startedMs < limitMs) {
    const { rows } = await pool.query('SELECT replica FROM bookings ORDER BY id DESC LIMIT 1');
    const isThere = (await count('bookings')) >= paymentCount * share;
    if (isThere) return replicas.find(({ id }) => id === rows[0]?.replica);
    await sleep(10);
  }
  return undefined;
}

/** The runs of the job, as the store has them. */
const runs = async () => await jobStore.runs(job, { limit: 100 }, { timeoutMs: 5_000 });

const replicas = ['anna', 'ben', 'cleo'].map((id) => new Replica(id));
console.log(`three replicas, ${paymentCount} payments, to be settled at ${tick.toISOString()}`);

const first = await booked(1 / 3);
first?.signal('SIGKILL');
console.log(`${first?.id} is killed at a third`);

const second = await booked(2 / 3);
second?.signal('SIGSTOP');
console.log(`${second?.id} is frozen at two thirds`);

const third = await booked(1);
const startedMs = performance.now();
while ((await runs())[0]?.state !== 'succeeded' && performance.now() - startedMs < limitMs)
  await sleep(50);
second?.signal('SIGCONT');
console.log(`${third?.id} has settled the rest; ${second?.id} is woken`);
// What it believes, it says or does now.
await sleep(1_000);
await Promise.all(replicas.map((replica) => replica.end()));

const all = await runs();
const findings = {
  'payments that were not booked': await count(
    'payments p WHERE NOT EXISTS (SELECT FROM bookings b WHERE b.payment = p.id)',
  ),
  'payments booked more than once': await count(
    '(SELECT payment FROM bookings GROUP BY payment HAVING count(*) > 1) b',
  ),
  'bookings under an old term': await count(
    '(SELECT term < lag(term) OVER (ORDER BY id) AS is_wrong FROM bookings) b WHERE is_wrong',
  ),
  'bookings of another run': await count(`bookings WHERE run <> '${all[0]?.id ?? ''}'`),
  'runs besides the one that succeeded': all.length - 1,
};
console.log(`one run, ${all[0]?.id}: ${all[0]?.state} in attempt ${all[0]?.attempt}`);
const { rows: shares } = await pool.query(
  'SELECT replica, count(*)::int AS count FROM bookings GROUP BY replica ORDER BY min(id)',
);
console.log(shares.map(({ replica, count }) => `${replica} booked ${count}`).join(', '));
const refused = replicas.flatMap(({ lines }) => lines).filter((line) => line.includes('REFUSED'));
for (const line of refused) console.log(line);
console.table(findings);

const isGood =
  all[0]?.state === 'succeeded' && Object.values(findings).every((found) => found === 0);
if (isGood) await pool.query(`DROP SCHEMA ${namespace} CASCADE`);
else for (const { lines } of replicas) console.log(lines.join('\n'));
await close();
console.log(isGood ? 'every payment was booked once, in one run' : 'this is not what was promised');
process.exitCode = isGood ? 0 : 1;
