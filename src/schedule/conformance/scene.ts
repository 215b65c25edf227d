import assert from 'node:assert/strict';
import { Holder } from '../../coordinators/index.js';
import type { FencingToken } from '../../fences/index.js';
import type { Adoption, ClaimResult, JobChange, JobStore, JobView } from '../contract.js';
import { type JobDefinition, type RunRecord, tickRunId } from '../records.js';

export const call = { timeoutMs: 5_000 };
export const act = { by: 'operator', reason: 'a test' };
export const definition: JobDefinition = { job: 'settle', cron: '*/5 * * * *', timeZone: 'UTC' };
export const { job } = definition;

let holderCount = 0;

/** A leader's token: every call makes another holder. */
export function tokenOf(term: number, name = 'schedule'): FencingToken {
  holderCount += 1;
  const nonce = holderCount.toString(16).padStart(32, '0');
  return { name, term, holder: new Holder(`holder-${holderCount}`, nonce) };
}

export async function claim(
  store: JobStore,
  token: FencingToken,
  options: { readonly definition?: JobDefinition; readonly adoptFrom?: Adoption } = {},
): Promise<ClaimResult> {
  const definitions = [options.definition ?? definition];
  const [result] = await store.claim(token, definitions, options.adoptFrom, call);
  assert.ok(result, 'a claim answers for each job');
  return result;
}

/** @returns what stands there after a claim that has to succeed. */
export async function claimed(
  store: JobStore,
  token: FencingToken,
  options?: Parameters<typeof claim>[2],
): Promise<JobView> {
  const result = await claim(store, token, options);
  assert.equal(result.outcome, 'claimed');
  return (result as Extract<ClaimResult, { outcome: 'claimed' }>).view;
}

export async function viewOf(store: JobStore, name = job): Promise<JobView> {
  const { jobs } = await store.look([name], call);
  assert.equal(jobs.length, 1, `the job ${name} is there`);
  return jobs[0] as JobView;
}

/** A run that begins now, for the tick at this minute of some hour. */
export function runAt(
  token: FencingToken,
  minute: number,
  fields: Partial<RunRecord> = {},
): RunRecord {
  const tickMs = Date.UTC(2026, 0, 1, 12, minute);
  return {
    id: tickRunId(job, tickMs),
    ...{ job, kind: 'tick', tickMs, state: 'running' },
    ...{ term: token.term, holderId: token.holder.id },
    ...{ attempt: 1, failureCount: 0, interruptionCount: 0, beganAtMs: tickMs + 5 },
    ...fields,
  };
}

/** The same run when it has ended. */
export function ended(run: RunRecord, fields: Partial<RunRecord> = {}): RunRecord {
  return { ...run, state: 'succeeded', endedAtMs: run.beganAtMs + 100, ...fields };
}

export async function write(
  store: JobStore,
  token: FencingToken,
  change: Omit<JobChange, 'job'>,
): Promise<string> {
  const { outcome } = await store.write(token, { job, ...change }, call);
  return outcome;
}

export function idsOf(runs: readonly RunRecord[]): string[] {
  return runs.map(({ id }) => id);
}
