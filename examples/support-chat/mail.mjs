// @ts-check
/**
 * Plays a mail provider: something outside of the database, which no fence can guard. A worker may ask it twice, or
 * freeze and ask late. So every request carries a key that names the effect, and the second one does nothing.
 *
 * @param {import('pg').Pool} provider
 * @param {{ idempotencyKey: string, to: string, text: string }} mail
 */
export async function sendMail(provider, { idempotencyKey, to, text }) {
  await provider.query(
    `INSERT INTO mails (idempotency_key, recipient, text) VALUES ($1, $2, $3)
     ON CONFLICT (idempotency_key) DO UPDATE SET request_count = mails.request_count + 1`,
    [idempotencyKey, to, text],
  );
}
