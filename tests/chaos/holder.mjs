/**
 * A process that leads when it may, and then writes to the resource: started by `crew.ts` with its settings in the
 * environment. Every line that it prints is a line of the history.
 *
 * It writes on purpose what it should not: when it finds that it stood still for longer than its lease was good for, it
 * writes once with that lease, from the state that it had in memory. What the resource makes of that is what is tested.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Elections, Leases, OutcomeUnknownError, StaleTermError } from 'tenure';
import { postgresFence } from 'tenure/postgres';
import { connectHolder } from './holder-store.mjs';

/** @type {import('./crew.js').HolderSettings} */
const settings = JSON.parse(process.env.CHAOS_HOLDER ?? '{}');
const { who, seat, name, keys, timing, isFenced, writeEveryMs } = settings;

const kernelMs = () => Number(process.hrtime.bigint()) / 1e6;
/** @param {string} event @param {object} [facts] */
const tell = (event, facts) =>
  process.stdout.write(`${JSON.stringify({ atMs: kernelMs(), who, event, ...facts })}\n`);
/** @param {unknown} error */
const nameOf = (error) => (error instanceof Error ? error.constructor.name : String(error));
/** @param {unknown} error */
const told = (error) => ({
  error: nameOf(error),
  message: error instanceof Error ? error.message : undefined,
});

const pool = new pg.Pool({ connectionString: settings.witnessUrl, max: 3 });
pool.on('error', () => {});
const fence = postgresFence(pool, { idleInTransactionTimeoutMs: 1_000 });
const coordinator = await connectHolder(settings);
const leases = new Leases(coordinator, { id: seat, ...timing });
const elections = new Elections(leases);
const election = elections.election(name, { firstPauseMs: 100, longestPauseMs: 500 });

/**
 * What this process knows of its last term: the lease, and the last number of each key as it was read under it.
 *
 * @typedef {object} Reign
 * @property {import('tenure').Lease} lease
 * @property {Map<string, number>} numbers
 * @property {boolean} isKnown whether the numbers are what stands in the resource, if nobody else writes
 */
/** @type {Reign | undefined} */
let reign;
/** Writes of one process go one after the other. */
let turn = Promise.resolve();

/**
 * @param {import('tenure/postgres').PostgresQueryable} client
 * @param {{ kind: string, key: string, seq: number, lease: import('tenure').Lease }} write
 */
async function insert(client, { kind, key, seq, lease }) {
  await client.query(
    'INSERT INTO writes (kind, name, key, seq, term, holder, who) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    [kind, name, key, seq, lease.term, lease.holder.digest, who],
  );
}

/**
 * @param {Reign} of
 * @param {'effect' | 'zombie'} kind
 * @param {string} key
 */
async function write(of, kind, key) {
  const { lease, numbers } = of;
  const seq = (numbers.get(key) ?? 0) + 1;
  const facts = { name, key, seq, term: lease.term, kind };
  const attempt = { kind, key, seq, lease };
  of.isKnown = false;
  try {
    if (isFenced) await fence.transaction(lease, (client) => insert(client, attempt));
    else await insert(pool, attempt);
  } catch (error) {
    if (error instanceof StaleTermError)
      tell('refused', { ...facts, installedTerm: error.installedTerm });
    else if (error instanceof OutcomeUnknownError) tell('unknown', facts);
    else tell('failed', { ...facts, ...told(error) });
    throw error;
  }
  numbers.set(key, seq);
  of.isKnown = true;
  tell('wrote', facts);
}

/** @template Result @param {() => Promise<Result>} act @returns {Promise<Result>} */
function inTurn(act) {
  const result = turn.then(act);
  turn = result.then(
    () => {},
    () => {},
  );
  return result;
}

/** @type {import('tenure').Work<void>} */
async function work(lease, { stopping }) {
  if (isFenced) await fence.claim(lease);
  tell('claimed', { name, term: lease.term });
  const { rows } = await pool.query(
    'SELECT key, max(seq) AS seq FROM writes WHERE name = $1 GROUP BY key',
    [name],
  );
  const numbers = new Map(rows.map(({ key, seq }) => [key, Number(seq)]));
  const own = { lease, numbers, isKnown: true };
  reign = own;
  for (let count = 0; !stopping.aborted; count++) {
    const key = /** @type {string} */ (keys[count % keys.length]);
    // Whatever goes wrong ends the term: the next one reads what is there.
    if (lease.state === 'held') await inTurn(() => write(own, 'effect', key));
    await sleep(writeEveryMs);
  }
}

election.events.on('elected', ({ lease }) => {
  const { term } = lease;
  tell('elected', { name, term, untilMs: kernelMs() + lease.remainingMs });
  lease.signal.addEventListener(
    'abort',
    () => tell('aborted', { name, term, state: lease.state }),
    {
      once: true,
    },
  );
});
for (const how of /** @type {const} */ (['lost', 'resigned']))
  election.events.on(how, ({ lease, reason }) => tell(how, { name, term: lease.term, reason }));
election.events.on('campaignFailed', ({ error }) =>
  tell('campaignFailed', { name, ...told(error) }),
);
election.events.on('termHealed', (facts) => tell('termHealed', { name, ...facts }));
election.events.on('workFailed', ({ term, error }) =>
  tell('workFailed', { name, term, ...told(error) }),
);
leases.events.on('uncertain', ({ lease, cause }) =>
  tell('uncertain', { name, term: lease.term, cause }),
);
leases.events.on('recovered', ({ lease }) => tell('recovered', { name, term: lease.term }));
leases.events.on('renewal', ({ error }) => {
  if (error !== undefined) tell('renewalFailed', told(error));
  for (const lease of leases.live) {
    // Good for so long from now on, if nothing more is heard of it.
    if (lease.remainingMs > 0)
      tell('good', { name, term: lease.term, untilMs: kernelMs() + lease.remainingMs });
  }
});

/** Writes once with the last lease, whatever that says. */
function writeAsZombie() {
  const own = reign;
  if (own === undefined) return;
  inTurn(async () => {
    // After a write whose outcome is not known the numbers are not, either.
    if (own.isKnown) await write(own, 'zombie', /** @type {string} */ (keys[0]));
  }).catch(() => {});
}

let seenAtMs = performance.now();
/** How long nothing of this process ran. */
function stoodStillMs() {
  const gapMs = performance.now() - seenAtMs;
  seenAtMs += gapMs;
  return gapMs;
}

setInterval(() => {
  const gapMs = stoodStillMs();
  if (gapMs < timing.ttlMs / 2) return;
  tell('woke', { stoodStillMs: Math.round(gapMs), state: reign?.lease.state });
  if (gapMs >= timing.ttlMs) writeAsZombie();
}, 20);

/**
 * Stands still until it has been stopped for a ttl and was woken, so that it is stopped for certain between two of its
 * statements: nothing that it began is under way then.
 */
process.on('SIGUSR2', () => {
  void inTurn(async () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    stoodStillMs();
    // It may be stopped as soon as this is told.
    tell('standing', { name, term: reign?.lease.term });
    do Atomics.wait(cell, 0, 0, 1);
    while (stoodStillMs() < timing.ttlMs);
    tell('woke', { isPlaced: true, state: reign?.lease.state });
    if (reign !== undefined) await write(reign, 'zombie', /** @type {string} */ (keys[0]));
  }).catch(() => {});
});

let isLeaving = false;
process.on('SIGTERM', async () => {
  if (isLeaving) return;
  isLeaving = true;
  stop.abort();
  await elections.close();
  await leases.close();
  await coordinator.close();
  await fence.close();
  await pool.end();
  tell('left');
  process.exit();
});

const stop = new AbortController();
tell('ready');
election.lead(work, { signal: stop.signal }).catch((error) => {
  // A store that turns the first campaign away ends it for good: whoever watches over this process starts it again.
  tell('leadFailed', told(error));
  process.exit(3);
});
