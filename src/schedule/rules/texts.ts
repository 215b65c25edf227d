import { RecordCorruptError } from '../../errors/index.js';
import type { RunCancellation } from '../contract.js';
import type { JobPause, JobRecord, RunRecord, RunRequest } from '../records.js';

/*
 * How stores keep records: as JSON text. What is read back is checked, since anybody may have written it.
 */

type Kind = 'string' | 'number';
type Shape<Value> = { readonly [Key in keyof Required<Value>]: Kind | `${Kind}?` };

const jobShape: Shape<JobRecord> = {
  job: 'string',
  cron: 'string',
  timeZone: 'string',
  election: 'string',
  term: 'number',
  holderDigest: 'string',
  holderId: 'string',
  consideredToMs: 'number',
  changedAtMs: 'number?',
  formerCron: 'string?',
  formerTimeZone: 'string?',
};

const runShape: Shape<RunRecord> = {
  id: 'string',
  job: 'string',
  kind: 'string',
  tickMs: 'number',
  state: 'string',
  term: 'number',
  holderId: 'string',
  attempt: 'number',
  failureCount: 'number',
  interruptionCount: 'number',
  beganAtMs: 'number',
  endedAtMs: 'number?',
  retryAtMs: 'number?',
  progress: 'string?',
  detail: 'string?',
  by: 'string?',
  skippedBeforeMs: 'number?',
  skippedCount: 'number?',
};

const pauseShape: Shape<JobPause> = { by: 'string', reason: 'string', atMs: 'number' };

const requestShape: Shape<RunRequest> = {
  id: 'string',
  job: 'string',
  atMs: 'number',
  by: 'string',
  reason: 'string',
};

const cancellationShape: Shape<RunCancellation> = {
  runId: 'string',
  by: 'string',
  reason: 'string',
};

export const encode = (
  record: JobRecord | RunRecord | JobPause | RunRequest | RunCancellation,
): string => JSON.stringify(record);

/** All throw {@link RecordCorruptError}. */
export const decodeJob = (text: string) => decode<JobRecord>('job', jobShape, text);
export const decodeRun = (text: string) => decode<RunRecord>('run', runShape, text);
export const decodePause = (text: string) => decode<JobPause>('pause', pauseShape, text);
export const decodeRequest = (text: string) => decode<RunRequest>('request', requestShape, text);
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
  for (const [key, kind] of Object.entries<Kind | `${Kind}?`>(shape)) {
    const value = Object.hasOwn(parsed, key) ? Reflect.get(parsed, key) : undefined;
    if (value === undefined && kind.endsWith('?')) continue;
    const isRight = typeof value === kind.replace('?', '');
    if (!isRight || (typeof value === 'number' && !Number.isFinite(value))) throw corrupt(what);
    record[key] = value;
  }
  return record as Value;
}

function corrupt(what: string): RecordCorruptError {
  return new RecordCorruptError(
    `a stored ${what} of a schedule cannot be read: something else has written it. It was left as it is; remove it, or restore it.`,
  );
}
