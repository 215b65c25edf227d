import { counted } from '../errors/say.js';
import { adviceFor } from './advice.js';
import { type Cause, causes, isPlanned } from './cause.js';
import { type Facts, refusedCountOf, unledMs } from './facts.js';
import { judgeEnding } from './judge-ending.js';
import type { JudgedEnding } from './verdict.js';

/** One cause of what happened, with what speaks for it. */
export interface Finding {
  readonly cause: Cause;
  /** The cause in words. */
  readonly title: string;
  /** Somebody wanted these ends. */
  readonly isPlanned: boolean;
  /** How many terms ended by it; 0 for a danger that ended none. */
  readonly endingCount: number;
  /** How long nobody led around their ends, in milliseconds: see {@link Period.vacantMs}. */
  readonly vacantMs: number;
  /** What fences refused under them, as far as their holders told it. */
  readonly refusedCount: number;
  /** Of the newest terms first: sentences with figures. */
  readonly evidence: readonly string[];
  /** What to change, and to what. */
  readonly advice: readonly string[];
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** So many sentences are said of one cause. */
const evidenceShown = 3;
/** What was wanted explains less than what was not; two processes of one id, which are there for sure, more than one end. */
const plannedWeight = 0.3;
const duplicatesWeight = 2.5;

export function judgeEndings(endings: Facts['endings']): JudgedEnding[] {
  return endings.map((ending) => ({ ...ending, verdict: judgeEnding(ending) }));
}

/** The causes, the one that did most harm first: see {@link weightsOf}. Pure. */
export function findingsOf(facts: Facts, judged: readonly JudgedEnding[]): Finding[] {
  const found = [...new Set(judged.map(({ verdict }) => verdict.cause))];
  const ended = found.map((cause) => {
    const finding = findingOf(
      cause,
      judged.filter(({ verdict }) => verdict.cause === cause),
    );
    return cause === 'no-longer-kept' ? withShares(finding, judged) : finding;
  });
  const findings = merged([...ended, ...dangersOf(facts)]);
  const weight = weightsOf(findings);
  return findings.sort((a, b) => weight(b) - weight(a) || b.lastAtMs - a.lastAtMs);
}

function findingOf(cause: Cause, endings: readonly JudgedEnding[]): Finding {
  const newest = [...endings].reverse();
  return {
    cause,
    title: causes[cause],
    isPlanned: isPlanned(cause),
    endingCount: endings.length,
    vacantMs: endings.reduce((sum, ending) => sum + unledMs(ending), 0),
    refusedCount: refusedCountOf(endings.flatMap(({ refusals }) => refusals)),
    evidence: newest
      .slice(0, evidenceShown)
      .map(({ term, verdict }) => `term ${term}: ${verdict.because}`),
    advice: adviceFor(cause, endings),
    firstAtMs: Math.min(...endings.map(({ endedAtMs }) => endedAtMs)),
    lastAtMs: Math.max(...endings.map(({ endedAtMs }) => endedAtMs)),
  };
}

/** What it was that is no longer kept, nobody knows; what it was at the other times, is known. */
function withShares(finding: Finding, judged: readonly JudgedEnding[]): Finding {
  const told = judged.filter(({ loss, notes }) => loss !== undefined || notes.length > 0);
  if (told.length === 0) return finding;
  const counts = new Map<Cause, number>();
  for (const { verdict } of told) counts.set(verdict.cause, (counts.get(verdict.cause) ?? 0) + 1);
  const shares = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([cause, count]) => `${count} by ${cause}`);
  const said = `${counted(told.length, 'term')} of which it is kept ended: ${shares.join(', ')}`;
  return { ...finding, evidence: [said, ...finding.evidence].slice(0, evidenceShown) };
}

/** What was seen beside the ends of terms. */
function dangersOf({ notes }: Facts): Finding[] {
  const found: Finding[] = [];
  const duplicates = notes.filter(({ what }) => what === 'duplicate-id');
  if (duplicates.length > 0) {
    const ids = [...new Set(duplicates.map(({ holderId }) => holderId))];
    const said = ids.map((id) => `another live process was a candidate under the id ${id}`);
    found.push(danger('duplicate-ids', duplicates, said));
  }
  const steps = notes.filter(({ what }) => what === 'clock-stepped');
  if (steps.length > 0) {
    const said = steps.map(
      ({ holderId, detail }) => `the wall clock of ${holderId} was set by ${detail ?? 'some time'}`,
    );
    found.push(danger('clock-stepped', steps, said));
  }
  return found;
}

function danger(cause: Cause, notes: Facts['notes'], said: readonly string[]): Finding {
  const times = notes.map(({ atMs }) => atMs);
  return {
    cause,
    title: causes[cause],
    isPlanned: false,
    endingCount: 0,
    vacantMs: 0,
    refusedCount: 0,
    evidence: [...said].reverse().slice(0, evidenceShown),
    advice: adviceFor(cause, []),
    firstAtMs: Math.min(...times),
    lastAtMs: Math.max(...times),
  };
}

/** A clock that was set may have ended terms too. */
function merged(findings: readonly Finding[]): Finding[] {
  return findings.flatMap((first) => {
    const same = findings.filter(({ cause }) => cause === first.cause);
    if (same[0] !== first) return [];
    const evidence = same.flatMap((one) => one.evidence).slice(0, evidenceShown);
    const firstAtMs = Math.min(...same.map((one) => one.firstAtMs));
    return same.length === 1 ? first : { ...first, evidence, firstAtMs };
  });
}

/**
 * What a cause weighs, counted in ends of terms: those that it explains, and as many of all as it has of the time in which nobody
 * led. So one outage of a minute is not lost among ten changes that took milliseconds, and neither are those beside it. What nobody
 * knows the cause of any more is below all that is known, and takes no part.
 */
function weightsOf(findings: readonly Finding[]): (finding: Finding) => number {
  const known = findings.filter(({ cause }) => cause !== 'no-longer-kept');
  const endingCount = known.reduce((sum, finding) => sum + finding.endingCount, 0);
  const vacantMs = known.reduce((sum, finding) => sum + finding.vacantMs, 0);
  return (finding) => {
    if (finding.cause === 'no-longer-kept') return -1;
    if (finding.endingCount === 0) return finding.cause === 'duplicate-ids' ? duplicatesWeight : 0;
    const ofVacancy = vacantMs === 0 ? 0 : (endingCount * finding.vacantMs) / vacantMs;
    const weight = finding.endingCount + ofVacancy;
    return finding.isPlanned ? weight * plannedWeight : weight;
  };
}
