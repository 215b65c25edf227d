import { isCredibleTerm } from '../../coordinators/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { RunCancellation } from '../contract.js';
import {
  isOpen,
  type JobPause,
  type JobRecord,
  type RunRecord,
  type RunRequest,
} from '../records.js';
import * as field from './fields.js';

/*
 * How stores keep records: as JSON text. What is read back is checked, since anybody may have written it: each field has
 * its range, and a record is of the job, and of the id, under which it stands.
 */

/** What a field may hold; `optional`: it may be left out. */
type Shape<Value> = { readonly [Key in keyof Required<Value>]: field.Field | Optional };
interface Optional {
  readonly optional: field.Field;
}

const optional = (one: field.Field): Optional => ({ optional: one });

const jobShape: Shape<JobRecord> = {
  job: field.jobName,
  cron: field.text,
  timeZone: field.text,
  election: field.electionName,
  term: field.term,
  holderDigest: field.digest,
  holderId: field.holderId,
  consideredToMs: field.time,
  changedAtMs: optional(field.time),
  formerCron: optional(field.text),
  formerTimeZone: optional(field.text),
  aheadToMs: optional(field.time),
};

const runShape: Shape<RunRecord> = {
  id: field.runId,
  job: field.jobName,
  kind: field.kind,
  tickMs: field.time,
  state: field.state,
  term: field.termOrNone,
  holderId: field.holderIdOrNone,
  attempt: field.count,
  failureCount: field.count,
  interruptionCount: field.count,
  beganAtMs: field.time,
  endedAtMs: optional(field.time),
  retryAtMs: optional(field.time),
  progress: optional(field.progress),
  detail: optional(field.detail),
  by: optional(field.by),
  skippedBeforeMs: optional(field.time),
  skippedCount: optional(field.count),
};

const pauseShape: Shape<JobPause> = { by: field.by, reason: field.reason, atMs: field.time };

const requestShape: Shape<RunRequest> = {
  id: field.runId,
  job: field.jobName,
  atMs: field.time,
  by: field.by,
  reason: field.reason,
};

const cancellationShape: Shape<RunCancellation> = {
  runId: field.runId,
  by: field.by,
  reason: field.reason,
};

export const encode = (
  record: JobRecord | RunRecord | JobPause | RunRequest | RunCancellation,
): string => JSON.stringify(record);

/*
 * All throw {@link RecordCorruptError}.
 */

/** @param job under whose name it stands. @param nowMs the store's clock: no store can have granted any term by now. */
export function decodeJob(text: string, job: string, nowMs: number): JobRecord {
  const record = decode<JobRecord>('job', jobShape, text);
  if (record.job !== job || !isCredibleTerm(record.term, { wallMs: nowMs })) throw corrupt('job');
  return record;
}

/** @param id under which it stands, where it does. */
export function decodeRun(text: string, job: string, id?: string): RunRecord {
  const run = decode<RunRecord>('run', runShape, text);
  if (run.job !== job || (id !== undefined && run.id !== id)) throw corrupt('run');
  return run;
}

/** One of those that have not ended: what has ended is not gone on with, wherever it stands. */
export function decodeOpenRun(text: string, job: string, id?: string): RunRecord {
  const run = decodeRun(text, job, id);
  if (!isOpen(run)) throw corrupt('run');
  return run;
}

export const decodePause = (text: string) => decode<JobPause>('pause', pauseShape, text);

export function decodeRequest(text: string, job: string, id?: string): RunRequest {
  const request = decode<RunRequest>('request', requestShape, text);
  if (request.job !== job || (id !== undefined && request.id !== id)) throw corrupt('request');
  return request;
}

export const decodeCancellation = (text: string) =>
  decode<RunCancellation>('cancellation', cancellationShape, text);

function decode<Value>(what: string, shape: Shape<Value>, text: string): Value {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw corrupt(what);
  }
  if (typeof parsed !== 'object' || parsed === null) throw corrupt(what);
  const record: Record<string, unknown> = {};
  for (const [key, rule] of Object.entries<field.Field | Optional>(shape)) {
    const value = Object.hasOwn(parsed, key) ? Reflect.get(parsed, key) : undefined;
    if (value === undefined && typeof rule === 'object') continue;
    const isRight = typeof rule === 'object' ? rule.optional : rule;
    if (!isRight(value)) throw corrupt(what, key);
    record[key] = value;
  }
  return record as Value;
}

function corrupt(what: string, key?: string): RecordCorruptError {
  const where = key === undefined ? '' : ` (its "${key}" is out of range)`;
  return new RecordCorruptError(
    `a stored ${what} of a schedule cannot be read${where}: something else has written it. It was left as it is; remove it, or restore it.`,
  );
}
