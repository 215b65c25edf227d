/**
 * A process that holds a lease which a thread renews: started by worker.test.ts, with what it is to do in its environment.
 * It says in lines what its first statements see. Its event loop stands still while it blocks.
 */
import { existsSync } from 'node:fs';
import { Leases } from 'tenure';
import { redisCoordinator } from 'tenure/redis';
import { sqliteCoordinator } from 'tenure/sqlite';

const {
  STORE = '',
  NAMESPACE: namespace = '',
  OPTIONS = '{}',
  ACT = '',
  WAKE_FILE = '',
} = process.env;

const coordinator = STORE.startsWith('sqlite:')
  ? sqliteCoordinator(STORE, { namespace })
  : redisCoordinator(STORE, { namespace });
const recipe = { ...coordinator.recipe, ...JSON.parse(process.env.RECIPE ?? '{}') };
const leases = new Leases(Object.defineProperty(coordinator, 'recipe', { value: recipe }), {
  id: 'holder',
  renewFrom: 'thread',
  ...JSON.parse(OPTIONS),
});
const { ttlMs } = leases.timing;
leases.events.on('uncertain', ({ cause }) => console.log(`uncertain ${cause}`));
leases.events.on('lost', ({ reason }) => console.log(`lost ${reason}`));
leases.events.on('renewal', ({ error }) => {
  if (error !== undefined) console.log(`renewal failed: ${error}`);
});

/** @param {() => boolean} isOver */
function blockUntil(isOver) {
  while (!isOver());
}

/** @type {import('tenure').Lease | undefined} */
let lease;
try {
  lease = await leases.acquire('payments', { waitMs: 10_000 });
} catch (error) {
  console.log(`refused: ${error}`);
}

if (lease !== undefined) {
  console.log(`acquired in term ${lease.term}`);
  const acquiredMs = performance.now();
  if (ACT === 'block two ttls') blockUntil(() => performance.now() > acquiredMs + 2 * ttlMs);
  if (ACT === 'block until woken') blockUntil(() => existsSync(WAKE_FILE));
  if (ACT === 'block for ever') blockUntil(() => false);
  if (ACT.startsWith('block'))
    console.log(`woke: ${lease.state} ${lease.endReason} in term ${lease.term}`);
  if (ACT === 'change metadata') lease.metadata = '{"changed":true}';
  if (ACT === 'stay' || ACT === 'change metadata') await once(lease.signal);
}

if (ACT === 'leave without closing') {
  await lease?.release();
} else {
  await leases.close();
}
await coordinator.close();
/** @type {{ workers?: unknown[] }} */
const report = process.report.getReport();
console.log(`left with ${report.workers?.length} threads`);

/** @param {AbortSignal} signal */
function once(signal) {
  return new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
