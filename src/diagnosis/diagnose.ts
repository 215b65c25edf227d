import type { CallOptions, Coordinator, LeaseRecord } from '../coordinators/index.js';
import { checkTimeout, validateName } from '../coordinators/index.js';
import { type RefusalEvidence, readEvidence } from '../elections/index.js';
import { requireKnown, requireMethods } from '../errors/checks.js';
import { OptionError, RecordCorruptError } from '../errors/index.js';
import type { Runtime } from '../time/index.js';
import { requireRuntime } from '../time/require-runtime.js';
import { type Cause, isPlanned } from './cause.js';
import { type Comparison, compare, type Period } from './comparison.js';
import { type Facts, factsOf, refusedCountOf } from './facts.js';
import { type Finding, findingsOf, judgeEndings } from './findings.js';
import { keptFromMs as keptFrom } from './kept.js';
import { inStoreTime, type Source, type TimedSource, timesOf } from './store-time.js';
import { type TimelinePart, timelineOf } from './timeline.js';
import type { JudgedEnding } from './verdict.js';

export interface DiagnoseOptions {
  /** Where the elections are kept. Used, not owned. */
  readonly coordinator: Coordinator;
  /** The name of the election. */
  readonly name: string;
  /** Unix time from which on things are judged. Default: all that is kept, the last 100 lines of 30 days at most. */
  readonly sinceMs?: number;
  /** Instead of `sinceMs`: only so many milliseconds are judged, up to now by the store's clock where that is known. */
  readonly lastMs?: number;
  /** Compares with so many milliseconds before that. Default: with nothing. Needs `sinceMs` or `lastMs`. */
  readonly beforeMs?: number;
  /** One request to the store may take this long, in milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
  /** Default: the real one. Its wall clock says what time it is now, where the store does not. */
  readonly runtime?: Runtime;
}

const knownOptions = {
  coordinator: true,
  name: true,
  sinceMs: true,
  lastMs: true,
  beforeMs: true,
  timeoutMs: true,
  runtime: true,
} as const;

/** Why the terms of an election end. Times are Unix times by the store's clock; durations are milliseconds. */
export interface Diagnosis {
  readonly name: string;
  readonly period: Period;
  /** Where lines of the history were pushed out: from when on it has all. No period begins before. */
  readonly keptFromMs: number | undefined;
  /** Who leads now; `undefined` if nobody does. */
  readonly leaderId: string | undefined;
  /** What stands under the name now: why nobody leads, if nobody does. `undefined`: it is free. */
  readonly record: LeaseRecord | undefined;
  /** The cause that explains most first. Empty: nothing ended in that time. */
  readonly findings: readonly Finding[];
  /** What fences refused, of which term and at which kind of resource; the newest first. */
  readonly refusals: readonly RefusalEvidence[];
  readonly timeline: readonly TimelinePart[];
  readonly comparison: Comparison | undefined;
  /** Lost terms of which their holder told what it saw. */
  readonly witnessedCount: number;
  /**
   * Something foreign stands in the place of the evidence: what, and the remedy. Then the history alone is judged, and what was lost is
   * `no-longer-kept`. `undefined`: all that was told could be read.
   */
  readonly evidenceProblem: string | undefined;
}

/**
 * Why the terms of an election end: from its history, and from what its leaders saw when they lost it.
 *
 * It reads, and changes nothing. What it says is a judgement of what was kept: 100 lines of history, and 30 entries of evidence.
 *
 * @throws {OptionError} for a bad option. {@link RecordCorruptError} if something foreign stands in the place of the
 * history or the record. The errors of the store.
 */
export async function diagnose(options: DiagnoseOptions): Promise<Diagnosis> {
  requireKnown('options', options, knownOptions, 'pass { coordinator, name }');
  const { coordinator, name, sinceMs, lastMs, beforeMs } = options;
  requireMethods(
    'coordinator',
    coordinator,
    ['history', 'readDocument', 'read'],
    'is not a coordinator',
    'pass what memoryCoordinator() or redisCoordinator(url) returns',
  );
  validateName(name);
  requireTime('sinceMs', sinceMs);
  requireTime('lastMs', lastMs);
  requireTime('beforeMs', beforeMs);
  if (sinceMs !== undefined && lastMs !== undefined)
    throw new OptionError('lastMs', lastMs, 'excludes sinceMs', 'pass one of them');
  if (beforeMs !== undefined && sinceMs === undefined && lastMs === undefined)
    throw new OptionError('beforeMs', beforeMs, 'needs sinceMs', 'say when the change was made');
  const call = { timeoutMs: checkTimeout({ timeoutMs: options.timeoutMs ?? 5_000 }) };
  const runtime = requireRuntime(options.runtime);
  const { source, record } = await sourceOf(coordinator, name, call);
  const nowMs = storeMs(coordinator, record) ?? runtime.now().wallMs;
  return judge({ source, record, sinceMs, lastMs, beforeMs, nowMs });
}

async function sourceOf(coordinator: Coordinator, name: string, call: CallOptions) {
  const [history, told, [record]] = await Promise.all([
    coordinator.history(name, call),
    toldOf(coordinator, name, call),
    coordinator.read([name], call),
  ]);
  return { source: { name, history, ...told }, record };
}

/** The history tells something without the evidence, too. */
async function toldOf(
  coordinator: Coordinator,
  name: string,
  call: CallOptions,
): Promise<Pick<Source, 'evidence' | 'evidenceProblem'>> {
  try {
    return { evidence: await readEvidence(coordinator, name, call) };
  } catch (error) {
    if (!(error instanceof RecordCorruptError)) throw error;
    return { evidence: [], evidenceProblem: error.message };
  }
}

/** What time it is in a store that judges by its own wall clock, if somebody leads: what is left of a lease tells it. */
function storeMs(
  { promises }: Partial<Coordinator>,
  record: LeaseRecord | undefined,
): number | undefined {
  if (promises?.expiryClock !== 'server-wall' || record?.state !== 'held') return undefined;
  return Math.round(record.renewedAtMs + record.ttlMs - record.remainingMs);
}

interface Case {
  readonly source: Source;
  readonly record?: LeaseRecord | undefined;
  readonly sinceMs: number | undefined;
  readonly lastMs?: number | undefined;
  readonly beforeMs: number | undefined;
  readonly nowMs: number;
}

/**
 * The judgement alone. Pure.
 *
 * @throws {OptionError} if `sinceMs` is after everything that is known, and after now.
 */
export function judge(asked: Case): Diagnosis {
  const source = inStoreTime(asked.source, asked.nowMs);
  const { record, beforeMs } = asked;
  const toMs = source.nowMs + 1;
  const sinceMs = sinceOf(asked, source.nowMs);
  if (sinceMs !== undefined && sinceMs >= toMs)
    throw new OptionError(
      'sinceMs',
      sinceMs,
      'lies in the future',
      'pass a Unix time in milliseconds',
    );
  const keptFromMs = keptFrom(source.history);
  const fromMs = Math.max(sinceMs ?? firstMs(source), keptFromMs ?? 0);
  const facts = factsOf(source, fromMs, toMs);
  const judged = judgeEndings(facts.endings);
  const period = periodOf(facts, judged);
  const lost = judged.filter((ending) => !isWanted(ending));
  return {
    name: source.name,
    period,
    keptFromMs,
    leaderId: record?.state === 'held' ? record.holder.id : undefined,
    record,
    findings: findingsOf(facts, judged),
    refusals: [...facts.refusals].sort((a, b) => b.atMs - a.atMs),
    timeline: timelineOf(facts, judged, isWanted),
    comparison:
      beforeMs === undefined || sinceMs === undefined
        ? undefined
        : compare(periodBefore(source, sinceMs, beforeMs, keptFromMs), period),
    witnessedCount: lost.filter(({ loss, notes }) => loss !== undefined || notes.length > 0).length,
    evidenceProblem: source.evidenceProblem,
  };
}

function sinceOf({ sinceMs, lastMs }: Case, nowMs: number): number | undefined {
  return lastMs === undefined ? sinceMs : nowMs - lastMs;
}

function firstMs({ history, evidence, nowMs }: TimedSource): number {
  return Math.min(nowMs, ...timesOf(history), ...evidence.map(({ atMs }) => atMs));
}

/** Only what of it is kept. */
function periodBefore(source: TimedSource, toMs: number, beforeMs: number, keptFromMs = 0): Period {
  const facts = factsOf(source, Math.min(toMs, Math.max(toMs - beforeMs, keptFromMs)), toMs);
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

function requireTime(option: string, valueMs: number | undefined): void {
  if (valueMs === undefined || (Number.isFinite(valueMs) && valueMs >= 0)) return;
  throw new OptionError(option, valueMs, 'is no time', 'use milliseconds, 0 and above');
}
