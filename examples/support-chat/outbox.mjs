// @ts-check
/**
 * Carries what the gateways stored into the stream, each customer's messages in the order of their numbers.
 *
 * One gateway at a time does it, the one that holds the lease `outbox`. That only saves work. If two overlap because
 * one was frozen, or one dies between publishing and saying so, the numbers decide: the stream takes a customer's
 * number 5 once and after number 4, answers "duplicate" to one that it knows, and refuses one that would leave a gap.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { SequenceGapError } from 'tenure';

/**
 * @typedef {object} Outbox
 * @property {import('pg').Pool} pool
 * @property {import('tenure').Leases} leases
 * @property {import('tenure').Topic} topic
 * @property {AbortSignal} signal ends it
 */

/** @param {Outbox} outbox */
export async function runOutbox(outbox) {
  const { leases, signal } = outbox;
  while (!signal.aborted) {
    try {
      const lease = await leases.acquire('outbox', { waitMs: Infinity, signal });
      if (lease !== undefined) await publishUnder(lease, outbox);
    } catch (error) {
      if (signal.aborted) return;
      console.error(`outbox: ${error}`);
      await sleep(500);
    }
  }
}

/** @param {import('tenure').Lease} lease @param {Outbox} outbox */
async function publishUnder(lease, outbox) {
  console.log('this gateway empties the outbox');
  try {
    while (lease.endReason === undefined && !outbox.signal.aborted) {
      const isBusy = lease.state === 'held' && (await publishSome(outbox)) > 0;
      if (!isBusy) await sleep(50);
    }
  } finally {
    await lease.release();
  }
}

/** @param {Outbox} outbox @returns {Promise<number>} how many were waiting */
async function publishSome({ pool, topic }) {
  // Positions rise with the numbers of each customer, so no message is read before the one it follows.
  const { rows } = await pool.query(
    `SELECT position, customer, seq, id, text FROM messages
     WHERE published_at IS NULL ORDER BY position LIMIT 200`,
  );
  const results = await Promise.allSettled(
    rows.map(({ customer, seq, id, text }) =>
      topic.publish({ key: customer, seq, id, payload: { text } }),
    ),
  );
  const published = rows.filter((_, index) => results[index]?.status === 'fulfilled');
  await pool.query('UPDATE messages SET published_at = now() WHERE position = ANY ($1)', [
    published.map(({ position }) => position),
  ]);
  for (const [index, { customer }] of rows.entries()) {
    const result = results[index];
    if (result?.status !== 'rejected') continue;
    if (!(result.reason instanceof SequenceGapError)) throw result.reason;
    // The stream forgot messages that it had confirmed: Redis came back without its last second, say. They are
    // still here, so publish them again. Those that were answered are not answered twice.
    await pool.query('UPDATE messages SET published_at = NULL WHERE customer = $1 AND seq > $2', [
      customer,
      result.reason.lastSeq,
    ]);
  }
  return rows.length;
}
