import type { EventEmitter } from 'node:events';
import pg from 'pg';
import { Holder } from '../src/coordinators/index.js';
import { postgresFence } from '../src/postgres.js';
import { realRuntime } from '../src/time/index.js';
import { startPostgres } from '../tests/support/servers/index.js';
import type { Finding } from './main.js';
import { compare, rounded, timed } from './measure.js';

const transactionsPerRound = 480;
const rounds = 9;
const sides = [
  { writers: 1, wanted: 0.8 },
  { writers: 16, wanted: 0.9 },
] as const;

type Write = (row: number) => Promise<void>;

const update = 'UPDATE account SET cents = cents + 1 WHERE id = $1';

/** The same durable transaction with the fence and without it; each writer has a connection and a row of its own. */
export async function fencedWrites(): Promise<Finding[]> {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url, max: 16 });
  // The server is stopped while its connections are still open.
  pool.on('error', () => {});
  try {
    const fence = postgresFence<pg.PoolClient>(pool);
    await fence.migrate();
    await pool.query('CREATE TABLE account (id int PRIMARY KEY, cents bigint NOT NULL)');
    await pool.query('INSERT INTO account SELECT id, 0 FROM generate_series(0, 15) AS id');
    const token = { name: 'bench', term: 1, holder: Holder.create('bench', realRuntime) };
    await fence.claim(token);
    const fenced: Write = (row) =>
      fence.transaction(token, async (client) => void (await client.query(update, [row])));
    const findings: Finding[] = [];
    for (const { writers, wanted } of sides)
      findings.push(await finding(writers, wanted, fenced, plain(pool)));
    findings.push(await messages(pool, fenced));
    await fence.close();
    return findings;
  } finally {
    await pool.end();
    await server.stop();
  }
}

function plain(pool: pg.Pool): Write {
  return async (row) => {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(update, [row]);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
  };
}

async function finding(
  writers: number,
  wanted: number,
  fenced: Write,
  reference: Write,
): Promise<Finding> {
  const run = (write: Write) => () => perSecond(writers, write);
  const result = await compare(rounds, run(fenced), run(reference));
  const ofWriters = writers === 1 ? '1 writer' : `${writers} writers of one term`;
  return {
    what: `a fenced PostgreSQL transaction against the same one without the fence, ${ofWriters}`,
    measured: `${rounded(result.ratio)} of it (${Math.round(result.ours)}/s against ${Math.round(result.reference)}/s)`,
    wanted: `at least ${wanted}`,
    met: result.ratio >= wanted,
  };
}

/** What goes over the wire for one fenced transaction; the plain one takes three messages of one statement each. */
async function messages(pool: pg.Pool, fenced: Write): Promise<Finding> {
  const others = await Promise.all(Array.from({ length: 15 }, () => pool.connect()));
  // The one that is left is used by all that follows. What it has prepared, it has prepared already.
  await fenced(0);
  const client = await pool.connect();
  client.release();
  const connection: EventEmitter = Reflect.get(client, 'connection');
  let messageCount = 0;
  let statementCount = 0;
  connection.on('readyForQuery', () => {
    messageCount += 1;
  });
  connection.on('commandComplete', () => {
    statementCount += 1;
  });
  try {
    await fenced(0);
  } finally {
    for (const other of others) other.release();
  }
  return {
    what: 'what a fenced transaction of one write costs, whatever the load',
    measured: `${messageCount} messages with ${statementCount} statements`,
    wanted: '3 messages, with 5 statements at the most',
    met: messageCount === 3 && statementCount <= 5,
  };
}

async function perSecond(writers: number, write: Write): Promise<number> {
  const each = transactionsPerRound / writers;
  const elapsedMs = await timed(() =>
    Promise.all(
      Array.from({ length: writers }, async (_, row) => {
        for (let count = 0; count < each; count++) await write(row);
      }),
    ),
  );
  return (transactionsPerRound * 1000) / elapsedMs;
}
