import type { CallOptions, Coordinator } from '../coordinators/index.js';
import { checkTimeout, validateName } from '../coordinators/index.js';
import { type RefusalEvidence, readEvidence } from '../elections/index.js';
import { requireKnown, requireMethods } from '../errors/checks.js';
import { OptionError } from '../errors/index.js';
import type { Runtime } from '../time/index.js';
import { requireRuntime } from '../time/require-runtime.js';
import { type Cause, isPlanned } from './cause.js';
import { type Comparison, compare, type Period } from './comparison.js';
import { type Facts, factsOf, refusedCountOf, type Source } from './facts.js';
import { type Finding, findingsOf, judgeEndings } from './findings.js';
import { type TimelinePart, timelineOf } from './timeline.js';
import type { JudgedEnding } from './verdict.js';

export interface DiagnoseOptions {
  /** Where the elections are kept. Used, not owned. */
  readonly coordinator: Coordinator;
  /** The name of the election. */
  readonly name: string;
  /** Unix time from which on things are judged. Default: all that is kept, the last 100 lines of 30 days at most. */
  readonly sinceMs?: number;
  /** Compares with so many milliseconds before `sinceMs`. Default: with nothing. Needs `sinceMs`. */
  readonly beforeMs?: number;
  /** One request to the store may take this long, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
  /** Default: the real one. Its wall clock says what time it is now. */
  readonly runtime?: Runtime;
}

const knownOptions = {
  coordinator: true,
  name: true,
  sinceMs: true,
  beforeMs: true,
  timeoutMs: true,
  runtime: true,
} as const;

/** Why the terms of an election end. Times are Unix times by the store's clock; durations are milliseconds. */
export interface Diagnosis {
  readonly name: string;
  readonly period: Period;
  /** Who leads now; `undefined` if nobody does. */
  readonly leaderId: string | undefined;
  /** The cause that explains most first. Empty: nothing ended in that time. */
  readonly findings: readonly Finding[];
  /** What fences refused, of which term and at which kind of resource; the newest first. */
  readonly refusals: readonly RefusalEvidence[];
  readonly timeline: readonly TimelinePart[];
  readonly comparison: Comparison | undefined;
  /** Lost terms of which their holder told what it saw, and all lost terms. */
  readonly witnessedCount: number;
}

/**
 * Why the terms of an election end: from its history, and from what its leaders saw when they lost it.
 *
 * It reads, and changes nothing. What it says is a judgement of what was kept: 100 lines of history, and 30 losses.
 *
 * @throws {OptionError} for a bad option. {@link RecordCorruptError} if something foreign stands in the place of the
 * evidence. The errors of the store.
 */
export async function diagnose(options: DiagnoseOptions): Promise<Diagnosis> {
  requireKnown('options', options, knownOptions, 'pass { coordinator, name }');
  const { coordinator, name, sinceMs, beforeMs } = options;
  requireMethods(
    'coordinator',
    coordinator,
    ['history', 'readDocument', 'read'],
    'is not a coordinator',
    'pass what memoryCoordinator() or redisCoordinator(url) returns',
  );
  validateName(name);
  requireTime('sinceMs', sinceMs);
  requireTime('beforeMs', beforeMs);
  if (beforeMs !== undefined && sinceMs === undefined)
    throw new OptionError('beforeMs', beforeMs, 'needs sinceMs', 'say when the change was made');
  const call = { timeoutMs: checkTimeout({ timeoutMs: options.timeoutMs ?? 5_000 }) };
  const nowMs = requireRuntime(options.runtime).now().wallMs;
  const { source, leaderId } = await sourceOf(coordinator, name, call);
  return judge({ source, leaderId, sinceMs, beforeMs, nowMs });
}

async function sourceOf(coordinator: Coordinator, name: string, call: CallOptions) {
  const [history, evidence, [record]] = await Promise.all([
    coordinator.history(name, call),
    readEvidence(coordinator, name, call),
    coordinator.read([name], call),
  ]);
  const leaderId = record?.state === 'held' ? record.holder.id : undefined;
  return { source: { name, history, evidence }, leaderId };
}

interface Case {
  readonly source: Source;
  readonly leaderId: string | undefined;
  readonly sinceMs: number | undefined;
  readonly beforeMs: number | undefined;
  readonly nowMs: number;
}

/**
 * The judgement alone. Pure.
 *
 * @throws {OptionError} if `sinceMs` is after everything that is known, and after now.
 */
export function judge({ source: told, leaderId, sinceMs, beforeMs, nowMs }: Case): Diagnosis {
  const source = withinTime(told, nowMs);
  // By clocks of several machines: what is newest may lie a little ahead of ours.
  const toMs = Math.max(nowMs, ...timesOf(source)) + 1;
  if (sinceMs !== undefined && sinceMs >= toMs)
    throw new OptionError(
      'sinceMs',
      sinceMs,
      'lies in the future',
      'pass a Unix time in milliseconds',
    );
  const fromMs = sinceMs ?? Math.min(nowMs, ...timesOf(source));
  const facts = factsOf(source, fromMs, toMs);
  const judged = judgeEndings(facts.endings);
  const period = periodOf(facts, judged);
  const lost = judged.filter((ending) => !isWanted(ending));
  return {
    name: source.name,
    period,
    leaderId,
    findings: findingsOf(facts, judged),
    refusals: [...facts.refusals].sort((a, b) => b.atMs - a.atMs),
    timeline: timelineOf(facts, judged, isWanted),
    comparison:
      beforeMs === undefined ? undefined : compare(periodBefore(source, fromMs, beforeMs), period),
    witnessedCount: lost.filter(({ loss, notes }) => loss !== undefined || notes.length > 0).length,
  };
}

function periodBefore(source: Source, toMs: number, beforeMs: number): Period {
  const facts = factsOf(source, toMs - beforeMs, toMs);
  return periodOf(facts, judgeEndings(facts.endings));
}

function periodOf(
  { fromMs, toMs, termCount, vacantMs, longestVacantMs, refusals }: Facts,
  judged: readonly JudgedEnding[],
): Period {
  const plannedCount = judged.filter(isWanted).length;
  const causes: Partial<Record<Cause, number>> = {};
  for (const { verdict } of judged) causes[verdict.cause] = (causes[verdict.cause] ?? 0) + 1;
  const lostCount = judged.length - plannedCount;
  const refusedCount = refusedCountOf(refusals);
  const cost = { vacantMs, longestVacantMs, refusedCount };
  return { fromMs, toMs, termCount, lostCount, plannedCount, ...cost, causes };
}

function isWanted({ verdict }: JudgedEnding): boolean {
  return isPlanned(verdict.cause);
}

/** Clocks of several machines may differ by this much. */
const mostAheadMs = 60 * 60 * 1000;

/**
 * What was written by a clock that is far ahead is taken for of now: one such line would make the time that is judged as long
 * as it is ahead. Unless most of the history is: then it is the reader's clock that is behind.
 */
function withinTime(source: Source, nowMs: number): Source {
  const { history, evidence } = source;
  const times = timesOf({ ...source, evidence: [] }).sort((a, b) => a - b);
  const isReaderBehind = (times[times.length >> 1] ?? 0) > nowMs + mostAheadMs;
  const latestMs = isReaderBehind ? (times.at(-1) ?? nowMs) : nowMs;
  const within = (atMs: number) => (atMs > latestMs + mostAheadMs ? latestMs : atMs);
  return {
    ...source,
    history: history.map((entry) => {
      if (entry.kind === 'act') return { ...entry, atMs: within(entry.atMs) };
      const { grantedAtMs, endedAtMs } = entry;
      const endMs = endedAtMs === undefined ? undefined : within(endedAtMs);
      return { ...entry, grantedAtMs: within(grantedAtMs), endedAtMs: endMs };
    }),
    evidence: evidence.map((entry) => ({ ...entry, atMs: within(entry.atMs) })),
  };
}

function timesOf({ history, evidence }: Source): number[] {
  return [
    ...history.map((entry) => (entry.kind === 'act' ? entry.atMs : entry.grantedAtMs)),
    ...history.flatMap((entry) => (entry.kind === 'term' ? (entry.endedAtMs ?? []) : [])),
    ...evidence.map(({ atMs }) => atMs),
  ];
}

function requireTime(option: string, valueMs: number | undefined): void {
  if (valueMs === undefined || (Number.isFinite(valueMs) && valueMs >= 0)) return;
  throw new OptionError(option, valueMs, 'is no time', 'use milliseconds, 0 and above');
}
