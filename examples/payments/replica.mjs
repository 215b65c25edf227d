// @ts-check
/** One of several replicas: `node examples/payments/replica.mjs anna`. Start three, each with a name of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { StaleTermError } from 'tenure';
import { schedule } from 'tenure/schedule';
import { bankMs, cron, job, stepSize, timeZone, ttlMs } from './settings.mjs';
import { openDatabase } from './stores.mjs';

const id = process.argv[2] ?? `replica-${process.pid}`;
const { pool, fence, jobStore, close } = await openDatabase();
const fleet = schedule(jobStore, { id, ttlMs });

/**
 * Books all payments that were accepted before the tick, a step at a time. Killed anywhere, it is begun again by another
 * replica, and goes on after the last step that was saved.
 *
 * @param {import('tenure/schedule').RunContext} context
 */
async function settle({ run, lease, signal, stopping, tick, attempt, progress }) {
  // From here on nobody whose term is over can write, so what is read below does not change any more.
  await fence.claim(lease);
  /** @type {{ after: string, count: number }} */
  let { after, count } = progress.load() ?? { after: '0', count: 0 };
  say(`settles ${run.id}, attempt ${attempt}, after payment ${after}`);
  for (;;) {
    // Between two steps is where it can stop: `signal` if it must, `stopping` if somebody else is to go on.
    signal.throwIfAborted();
    stopping.throwIfAborted();
    const { rows: payments } = await pool.query(
      'SELECT id, cents FROM payments WHERE accepted_at < $1 AND id > $2 ORDER BY id LIMIT $3',
      [tick, after, stepSize],
    );
    if (payments.length === 0) break;
    await sleep(bankMs);
    await book(run, lease, payments);
    after = payments.at(-1).id;
    count += payments.length;
    await progress.save({ after, count });
    say(`has settled ${count}`);
  }
  say(`has finished ${run.id}`);
}

/**
 * One transaction: the term is checked, and each payment is booked unless it is recorded that it was. A step that was
 * committed, and whose progress was not saved, is found here by whoever does it again.
 *
 * @param {import('tenure/schedule').JobRun} run
 * @param {import('tenure').Lease} lease
 * @param {{ id: string, cents: string }[]} payments
 */
async function book(run, lease, payments) {
  await fence.transaction(lease, async (client) => {
    for (const payment of payments) {
      if (!(await fence.recordOnce(client, job, payment.id, 1, payment.id))) continue;
      await client.query(
        'INSERT INTO bookings (payment, cents, run, replica, term) VALUES ($1, $2, $3, $4, $5)',
        [payment.id, payment.cents, run.id, id, lease.term],
      );
    }
  });
}

fleet.job(job, { cron, timeZone, misfire: 'all', retry: { limit: 3 } }, async (context) => {
  try {
    await settle(context);
  } catch (error) {
    if (error instanceof StaleTermError) say(`REFUSED: ${error.message}`);
    throw error;
  }
});

fleet.events.on('leading', ({ lease }) => say(`leads, term ${lease.term}`));
fleet.events.on('stoppedLeading', () => say('leads no more'));
fleet.events.on('runFailed', ({ error }) => say(`will try again: ${error}`));
fleet.events.on('storeFailed', ({ error }) => say(`cannot reach the store: ${error}`));
for (const election of fleet.elections)
  election.events.on('campaignFailed', ({ error }) => say(`cannot stand: ${error}`));

fleet.start();
say(`is ready, process ${process.pid}`);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await fleet.close();
    await close();
    say('has stopped');
  });
}

/** @param {string} line */
function say(line) {
  console.log(`${id} ${line}`);
}
