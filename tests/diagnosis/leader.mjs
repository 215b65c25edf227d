/**
 * A process that leads: started by `leader-process.ts` with its settings in the environment, commanded over IPC. It tells
 * the events of its election.
 */
import { Elections, Leases } from 'tenure';
import { redisCoordinator, redisFence } from 'tenure/redis';

const {
  url,
  namespace,
  id,
  name,
  ttlMs,
  connectTimeoutMs = 500,
} = /** @type {import('./leader-process.js').LeaderSettings} */ (
  JSON.parse(process.env.LEADER ?? '{}')
);

const coordinator = await redisCoordinator(url, { namespace, connectTimeoutMs });
const leases = new Leases(coordinator, { id, ttlMs });
const elections = new Elections(leases);
const election = elections.election(name, { firstPauseMs: 50, longestPauseMs: 100 });
const stop = new AbortController();

/** @param {string} event @param {object} [more] */
const tell = (event, more) => process.send?.({ event, ...more });

election.events.on('elected', ({ lease }) => tell('elected', { term: lease.term }));
election.events.on('lost', ({ lease, reason }) => tell('lost', { term: lease.term, reason }));
election.events.on('resigned', ({ lease }) => tell('resigned', { term: lease.term }));
election.events.on('duplicate', () => tell('duplicate'));
leases.events.on('uncertain', ({ cause }) => tell('uncertain', { cause }));
leases.events.on('renewal', ({ error, roundTripMs }) =>
  tell(error === undefined ? 'renewed' : 'renewalFailed', { roundTripMs }),
);

const fence = redisFence(url, { namespace });
/** @type {import('tenure').Lease | undefined} The last that was led, also when it is over. */
let led;

/** Asks nobody whether it still leads. */
async function write() {
  if (led === undefined) return;
  await fence
    .transaction(led, async (batch) => batch.command('INCR', `${namespace}:written`))
    .then(
      () => tell('written', { term: led?.term }),
      (error) => tell('refused', { reason: error.code }),
    );
}

/** @param {import('tenure').Lease} lease @param {import('tenure').LeadContext} context */
async function work(lease, { stopping }) {
  led = lease;
  await new Promise((resolve) => stopping.addEventListener('abort', resolve, { once: true }));
}

/** In small pieces, between which everything else has its turn. */
function compute() {
  const startedMs = process.cpuUsage().user / 1000;
  while (process.cpuUsage().user / 1000 - startedMs < 5);
  setImmediate(compute);
}

process.on(
  'message',
  async (/** @type {{ order: string, forMs?: number }} */ { order, forMs = 0 }) => {
    if (order === 'block') {
      const startedMs = performance.now();
      const used = process.cpuUsage();
      const computed = () => {
        const { user, system } = process.cpuUsage(used);
        return (user + system) / 1000;
      };
      const passed = () => performance.now() - startedMs;
      // On a busy machine until it has really computed for a part of that time: else it is rightly said to be starved.
      while (passed() < forMs || computed() < passed() * 0.15);
    }
    if (order === 'compute') compute();
    if (order === 'write') await write();
    if (order === 'leave') {
      stop.abort();
      await elections.close();
      await leases.close();
      await coordinator.close();
      await fence.close();
      process.disconnect();
    }
  },
);
election
  .lead(work, { signal: stop.signal })
  .catch((error) => tell('failed', { error: `${error}` }));
tell('ready');
