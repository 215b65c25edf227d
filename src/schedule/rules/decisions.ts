import type { FencingToken } from '../../fences/index.js';
import { judge } from '../../fences/rule.js';
import type { Adoption, ClaimResult, JobChange, WriteResult } from '../contract.js';
import type { JobDefinition, JobPause, JobRecord, RunRecord, RunRequest } from '../records.js';
import { type Change, pendingChange } from './changes.js';
import { aheadFact, setBack } from './clock-back.js';

/*
 * What every store decides while nobody else can write the row of the job: read, decide, write is one step there.
 */

export type ClaimDecision =
  | { readonly outcome: 'claimed'; readonly record: JobRecord }
  | Exclude<ClaimResult, { outcome: 'claimed' }>;

/** Whether a leader may take the row of a job, and how it stands then. */
export function decideClaim(
  stored: JobRecord | undefined,
  token: FencingToken,
  definition: JobDefinition,
  adoptFrom: Adoption | undefined,
  nowMs: number,
): ClaimDecision {
  const installed = {
    election: token.name,
    term: token.term,
    holderDigest: token.holder.digest,
    holderId: token.holder.id,
  };
  if (stored === undefined)
    return {
      outcome: 'claimed',
      record: { ...definition, ...installed, consideredToMs: nowMs },
    };
  if (stored.election === token.name) {
    if (judge(stored, installed) === 'refuse')
      return { outcome: 'refused', installedTerm: stored.term };
  } else if (stored.election !== adoptFrom?.election || stored.term !== adoptFrom.term) {
    return { outcome: 'elsewhere', election: stored.election, term: stored.term };
  }
  const { consideredToMs } = stored;
  const change = changeOf(stored, definition, nowMs);
  const ahead = aheadFact(stored.aheadToMs, consideredToMs);
  const record = { ...definition, ...installed, consideredToMs, ...change, ...ahead };
  return { outcome: 'claimed', record };
}

/** What is to be known of an earlier definition, as long as ticks of it may not be considered yet. */
function changeOf(stored: JobRecord, definition: JobDefinition, nowMs: number): Change | undefined {
  const pending = pendingChange(stored);
  const isSame = stored.cron === definition.cron && stored.timeZone === definition.timeZone;
  if (isSame || nowMs <= stored.consideredToMs) return pending;
  // Of a definition in between, nobody has begun anything.
  const { formerCron, formerTimeZone } = pending ?? {
    formerCron: stored.cron,
    formerTimeZone: stored.timeZone,
  };
  const isBack = formerCron === definition.cron && formerTimeZone === definition.timeZone;
  return isBack ? undefined : { formerCron, formerTimeZone, changedAtMs: nowMs };
}

export type WriteDecision =
  | { readonly outcome: 'written'; readonly record: JobRecord }
  | Exclude<WriteResult, { outcome: 'written' }>;

/** What stands there; `run` and `request` under the id of the run to begin. */
interface Written {
  readonly record: JobRecord;
  readonly pause: JobPause | undefined;
  readonly run: RunRecord | undefined;
  readonly request: RunRequest | undefined;
}

/** Whether a leader may write. */
export function decideWrite(
  standing: Written | undefined,
  token: FencingToken,
  { begin, consideredToMs, clockBack, doneRequests = [] }: JobChange,
): WriteDecision {
  const stored = standing?.record;
  if (stored === undefined || !isInstalled(stored, token))
    return { outcome: 'refused', installedTerm: stored?.term ?? 0 };
  const { run, request, pause } = standing as Written;
  if (begin !== undefined && run !== undefined) return { outcome: 'exists', run };
  // The run that stands for a withdrawal may be forgotten by now; that the request is gone is not.
  if (begin !== undefined && request === undefined && doneRequests.includes(begin.id))
    return { outcome: 'withdrawn' };
  if (begin?.kind === 'tick' && pause !== undefined) return { outcome: 'paused' };
  const { aheadToMs, ...rest } = clockBack === undefined ? stored : setBack(stored, clockBack);
  const to = Math.max(rest.consideredToMs, consideredToMs ?? Number.NEGATIVE_INFINITY);
  return {
    outcome: 'written',
    record: { ...rest, consideredToMs: to, ...aheadFact(aheadToMs, to) },
  };
}

/** A write installs nothing: whoever writes has claimed, and read what stood there then. */
function isInstalled(stored: JobRecord, { name, term, holder }: FencingToken): boolean {
  const installed = { term, holderDigest: holder.digest };
  return stored.election === name && judge(stored, installed) === 'pass';
}
