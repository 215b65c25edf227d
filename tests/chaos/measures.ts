import { termEnds } from './crew.js';
import type { Line } from './history.js';

/** When somebody believed that it led: by its own clock, until it told the end, or its lease was over without a word. */
export interface Belief {
  readonly who: string;
  readonly term: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface DoubleBelief {
  readonly older: Belief;
  readonly newer: Belief;
  readonly fromMs: number;
  readonly lastedMs: number;
}

/** One fault, and what came of it. */
export interface Met {
  readonly kind: string;
  /** What was wrong at the same time. */
  readonly with: readonly string[];
  readonly beganAtMs: number;
  /** It could not be begun: the store was not yet what it needs. */
  readonly hasFailed: boolean;
  /** Somebody wrote again; `undefined` if nobody did. */
  readonly recoveredAtMs: number | undefined;
  /** Whether anybody noticed: a process ended or stood still, something failed or was refused, a term ended. */
  readonly hadEffect: boolean;
  /** The longest time between two accepted writes, from the last one before it until it was over. */
  readonly longestSilenceMs: number;
}

export function beliefsIn(lines: readonly Line[]): Belief[] {
  const beliefs = new Map<
    string,
    { who: string; term: number; fromMs: number; goodUntilMs: number; endedAtMs: number }
  >();
  for (const { event, who, term, atMs, ...facts } of lines) {
    const key = `${who} ${term}`;
    const own = beliefs.get(key);
    if (event === 'elected' && term !== undefined)
      beliefs.set(key, {
        who,
        term,
        fromMs: atMs,
        goodUntilMs: Number(facts.untilMs),
        endedAtMs: Infinity,
      });
    else if (event === 'good' && own !== undefined)
      own.goodUntilMs = Math.max(own.goodUntilMs, Number(facts.untilMs));
    else if (termEnds.has(event) && own !== undefined)
      own.endedAtMs = Math.min(own.endedAtMs, atMs);
    else if (event === 'ended')
      for (const belief of beliefs.values())
        if (belief.who === facts.holder) belief.endedAtMs = Math.min(belief.endedAtMs, atMs);
  }
  return [...beliefs.values()].map(({ who, term, fromMs, goodUntilMs, endedAtMs }) => {
    return { who, term, fromMs, untilMs: Math.max(fromMs, Math.min(goodUntilMs, endedAtMs)) };
  });
}

/** Times in which two believed at once. */
export function doubleBeliefsIn(beliefs: readonly Belief[]): DoubleBelief[] {
  const ordered = [...beliefs].sort((one, other) => one.fromMs - other.fromMs);
  return ordered.flatMap((older, index) =>
    ordered.slice(index + 1).flatMap((newer) => {
      const lastedMs = Math.min(older.untilMs, newer.untilMs) - newer.fromMs;
      const isDouble = lastedMs > 0 && older.who !== newer.who;
      return isDouble ? [{ older, newer, fromMs: newer.fromMs, lastedMs }] : [];
    }),
  );
}

/** Faults are over when somebody writes again; the others may take so much longer. */
const belatedMs = 10_000;

/**
 * Processes whom the store turned away for good while nothing was wrong with it, one line each with what they were told. In a
 * fault a store may do so: its password is another one. Else who starts them has made a mistake, or they have.
 */
export function turnedAwayIn(lines: readonly Line[]): string[] {
  const faults = faultsIn(lines);
  const isDisturbed = (atMs: number) =>
    faults.some(
      ({ beganAtMs, recoveredAtMs = Infinity }) =>
        beganAtMs <= atMs && atMs <= recoveredAtMs + belatedMs,
    );
  return lines
    .filter(({ event, atMs }) => event === 'leadFailed' && !isDisturbed(atMs))
    .map(
      ({ who, error, message }) => `${who} was turned away by a sound store: ${error}: ${message}`,
    );
}

const trouble = new Set([
  ...['uncertain', 'renewalFailed', 'campaignFailed', 'workFailed', 'failed', 'unknown', 'refused'],
  ...['aborted', 'lost', 'woke', 'ended', 'leadFailed', 'termHealed'],
]);

export function faultsIn(lines: readonly Line[]): Met[] {
  const wroteAtMs = lines
    .filter(({ event }) => event === 'wrote')
    .map(({ atMs }) => atMs)
    .sort((a, b) => a - b);
  const troubleAtMs = lines.filter(({ event }) => trouble.has(event)).map(({ atMs }) => atMs);
  const begun = lines.filter(({ event }) => event === 'faultBegins');
  const failed = new Set(
    lines
      .filter(({ event }) => event === 'faultFailed')
      .map(({ fault, kind }) => `${fault} ${kind}`),
  );
  return begun.map(({ atMs: beganAtMs, fault, kind }) => {
    const recovered = lines.find((line) => line.event === 'recovered' && line.fault === fault);
    const recoveredAtMs = recovered?.atMs;
    const overAtMs = recoveredAtMs ?? Infinity;
    return {
      kind: String(kind),
      with: begun
        .filter((other) => other.fault === fault && other.kind !== kind)
        .map((other) => String(other.kind)),
      beganAtMs,
      hasFailed: failed.has(`${fault} ${kind}`),
      recoveredAtMs,
      hadEffect: troubleAtMs.some((atMs) => atMs >= beganAtMs && atMs <= overAtMs),
      longestSilenceMs: longestGap(wroteAtMs, beganAtMs, overAtMs),
    };
  });
}

function longestGap(timesMs: readonly number[], fromMs: number, untilMs: number): number {
  const first = timesMs.findLastIndex((atMs) => atMs <= fromMs);
  const within = timesMs.slice(Math.max(first, 0)).filter((atMs) => atMs <= untilMs);
  return Math.max(0, ...within.slice(1).map((atMs, index) => atMs - (within[index] ?? atMs)));
}
