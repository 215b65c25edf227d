import type { LossEvidence } from '../elections/index.js';
import { sayMs } from '../errors/say.js';
import type { Cause } from './cause.js';
import { unledMs } from './facts.js';
import type { JudgedEnding } from './verdict.js';

/** What to change, with figures where they are known. No full stops. */
export function adviceFor(cause: Cause, endings: readonly JudgedEnding[]): string[] {
  const losses = endings.flatMap(({ loss }) => loss ?? []);
  return advisers[cause](losses, endings);
}

type Adviser = (losses: readonly LossEvidence[], endings: readonly JudgedEnding[]) => string[];

const advisers: Readonly<Record<Cause, Adviser>> = {
  'ttl-too-short': (losses) => [
    ...forTrips(losses),
    'measure it: tenure advise says which ttl loses how often',
  ],
  'loop-blocked': (losses) => [
    "divide the work, or move it to a worker thread; or renew from a thread: new Leases(store, { renewFrom: 'thread' })",
    ...forPauses(losses),
  ],
  'process-paused': (losses) => [
    'find out what stops it: a debugger, a snapshot or migration of the machine, swapping, a suspended laptop',
    ...forPauses(losses),
    'guard every write with a fence: a process that stood still believes for a moment that it leads',
  ],
  'cpu-starved': (losses) => [
    'give it more processor time: raise the CPU limit of its container, or move neighbours away',
    ...forPauses(losses),
  ],
  network: (losses, endings) => [
    'look at the way between this process and the store: lost packets, firewalls, connection limits; and at whether the store stood still',
    ...forOutages(losses, endings),
  ],
  'store-overloaded': (losses, endings) => [
    'find what keeps the store busy (Redis: SLOWLOG GET; PostgreSQL: pg_stat_activity), or give the leases a store of their own',
    ...forOutages(losses, endings),
  ],
  'store-restarted': (losses, endings) => [
    'keep its data over a restart (Redis: appendonly yes), and restart it when a pause is allowed',
    ...forOutages(losses, endings),
  ],
  'record-removed': () => [
    'let nothing evict, flush or delete it: Redis needs maxmemory-policy noeviction, and no FLUSHALL; look at who deletes keys',
  ],
  failover: (losses, endings) => [
    'a failover costs a term at least; find out why the server failed, and guard writes with a fence',
    ...forOutages(losses, endings),
  ],
  'store-denies': () => [
    'give its user the rights listed in node_modules/tenure/docs/protocol.md; tenure doctor says which are missing',
  ],
  'clock-stepped': () => [
    'let NTP slew the clock (chrony makestep only at the start), on the store above all',
  ],
  'terms-lost': () => [
    'the store lost its data or was restored: elections heal by acquiring above; look at backups and at who shares the resource',
  ],
  'process-died': () => [
    'is its process still there? On its host, ps -o pid,stat shows T for one that was stopped; kill -CONT PID lets it go on',
    'look at its exit status: 76 is tenure run that lost the name, while the store was away say, and ended before it could tell; with --restart it goes on, and tells',
    'else look what ended it: dmesg for the out-of-memory killer, the orchestrator; SIGTERM first gives the name back at once',
  ],
  'work-failed': () => [
    'if it threw: what it was says the log of its process, as a warning TENURE_WORK_FAILED where nobody listens to workFailed; of a command of tenure run its output',
    'if it only returned: it leads until it returns, so await in it what it has begun, or the abort of stopping',
    'it is led again after a pause that grows',
  ],
  'work-overdue': () => ['let the work end when lease.signal or stopping aborts, or raise drainMs'],
  'max-hold': () => ['nothing, if it is meant; else raise maxHoldMs'],
  operator: () => ['tenure history tells who did it, and why'],
  deploy: () => [
    'nothing, if these are deploys; hand off instead of stopping (election.handoff) to choose the successor, and restart the leader last',
  ],
  'duplicate-ids': () => [
    'give each process an id of its own: a fixed --id or TENURE_ID in a template is given to all replicas',
  ],
  'no-longer-kept': () => [
    'mend what is named above it, and look at what ends then (--since): of a name the last 30 entries of 30 days are kept',
  ],
  unknown: () => [
    'keep evidence in all processes (it is on by default), and look again after the next loss',
  ],
};

/** A request has a twelfth of the ttl by default; three times the slowest of a hundred should fit. */
const attemptShare = 12;
const roomFactor = 3;

function forTrips(losses: readonly LossEvidence[]): string[] {
  const slowMs = Math.max(0, ...losses.map(({ renewals }) => renewals.slowMs));
  return raiseTtl(losses, slowMs * roomFactor * attemptShare, `round trips of ${sayMs(slowMs)}`);
}

/** What begins just when a renewal is due has a third of the ttl; a tenth more for the renewal itself. */
function forPauses(losses: readonly LossEvidence[]): string[] {
  const pauseMs = Math.max(
    0,
    ...losses.map(({ machine }) =>
      Math.max(machine.longestStall.forMs, machine.all.waitedMs ?? 0, machine.suspendedMs),
    ),
  );
  return raiseTtl(losses, pauseMs * 3.3, `a pause of ${sayMs(pauseMs)}`);
}

/** From the last renewal to the next term: for so long at the most nothing came through. */
function forOutages(losses: readonly LossEvidence[], endings: readonly JudgedEnding[]): string[] {
  const longestMs = Math.max(
    0,
    ...endings.map((ending) => (ending.loss?.sinceRenewedMs ?? 0) + unledMs(ending)),
  );
  const what = `an outage of ${sayMs(longestMs)}, the longest from a renewal to the next term`;
  return raiseTtl(losses, longestMs * 3, what);
}

const longestAdvisedMs = 5 * 60_000;

/** Only where it would help, and where it does not cost more than it helps. */
function raiseTtl(losses: readonly LossEvidence[], neededMs: number, what: string): string[] {
  const ttlMs = Math.max(0, ...losses.map((loss) => loss.ttlMs));
  const niceMs = roundUp(neededMs);
  if (losses.length === 0 || niceMs <= ttlMs || niceMs > longestAdvisedMs) return [];
  return [
    `a ttl of ${sayMs(niceMs)} instead of ${sayMs(ttlMs)} outlasts ${what}; a crash is then taken over after up to ${sayMs(niceMs)}`,
  ];
}

const steps = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

/** To one of the figures that people write, upwards. */
export function roundUp(ms: number): number {
  if (ms <= 0) return 0;
  const unit = 10 ** Math.floor(Math.log10(ms));
  return Math.round((steps.find((step) => step * unit >= ms) ?? 10) * unit);
}
