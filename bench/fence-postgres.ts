import type { EventEmitter } from 'node:events';
import pg from 'pg';
import { Holder } from '../src/coordinators/index.js';
import { postgresFence } from '../src/postgres.js';
import { realRuntime } from '../src/time/index.js';
import { startPostgres } from '../tests/support/servers/index.js';
import { processorTimeUs } from './fence-postgres-time.js';
import type { Finding } from './main.js';
import { type Comparison, compare, median, rounded, timed } from './measure.js';

const transactionsPerRound = 480;
const rounds = 9;
const sides = [
  { writers: 1, wanted: 0.8 },
  { writers: 16, wanted: 0.9 },
] as const;
/** Of a write of one message, in throughput and in processor time. */
const wantedOfWrite = 0.9;

type Write = (row: number) => Promise<void>;

const update = 'UPDATE account SET cents = cents + 1 WHERE id = $1';

/** What the pool says of itself, and with what it opens its sessions. */
const pools = {
  'in a pool with the idle limit of the fence': { idle_in_transaction_session_timeout: 30_000 },
  'in a pool without an idle limit': {},
} as const;

/**
 * The same durable transaction with the fence and without it, and the same single statement as a fenced write; each writer has a connection and a row of its own. In a pool that
 * sets the idle limit, as the documentation advises, and in one that leaves it to the fence.
 */
export async function fencedWrites(): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [kind, settings] of Object.entries(pools))
    findings.push(...(await fencedWritesIn(kind, settings)));
  return findings;
}

async function fencedWritesIn(kind: string, settings: pg.PoolConfig): Promise<Finding[]> {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url, max: 16, ...settings });
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
    const single: Write = async (row) => void (await fence.write(token, update, [row]));
    const bare: Write = async (row) => void (await pool.query(update, [row]));
    const findings: Finding[] = [];
    // Compiled as in a process that has run for a while, on both sides.
    for (let round = 0; round < 4; round++)
      for (const write of [fenced, single, plain(pool), bare]) await perSecond(16, write);
    for (const { writers, wanted } of sides) {
      const against = (write: Write, reference: Write) =>
        measure(writers, server.pid, write, reference);
      const place = `${writers === 1 ? '1 writer' : `${writers} writers of one term`}, ${kind}`;
      findings.push(ofTransaction(place, wanted, await against(fenced, plain(pool))));
      findings.push(ofWrite(place, await against(single, plain(pool))));
      findings.push(ofBare(place, await against(single, bare)));
    }
    findings.push(await messages(kind, pool, { fenced, single }));
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

interface Measured extends Comparison {
  /** Processor time of a transaction, client and server together, in microseconds: ours, the reference's. */
  readonly timeUs: readonly [number, number] | undefined;
}

async function measure(
  writers: number,
  serverPid: number,
  fenced: Write,
  reference: Write,
): Promise<Measured> {
  const run = (write: Write, spentUs: number[]) => async () => {
    const before = processorTimeUs(serverPid);
    const result = await perSecond(writers, write);
    const after = processorTimeUs(serverPid);
    if (before !== undefined && after !== undefined)
      spentUs.push((after - before) / transactionsPerRound);
    return result;
  };
  const ours: number[] = [];
  const others: number[] = [];
  const result = await compare(rounds, run(fenced, ours), run(reference, others));
  const isTold = ours.length > 0 && others.length > 0;
  return { ...result, timeUs: isTold ? [median(ours), median(others)] : undefined };
}

function ofTransaction(place: string, wanted: number, measured: Measured): Finding {
  return {
    what: `a fenced PostgreSQL transaction against the same one without the fence, ${place}`,
    measured: told(measured),
    wanted: `at least ${wanted}`,
    met: measured.ratio >= wanted,
  };
}

function ofWrite(place: string, measured: Measured): Finding {
  const { ratio, timeUs } = measured;
  const inTime = timeUs === undefined ? ratio : timeUs[1] / timeUs[0];
  return {
    what: `a fenced write of one statement against the transaction of three messages, ${place}`,
    measured: told(measured),
    wanted: `at least ${wantedOfWrite}, in processor time as well`,
    met: Math.min(ratio, inTime) >= wantedOfWrite,
  };
}

function ofBare(place: string, measured: Measured): Finding {
  return {
    what: `the same write against the bare statement, which commits by itself and which nothing fences, ${place}`,
    measured: told(measured),
    wanted: 'no bound: to compare with',
    met: true,
  };
}

function told({ ratio, ours, reference, timeUs }: Measured): string {
  const inTime = timeUs?.map(Math.round).join(' against ');
  const time = inTime === undefined ? '' : `; processor time ${inTime} microseconds`;
  return `${rounded(ratio)} of it (${Math.round(ours)}/s against ${Math.round(reference)}/s)${time}`;
}

/** What goes over the wire for one of each; the plain transaction takes three messages of one statement each. */
async function messages(
  kind: string,
  pool: pg.Pool,
  { fenced, single }: { readonly fenced: Write; readonly single: Write },
): Promise<Finding> {
  const others = await Promise.all(Array.from({ length: 15 }, () => pool.connect()));
  // The one that is left is used by all that follows. What it has prepared, it has prepared already.
  await fenced(0);
  await single(0);
  const client = await pool.connect();
  client.release();
  const connection: EventEmitter = Reflect.get(client, 'connection');
  try {
    const [transaction, write] = [
      await counted(connection, () => fenced(0)),
      await counted(connection, () => single(0)),
    ];
    return {
      what: `what a fenced transaction of one write, and a fenced write, costs, whatever the load, ${kind}`,
      measured: `${transaction.join(' messages with ')} statements; ${write.join(' message with ')} statements`,
      wanted: '3 messages, with 5 statements at the most; 1 message, with 3 statements',
      met: transaction[0] === 3 && transaction[1] <= 5 && write[0] === 1 && write[1] === 3,
    };
  } finally {
    for (const other of others) other.release();
  }
}

/** How many messages are answered, and how many statements are executed. */
async function counted(
  connection: EventEmitter,
  act: () => Promise<void>,
): Promise<readonly [number, number]> {
  const counts: [number, number] = [0, 0];
  const onMessage = () => {
    counts[0] += 1;
  };
  const onStatement = () => {
    counts[1] += 1;
  };
  connection.on('readyForQuery', onMessage);
  connection.on('commandComplete', onStatement);
  await act();
  connection.off('readyForQuery', onMessage);
  connection.off('commandComplete', onStatement);
  return counts;
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
