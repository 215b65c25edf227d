import type { RunContext } from '../../schedule/index.js';
import { childEnvironment, type Environment } from '../supervise/environment.js';
import type { JobEntry } from './job-entry.js';

/**
 * What the command of a job sees: our environment without any setting of tenure, what the file adds, and what it is told
 * about its term (as a command of `tenure run` is) and its run.
 */
export function runEnvironment(
  own: Environment,
  { env }: JobEntry,
  { lease, run, tick, attempt }: RunContext,
): Environment {
  const { name, term, holder, timing } = lease;
  const { id: holderId, digest: holderDigest } = holder;
  const facts = { name, term, holderId, holderDigest, ttlMs: timing.ttlMs };
  return {
    ...childEnvironment({ ...own, ...env }, facts),
    TENURE_JOB: run.job,
    TENURE_RUN_ID: run.id,
    TENURE_RUN_KIND: run.kind,
    TENURE_TICK: tick.toISOString(),
    TENURE_ATTEMPT: String(attempt),
  };
}
