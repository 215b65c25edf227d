/**
 * A process in which two replicas live on one store: started by `run.ts` with its settings in the environment. Each line that
 * it prints is one sample.
 */
import { setMaxListeners } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { elect, fillHistories, handleMessages, lease, replicaOn } from './activities.mjs';
import { Gate } from './gate.mjs';
import { startLeak } from './leaks.mjs';
import { Tally } from './tally.mjs';
import { usageNow } from './usage.mjs';
import { openPlace } from './worker-store.mjs';

/** @type {import('./run.js').WorkerSettings} */
const settings = JSON.parse(process.env.SOAK ?? '{}');
const { sampleEveryMs, rememberMs, leak } = settings;

const stop = new AbortController();
const { signal } = stop;
// Everything that is repeated listens to it.
setMaxListeners(100, signal);
const gate = new Gate();
const tally = new Tally();
const place = await openPlace(settings);
const replicas = /** @type {const} */ ([
  replicaOn('replica-1', await place.side()),
  replicaOn('replica-2', await place.side()),
]);
for (const { leases } of replicas) leases.events.on('lost', () => tally.count('lost'));

const context = { place, gate, signal, tally };
await fillHistories(context, replicas[0]);
const work = [
  lease(context, replicas),
  elect(context, replicas),
  handleMessages(context, replicas),
];
if (leak !== undefined) startLeak(leak, replicas[0], signal);

process.on('SIGTERM', () => stop.abort());

/** @param {unknown} line */
const tell = (line) => writeFileSync(process.stdout.fd, `${JSON.stringify(line)}\n`);

const startedMs = performance.now();
for (let nextInMs = rememberMs; ; nextInMs = sampleEveryMs) {
  await sleep(nextInMs, undefined, { signal }).catch(() => {});
  if (signal.aborted) break;
  await gate.close();
  // What was published is handled, and what was released is told.
  await sleep(300);
  const usage = await usageNow();
  const atMs = performance.now() - startedMs;
  const { counts, troubles, disorders } = tally;
  tell({ atMs, usage, counts, troubles, disorders });
  gate.open();
}

await Promise.all(work);
for (const { leases, elections } of replicas) {
  await elections.close();
  await leases.close();
}
await place.fence.close();
for (const { side } of replicas) {
  await side.streams.close();
  await side.coordinator.close();
}
