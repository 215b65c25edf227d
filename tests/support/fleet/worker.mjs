/**
 * A worker that is killed, frozen and drained: started by `fleet.ts` with all it needs in its environment.
 *
 * It heeds no signal while it handles a message, as a call to somebody else would not, and when it finds that it was
 * frozen it writes once with each lease it had, on purpose. What the fence makes of that is what is being tested.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Leases, MemberIdTakenError, StaleTermError, StreamWorker, Topic } from 'tenure';
import { postgresFence } from 'tenure/postgres';
import { redisCoordinator, redisStreams } from 'tenure/redis';

const {
  REDIS_URL: redisUrl = '',
  DATABASE_URL: databaseUrl = '',
  NAMESPACE: namespace = '',
  WORKER_ID: id = '',
  IS_FENCED: isFenced = 'true',
} = process.env;
const ttlMs = Number(process.env.TTL_MS);
const shardCount = Number(process.env.SHARD_COUNT);

const pool = new pg.Pool({ connectionString: databaseUrl, max: 12 });
pool.on('error', (error) => console.log(`pool: ${error.message}`));
const fence = postgresFence(pool, { idleInTransactionTimeoutMs: 1_000 });
const coordinator = redisCoordinator(redisUrl, { namespace });
const streams = redisStreams(redisUrl, { namespace, topic: 'messages' });
const leases = new Leases(coordinator, { id, ttlMs, attemptTimeoutMs: ttlMs / 6 });
const topic = new Topic(streams, { shardCount });

/** @type {Map<number, import('tenure').Lease>} the newest lease of each shard that was not given back */
const known = new Map();
/** @type {Set<Promise<unknown>>} */
const pending = new Set();

/**
 * @typedef {object} Write
 * @property {'effect' | 'probe'} kind
 * @property {number} shard
 * @property {import('tenure').Lease} lease
 * @property {import('tenure').DeliveredMessage | undefined} message
 */

/** @param {import('tenure/postgres').PostgresQueryable} target @param {Write} write */
async function insert(target, { kind, shard, lease, message }) {
  const values = [kind, message?.key, message?.seq, message?.id, shard, lease.term];
  await target.query(
    'INSERT INTO writes (kind, key, seq, id, shard, term, holder) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    [...values, lease.holder.digest],
  );
}

/** @param {import('tenure/postgres').PostgresQueryable} client @param {Write} write */
async function insertOnce(client, write) {
  const { shard, lease, message } = write;
  if (message === undefined) return await insert(client, write);
  const { key, seq, id } = message;
  if (await fence.recordOnce(client, 'fleet', key, seq, id)) return await insert(client, write);
  const values = [key, seq, shard, lease.term];
  await client.query('INSERT INTO redeliveries VALUES ($1, $2, $3, $4)', values);
}

/** @param {Write} write */
async function apply(write) {
  if (isFenced !== 'true') return await insert(pool, write);
  const { kind, shard, lease } = write;
  try {
    await fence.transaction(lease, (client) => insertOnce(client, write));
  } catch (error) {
    if (error instanceof StaleTermError) {
      const values = [kind, shard, lease.term, error.installedTerm];
      await pool.query('INSERT INTO refusals VALUES ($1, $2, $3, $4)', values);
    }
    throw error;
  }
}

const worker = new StreamWorker({
  topic,
  leases,
  group: 'fleet',
  fence,
  retry: { firstMs: 20, limitMs: 200 },
  async handler(message, { lease }) {
    await sleep(Math.random() < 0.2 ? 10 + Math.random() * 50 : Math.random() * 8);
    if (message.attempt === 1 && Math.random() < 0.01) throw new Error('a handler that fails');
    await apply({ kind: 'effect', shard: message.shard, lease, message });
  },
});

worker.events.on('shardsClaimed', ({ shards }) => {
  for (const { shard, lease } of shards) known.set(shard, lease);
});
worker.events.on('shardDrained', ({ shard, term }) => {
  if (known.get(shard)?.term === term) known.delete(shard);
  const values = [`fleet/shards/${shard}`, term];
  note(pool.query('INSERT INTO given_back VALUES ($1, $2)', values));
});
worker.events.on('handlerFailed', ({ error }) => {
  if (!(error instanceof Error && error.message === 'a handler that fails')) report(error);
});
worker.events.on('shardsFailed', ({ during, error }) => report(error, during));
worker.events.on('storeFailed', ({ operation, error }) => report(error, operation));
worker.events.on('handlerAbandoned', ({ key, seq }) => console.log(`abandoned ${key} ${seq}`));
worker.events.on('shardStalled', ({ key, seq }) => console.log(`stalled at ${key} ${seq}`));

let seenAtMs = performance.now();
const watch = setInterval(() => {
  const stoodStillMs = performance.now() - seenAtMs;
  seenAtMs = performance.now();
  if (stoodStillMs < ttlMs) return;
  console.log(`stood still for ${Math.round(stoodStillMs)} ms`);
  for (const [shard, lease] of known) note(probe(shard, lease));
}, 20);

/** @param {number} shard @param {import('tenure').Lease} lease */
async function probe(shard, lease) {
  await apply({ kind: 'probe', shard, lease, message: undefined }).catch((error) => {
    if (!(error instanceof StaleTermError)) report(error, 'probe');
  });
}

/** @param {Promise<unknown>} work */
function note(work) {
  const noted = work.catch((error) => report(error)).finally(() => pending.delete(noted));
  pending.add(noted);
}

/** @param {unknown} error @param {string} [during] */
function report(error, during = 'handle') {
  console.log(`${during}: ${error instanceof Error ? `${error.name}: ${error.message}` : error}`);
}

let isStopping = false;
process.on('SIGTERM', async () => {
  if (isStopping) return;
  isStopping = true;
  let step = 'worker';
  const slow = setInterval(() => {
    const live = leases.live.map(({ name, state }) => `${name} ${state}`);
    const doing = {
      step,
      shards: worker.shards,
      live,
      resources: process.getActiveResourcesInfo(),
    };
    console.log(`still stopping: ${JSON.stringify(doing)}`);
  }, 4_000);
  await worker.stop();
  step = 'notes';
  clearInterval(watch);
  await Promise.all(pending);
  step = 'leases';
  await leases.close();
  step = 'stores';
  await Promise.all([coordinator.close(), streams.close(), fence.close()]);
  await pool.end();
  console.log('stopped');
  clearInterval(slow);
});
console.log('begun');

while (!isStopping) {
  try {
    await worker.start();
    console.log('ready');
    break;
  } catch (error) {
    if (isStopping) break;
    // The predecessor of this name was killed, and its registration has not expired yet.
    if (!(error instanceof MemberIdTakenError)) throw error;
    report(error, 'start');
  }
}
