import { RecordCorruptError } from '../../errors/index.js';
import type { JobView } from '../contract.js';
import type { RunRecord } from '../records.js';
import { isOpen } from '../records.js';
import type { JobUpdate, Standing } from '../rules/steps.js';
import {
  decodeCancellation,
  decodeJob,
  decodeOpenRun,
  decodePause,
  decodeRequest,
  decodeRun,
  encode,
} from '../rules/texts.js';
import { byTick } from '../rules/views.js';
import type { JobKeys } from './keys.js';

/** What was read of a job at one moment. */
export interface StoredJob {
  /** Empty: there is no such job. */
  readonly revision: string;
  readonly view: JobView | undefined;
  /** The run that was asked for beside it, whether it has ended or not. */
  readonly run: RunRecord | undefined;
  /** The requests as they stand there, by their ids. */
  readonly requestTexts: ReadonlyMap<string, string>;
  readonly nowMs: number;
}

/** As a step sees it. */
export function standingOf(
  { view, run, nowMs }: StoredJob,
  id: string | undefined,
): Standing | undefined {
  if (view === undefined) return undefined;
  const { record, pause, requests, cancellations, open } = view;
  const request = requests.find((one) => one.id === id);
  const cancellation = cancellations.find(({ runId }) => runId === id);
  return { record, pause, run, request, cancellation, open, nowMs };
}

/** @throws {RecordCorruptError} */
export function storedJob(keys: JobKeys, reply: unknown, nowMs: number): StoredJob {
  if (!Array.isArray(reply)) throw corrupt(keys);
  const [standing, run] = reply as [unknown, unknown];
  const requestTexts = new Map<string, string>();
  const view = viewOf(keys, standing, nowMs, requestTexts);
  return {
    revision: view === undefined ? '' : String((standing as unknown[])[0]),
    ...{ view, requestTexts, nowMs },
    run: typeof run === 'string' ? decodeRun(run, keys.job) : undefined,
  };
}

/** @throws {RecordCorruptError} */
export function viewOf(
  keys: JobKeys,
  reply: unknown,
  nowMs: number,
  requestTexts = new Map<string, string>(),
): JobView | undefined {
  if (!Array.isArray(reply)) throw corrupt(keys);
  if (reply.length === 0) return undefined;
  const [, record, pause, openRuns, openIds, latestEnded, requests, cancellations] = reply;
  const { job } = keys;
  const idsOfOpen = texts(keys, openIds);
  const open = texts(keys, openRuns)
    .map((text, index) => decodeOpenRun(text, job, idsOfOpen[index]))
    .sort(byTick);
  const ids = open.map(({ id }) => id);
  const ended = latestEnded === null ? [] : [decodeRun(textOf(keys, latestEnded), job)];
  return {
    record: decodeJob(textOf(keys, record), job, nowMs),
    pause: pause === null ? undefined : decodePause(textOf(keys, pause)),
    open,
    latest: [...open, ...ended].sort(byTick).at(-1),
    requests: texts(keys, requests).map((text) => {
      const request = decodeRequest(text, job);
      requestTexts.set(request.id, text);
      return request;
    }),
    cancellations: texts(keys, cancellations)
      .map(decodeCancellation)
      .filter(({ runId }) => ids.includes(runId))
      .sort((one, other) => ids.indexOf(one.runId) - ids.indexOf(other.runId)),
  };
}

/** The revision of what was found, whatever else it is; `*` if it has none. */
export function revisionOf(reply: unknown): string {
  const [standing] = Array.isArray(reply) ? reply : [];
  const [revision] = Array.isArray(standing) ? standing : [];
  return typeof revision === 'string' ? revision : '*';
}

/** The latest tick first. @throws {RecordCorruptError} */
export function runsOf(keys: JobKeys, reply: unknown): RunRecord[] {
  return texts(keys, reply)
    .map((text) => decodeRun(text, keys.job))
    .sort(byTick)
    .reverse();
}

/** As the script takes it. */
export function argumentsOf(
  { revision, requestTexts, view }: StoredJob,
  update: JobUpdate,
): (string | number)[] {
  const { runs = [], keepRuns, request, doneRequests = [], cancellation } = update;
  const record = update.record ?? view?.record;
  if (record === undefined) throw new Error('only a claim writes of a job that is not there');
  const pause = update.pause === undefined ? view?.pause : (update.pause ?? undefined);
  return [
    ...[revision, record.job, encode(record), pause === undefined ? '' : encode(pause)],
    keepRuns ?? '',
    request === undefined ? '' : encode(request),
    ...(cancellation === undefined ? ['', ''] : [cancellation.runId, encode(cancellation)]),
    runs.length,
    ...runs.flatMap((run) => [run.id, run.tickMs, isOpen(run) ? '1' : '0', encode(run)]),
    ...doneRequests.flatMap((id) => requestTexts.get(id) ?? []),
  ];
}

function texts(keys: JobKeys, reply: unknown): string[] {
  if (!Array.isArray(reply)) throw corrupt(keys);
  return reply.map((text) => textOf(keys, text));
}

function textOf(keys: JobKeys, text: unknown): string {
  if (typeof text === 'string') return text;
  throw corrupt(keys);
}

function corrupt({ row }: JobKeys): RecordCorruptError {
  return new RecordCorruptError(
    `what stands under "${row}", or beside it, is not what a schedule has written. It was left as it is; remove it, or restore it.`,
  );
}
