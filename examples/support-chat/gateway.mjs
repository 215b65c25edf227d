// @ts-check
/**
 * Takes customers' messages: `node examples/support-chat/gateway.mjs 3000`. Several may run, each on its own port.
 *
 * A message that was answered with 202 is in PostgreSQL, with its number. However this process ends, the message gets
 * into the stream from there.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { runOutbox } from './outbox.mjs';
import { openDatabase, openFleet } from './stores.mjs';

const { pool, close: closeDatabase } = await openDatabase();
const { leases, topic, close: closeFleet } = openFleet(`gateway-${process.pid}`);

/**
 * Stores a message under the customer's next number. One that is there already keeps the number it has.
 *
 * @param {{ customer: string, id: string, text: string }} message
 * @returns {Promise<number>}
 */
async function store({ customer, id, text }) {
  try {
    // One statement is one transaction. The customer's row is locked in it, so two gateways take turns.
    const { rows } = await pool.query(
      `WITH conversation AS (
         INSERT INTO conversations (customer, last_seq) VALUES ($1, 1)
         ON CONFLICT (customer) DO UPDATE SET last_seq = conversations.last_seq + 1
         RETURNING customer, last_seq
       )
       INSERT INTO messages (customer, seq, id, text)
       SELECT customer, last_seq, $2, $3 FROM conversation RETURNING seq`,
      [customer, id, text],
    );
    return rows[0].seq;
  } catch (error) {
    const isRepeated = error instanceof Error && 'code' in error && error.code === '23505';
    if (!isRepeated) throw error;
    const { rows } = await pool.query('SELECT seq FROM messages WHERE customer = $1 AND id = $2', [
      customer,
      id,
    ]);
    return rows[0].seq;
  }
}

/** @param {string} customer */
async function read(customer) {
  const { rows } = await pool.query(
    `SELECT m.seq, m.id, m.text, a.text AS answer, a.worker FROM messages m
     LEFT JOIN answers a ON a.run_id = m.customer AND a.seq = m.seq
     WHERE m.customer = $1 ORDER BY m.seq`,
    [customer],
  );
  return rows;
}

/** @param {import('node:http').IncomingMessage} request */
async function respond(request) {
  const [, kind, customer] = (request.url ?? '').split('/');
  if (request.method === 'POST' && kind === 'messages') {
    // Without an id of the sender's, a second try is another message.
    const { customer, text, id = randomUUID() } = /** @type {any} */ (await json(request)) ?? {};
    if (!isName(customer) || !isName(id) || !isText(text)) {
      return { status: 400, body: { error: 'customer, text or id is missing or unusable' } };
    }
    return { status: 202, body: { customer, id, seq: await store({ customer, id, text }) } };
  }
  if (request.method === 'GET' && kind === 'conversations' && customer) {
    return { status: 200, body: await read(decodeURIComponent(customer)) };
  }
  return { status: 404, body: { error: 'POST /messages or GET /conversations/<customer>' } };
}

/** @param {unknown} value */
function isName(value) {
  return typeof value === 'string' && /^[\w.@-]{1,64}$/.test(value);
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === 'string' && value.length > 0 && value.length <= 4_000;
}

const server = createServer(async (request, response) => {
  const { status, body } = await respond(request).catch((error) => {
    if (error instanceof SyntaxError) return { status: 400, body: { error: 'that is no JSON' } };
    console.error(error);
    return { status: 500, body: { error: 'try again, with the same id' } };
  });
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body)}\n`);
});

const stopping = new AbortController();
const outbox = runOutbox({ pool, leases, topic, signal: stopping.signal });
server.listen(Number(process.argv[2] ?? 3000), '127.0.0.1', () => {
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  console.log(`gateway on http://127.0.0.1:${address.port}, process ${process.pid}`);
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    stopping.abort();
    server.close();
    server.closeAllConnections();
    await outbox;
    await closeFleet();
    await closeDatabase();
  });
}
