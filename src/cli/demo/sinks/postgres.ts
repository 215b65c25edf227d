import { Holder } from '../../../coordinators/index.js';
import type { FencingToken } from '../../../fences/index.js';
import { type PostgresFence, postgresFence } from '../../../fences/postgres/index.js';
import { realRuntime } from '../../../time/index.js';
import { addressOf } from '../../store-url.js';
import { type Answer, effectScope, type RemoteSink, type Sink, type WorkerSink } from '../sink.js';

/** One schema per run: it holds the fence's tables and the answers, and goes as a whole. */
export async function createPostgresSink(url: string, runId: string): Promise<Sink> {
  const schema = `tenure_demo_${runId}`;
  const fence = openFence({ url, schema });
  const owner = ownerToken();
  await fence.migrate();
  await fence.transaction(owner, (client) => client.query(tableSql(schema)));
  return {
    ...workerSink(fence, schema),
    address: addressOf(url),
    remote: { url, schema },
    async answers() {
      return await fence.transaction(owner, async (client) => {
        const { rows } = await client.query(`SELECT * FROM ${schema}.messages ORDER BY position`);
        return rows.map((row) => parseRow(row as Record<string, unknown>));
      });
    },
    async remove() {
      await fence.transaction(owner, (client) => client.query(`DROP SCHEMA ${schema} CASCADE`));
      await fence.close();
    },
  };
}

export function openPostgresSink({ url, schema }: RemoteSink): WorkerSink {
  return workerSink(openFence({ url, schema }), schema);
}

function openFence({ url, schema }: RemoteSink): PostgresFence {
  // A worker that freezes within a transaction may hold its successor up for no longer than this.
  return postgresFence(url, { schema, idleInTransactionTimeoutMs: 1_000, waitTimeoutMs: 10_000 });
}

/** `(run_id, seq)` is the table's own word that no message has two effects; the fence's record comes before it. */
function tableSql(schema: string): string {
  return `CREATE TABLE ${schema}.messages (
    position bigint GENERATED ALWAYS AS IDENTITY,
    run_id text NOT NULL,
    seq integer NOT NULL,
    customer text NOT NULL,
    customer_seq bigint NOT NULL,
    text text NOT NULL,
    reply text NOT NULL,
    worker text NOT NULL,
    shard integer NOT NULL,
    term bigint NOT NULL,
    begun_at_ms bigint NOT NULL,
    finished_at_ms bigint NOT NULL,
    UNIQUE (run_id, seq)
  )`;
}

function workerSink(fence: PostgresFence, schema: string): WorkerSink {
  const insert = `INSERT INTO ${schema}.messages (run_id, seq, customer, customer_seq, text, reply,
    worker, shard, term, begun_at_ms, finished_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;
  return {
    claim: (token) => fence.claim(token),
    write: (token, id, answer) =>
      fence.transaction(token, async (client) => {
        const { customer, seq } = answer;
        if (!(await fence.recordOnce(client, effectScope, customer, seq, id))) return 'repeated';
        await client.query(insert, [schema, ...valuesOf(answer)]);
        return 'written';
      }),
    close: () => fence.close(),
  };
}

function valuesOf(answer: Answer): (string | number)[] {
  const { number, customer, seq, text, reply, worker, shard, term } = answer;
  const { begunAtMs, finishedAtMs } = answer;
  return [number, customer, seq, text, reply, worker, shard, term, begunAtMs, finishedAtMs];
}

/** A `bigint` comes as text; ours are all safe integers. */
function parseRow(row: Record<string, unknown>): Answer {
  return {
    number: Number(row.seq),
    customer: String(row.customer),
    seq: Number(row.customer_seq),
    text: String(row.text),
    reply: String(row.reply),
    worker: String(row.worker),
    shard: Number(row.shard),
    term: Number(row.term),
    begunAtMs: Number(row.begun_at_ms),
    finishedAtMs: Number(row.finished_at_ms),
  };
}

/** The demonstration's own right to create, read and remove the table. */
function ownerToken(): FencingToken {
  return { name: 'demo/owner', term: 1, holder: Holder.create('demo', realRuntime) };
}
