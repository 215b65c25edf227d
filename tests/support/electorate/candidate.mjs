/**
 * A candidate as a process of its own: started by `candidate.ts` with its settings in the environment, commanded over IPC.
 * It tells every event, and writes to the parent's resource while it leads.
 */
import { Elections, Leases } from 'tenure';
import { sqliteCoordinator } from 'tenure/sqlite';
import { connect } from './connect.mjs';
import { dyingLibrary } from './dying-library.mjs';
import { nameOf, obey, report, tell, write, writing } from './parent.mjs';

const {
  url,
  namespace,
  id,
  name,
  leases: timing,
  election: options,
  dies,
  connectTimeoutMs,
} = /** @type {import('./candidate.js').CandidateSettings} */ (
  JSON.parse(process.env.CANDIDATE ?? '{}')
);

const coordinator =
  dies === undefined
    ? await connect(url, { namespace, connectTimeoutMs })
    : sqliteCoordinator(url, { namespace, library: await dyingLibrary(dies) });
const leases = new Leases(coordinator, { id, ...timing });
const elections = new Elections(leases);
const election = elections.election(name, { metadata: { id }, ...options });
const stop = new AbortController();
const cell = new Int32Array(new SharedArrayBuffer(4));
/** @type {import('tenure').Lease | undefined} the last it had */
let last;

report(election);
leases.events.on('uncertain', ({ lease, cause }) => tell('uncertain', { term: lease.term, cause }));
leases.events.on('recovered', ({ lease }) => tell('recovered', { term: lease.term }));
leases.events.on('renewal', ({ error }) => {
  if (error !== undefined) tell('renewalFailed', { error: nameOf(error) });
});

function lastLease() {
  if (last === undefined) throw new Error(`${id} has never led`);
  return last;
}

/**
 * Nothing of this process runs any more until that is over: no timer, no reply. What the lease says then is read before
 * anything else is done, and a write is sent whatever it says.
 *
 * @param {() => boolean} isOver
 */
async function standStill(isOver) {
  const lease = lastLease();
  tell('standing');
  while (!isOver()) Atomics.wait(cell, 0, 0, 1);
  const { state } = lease;
  const written = write(lease);
  const { endReason, term } = lease;
  return { state, endReason, term, wasAccepted: await written };
}

const work = writing(20, (lease) => {
  last = lease;
});

obey({
  /** Until `leave`. */
  lead() {
    election.lead(work, { signal: stop.signal }).then(
      () => tell('left'),
      (error) => tell('leadFailed', { error: nameOf(error) }),
    );
  },
  async campaign({ waitMs }) {
    last = (await election.campaign({ waitMs })) ?? last;
    return last?.term;
  },
  state() {
    const { state, term, endReason, remainingMs } = lastLease();
    return { state, term, endReason, remainingMs };
  },
  /** Whatever the lease says. */
  write: () => write(lastLease()),
  block({ forMs }) {
    const startedMs = performance.now();
    return standStill(() => performance.now() - startedMs >= forMs);
  },
  /** Stands still until it was stopped for so long, and woken. */
  doze({ stoppedForMs }) {
    let seenMs = performance.now();
    return standStill(() => {
      const nowMs = performance.now();
      // The other side measures by timers of its own.
      const wasStopped = nowMs - seenMs >= stoppedForMs * 0.9;
      seenMs = nowMs;
      return wasStopped;
    });
  },
  resign: () => election.resign(),
  handoff: ({ to }) => election.handoff(to),
  async leave() {
    stop.abort();
    await elections.close();
    await leases.close();
    await coordinator.close();
    // After the answer to this.
    setImmediate(() => process.disconnect());
  },
});
tell('ready');
