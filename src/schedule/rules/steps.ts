import type { Act } from '../../coordinators/index.js';
import { requireObject } from '../../errors/checks.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { FencingToken } from '../../fences/index.js';
import type {
  Adoption,
  Cancelling,
  CancelResult,
  ForgetResult,
  JobChange,
  RunCancellation,
  WriteResult,
} from '../contract.js';
import { validateJobName } from '../job-name.js';
import {
  isOpen,
  type JobPause,
  type JobRecord,
  type RunRecord,
  type RunRequest,
} from '../records.js';
import { checkedAct, checkRequest, checkRunId } from '../requests.js';
import { decideWrite } from './decisions.js';

/*
 * What a store writes about one job, apart from a claim: each of its operations is a step that looks at what stands there,
 * decides, and says what is to be written. A store executes it while nobody else can write that job.
 */

/** What stands of a job that is there. */
export interface Standing {
  readonly record: JobRecord;
  readonly pause: JobPause | undefined;
  readonly nowMs: number;
  /** Of the id that the step asks about. */
  readonly run: RunRecord | undefined;
  readonly request: RunRequest | undefined;
  readonly cancellation: RunCancellation | undefined;
  /** Those that are open, by tick, if the step asks about them. */
  readonly open: readonly RunRecord[];
}

/** What a step leaves there; what it does not mention stays. */
export interface JobUpdate {
  readonly record?: JobRecord;
  /** `null`: it ends. */
  readonly pause?: JobPause | null;
  /** An end takes what was wanted of the run with it. */
  readonly runs?: readonly RunRecord[];
  readonly keepRuns?: number | undefined;
  readonly request?: RunRequest;
  /** Ids. */
  readonly doneRequests?: readonly string[];
  readonly cancellation?: RunCancellation;
  /** Nothing is left of the job. */
  readonly forgets?: true;
}

export interface Decision<Answer> {
  readonly answer: Answer;
  /** Nothing is written if there is none. */
  readonly update?: JobUpdate;
}

export interface Step<Answer> {
  readonly job: string;
  /** The run, request and cancellation of this id are looked at, too. */
  readonly id?: string | undefined;
  /** So are the open runs. */
  readonly asksOpen?: true;
  /** @param standing `undefined`: there is no such job. */
  readonly decide: (standing: Standing | undefined) => Decision<Answer>;
  /** What stands there cannot be read. Left out: that is thrown. */
  readonly decideUnread?: () => Decision<Answer>;
}

/** All throw {@link OptionError} for bad input. */
export function writing(token: FencingToken, change: JobChange): Step<WriteResult> {
  const { begin, runs = [], doneRequests = [], keepRuns } = change;
  return {
    ...{ job: validateJobName(change.job), id: begin?.id },
    decide: (standing) => {
      const decision = decideWrite(standing, token, change);
      if (decision.outcome !== 'written') return { answer: decision };
      const all = begin === undefined ? runs : [...runs, begin];
      const update = { record: decision.record, runs: all, doneRequests, keepRuns };
      return { answer: { outcome: 'written' }, update };
    },
  };
}

export function requesting(asked: Omit<RunRequest, 'atMs'>): Step<RunRequest | undefined> {
  const checked = checkRequest(asked);
  return {
    ...{ job: checked.job, id: checked.id },
    decide: (standing) => {
      if (standing === undefined) return { answer: undefined };
      const { request: known, run, nowMs } = standing;
      const request = known ?? { ...checked, atMs: nowMs };
      // What has become a run, or was withdrawn, is not asked for again by an answer that was lost.
      const isNew = known === undefined && run === undefined;
      return { answer: request, ...(isNew && { update: { request } }) };
    },
  };
}

export function pausing(job: string, act: Act): Step<JobPause | undefined> {
  validateJobName(job);
  const checked = checkedAct(act);
  return {
    job,
    decide: (standing) => {
      if (standing === undefined || standing.pause !== undefined)
        return { answer: standing?.pause };
      const pause = { ...checked, atMs: standing.nowMs };
      return { answer: pause, update: { pause } };
    },
  };
}

export function resuming(job: string): Step<boolean> {
  return {
    job: validateJobName(job),
    decide: (standing) =>
      standing?.pause === undefined ? { answer: false } : { answer: true, update: { pause: null } },
  };
}

export function cancelling(job: string, runId: string, act: Cancelling): Step<CancelResult> {
  validateJobName(job);
  const id = checkRunId(runId);
  const { over, ...said } = requireObject('act', act, 'pass { by, reason }');
  const checked = checkedAct(said);
  return {
    ...{ job, id },
    decide: (standing) => {
      if (standing?.run !== undefined) return cancellingRun(standing.run, standing, checked, over);
      if (standing?.request === undefined) return { answer: 'none' };
      const run = withdrawn(standing.request, checked, standing.nowMs);
      return { answer: 'withdrawn', update: { runs: [run], doneRequests: [id] } };
    },
  };
}

/** The first who wants it cancelled is kept. */
function cancellingRun(
  run: RunRecord,
  { cancellation, record, nowMs }: Standing,
  act: Act,
  over: Adoption | undefined,
): Decision<CancelResult> {
  if (run.state === 'withdrawn') return { answer: 'withdrawn' };
  if (run.state === 'cancelled' && over !== undefined) return { answer: 'ended' };
  if (!isOpen(run)) return { answer: 'none' };
  if (over?.election === record.election && over.term === record.term)
    return { answer: 'ended', update: endedByHand(run, record, act, nowMs) };
  const update = { cancellation: { runId: run.id, ...act } };
  return { answer: 'marked', ...(cancellation === undefined && { update }) };
}

/** Of a digest's form, and nobody's: at a fence an equal term passes from its own holder alone. */
const nobodysDigest = '0'.repeat(32);

function endedByHand(
  { retryAtMs: _, ...run }: RunRecord,
  record: JobRecord,
  { by, reason }: Act,
  nowMs: number,
): JobUpdate {
  return {
    record: { ...record, holderDigest: nobodysDigest },
    runs: [{ ...run, state: 'cancelled', endedAtMs: nowMs, by, detail: reason }],
  };
}

/** No leader has written it: it stands under no term. */
function withdrawn({ id, job, atMs }: RunRequest, { by, reason }: Act, nowMs: number): RunRecord {
  return {
    ...{ id, job, kind: 'manual', tickMs: atMs, state: 'withdrawn', term: 0, holderId: '' },
    ...{ attempt: 0, failureCount: 0, interruptionCount: 0, beganAtMs: nowMs, endedAtMs: nowMs },
    ...{ by, detail: reason },
  };
}

export function forgetting(job: string, seen: Adoption | undefined): Step<ForgetResult> {
  const forgotten = { answer: { outcome: 'forgotten' }, update: { forgets: true } } as const;
  return {
    ...{ job: validateJobName(job), asksOpen: true },
    decide: (standing) => {
      if (standing === undefined) return { answer: { outcome: 'unknown' } };
      const { election, term } = standing.record;
      if (seen?.election !== election || seen.term !== term)
        return { answer: { outcome: 'changed', election, term } };
      const [run] = standing.open;
      return run === undefined ? forgotten : { answer: { outcome: 'open', run } };
    },
    ...(seen === undefined && { decideUnread: () => forgotten }),
  };
}

/** What a step decides on what is read there. @throws {RecordCorruptError} if it cannot be read, and has to be. */
export function decided<Answer>(
  { decide, decideUnread }: Step<Answer>,
  read: () => Standing | undefined,
): Decision<Answer> {
  let standing: Standing | undefined;
  try {
    standing = read();
  } catch (error) {
    if (decideUnread === undefined || !(error instanceof RecordCorruptError)) throw error;
    return decideUnread();
  }
  return decide(standing);
}
