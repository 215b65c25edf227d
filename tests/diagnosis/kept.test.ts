import { describe, expect, it } from 'vitest';
import { sayDiagnosis } from '../../src/cli/diagnose/say-diagnosis.js';
import type { HistoryEntry } from '../../src/coordinators/index.js';
import { judge } from '../../src/diagnosis/diagnose.js';
import { type Diagnosis, recordedSample } from '../../src/diagnosis/index.js';
import type { Evidence } from '../../src/elections/index.js';
import { loss, name, note, startMs, term } from './facts.js';

const nowMs = startMs + 1_000_000;
const screen = { style: (_format: unknown, text: string) => text, noteColumns: 80 };

interface Asked {
  readonly sinceMs?: number;
  readonly beforeMs?: number;
  readonly nowMs?: number;
}

function judged(
  history: readonly HistoryEntry[],
  evidence: readonly Evidence[],
  asked: Asked = {},
): Diagnosis {
  const source = { name, history, evidence };
  const whole = { sinceMs: undefined, beforeMs: undefined, nowMs, ...asked };
  return judge({ source, ...whole });
}

/** Terms `from` to `to`, each of 8 s and with 2 s after it. */
function terms(from: number, to: number, endReason?: string, holderId?: string): HistoryEntry[] {
  return numbers(from, to).map((number) =>
    term(number, number * 10, number * 10 + 8, endReason, holderId),
  );
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

const machine = { ...loss(1).machine, longestStall: { forMs: 4_400, ranMs: 4_200, waitedMs: 100 } };

/** A blocked loop in each of them. */
function blocked(from: number, to: number, holderId = 'replica-1'): Evidence[] {
  return numbers(from, to).map((number) =>
    loss(number, { machine, holderId, atMs: startMs + number * 10_000 + 7_000, heldMs: 7_000 }),
  );
}

const causesOf = ({ findings }: Diagnosis) =>
  findings.map(({ cause, endingCount }) => [cause, endingCount]);
const textOf = (diagnosis: Diagnosis) => sayDiagnosis(diagnosis, screen).join('\n');
const flat = (text: string) => text.replace(/\s+/g, ' ');

describe('where evidence was pushed out', () => {
  const diagnosis = judged(terms(1, 99), blocked(70, 99));

  it('says of older losses that it is kept no longer, below all that is known', () => {
    expect(causesOf(diagnosis)).toEqual([
      ['loop-blocked', 30],
      ['no-longer-kept', 69],
    ]);
    expect(diagnosis.findings[1]?.evidence).toEqual([
      '30 terms of which it is kept ended: 30 by loop-blocked',
      'term 69: replica-1 renewed no more; if it told why, that can no longer be read',
      'term 68: replica-1 renewed no more; if it told why, that can no longer be read',
    ]);
    expect(textOf(diagnosis)).toContain('at least: of 69 terms nothing is kept');
    for (const line of sayDiagnosis(diagnosis, screen)) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('still knows of a death that is younger than what is kept of its leader', () => {
    const young = [...terms(1, 80), term(81, 810, 818), ...terms(82, 99)];
    const evidence = [...blocked(69, 80), ...blocked(82, 99)];
    expect(causesOf(judged(young, evidence))).toEqual([
      ['loop-blocked', 30],
      ['process-died', 1],
      ['no-longer-kept', 68],
    ]);
  });

  it('judges each leader by what is kept of its own, since whoever wrote most loses its oldest', () => {
    const history = [
      ...terms(1, 1, 'expired', 'replica-2'),
      ...terms(2, 4),
      ...terms(5, 5, 'expired', 'replica-2'),
      ...terms(6, 40),
    ];
    const evidence = [...blocked(1, 1, 'replica-2'), ...blocked(12, 40)];
    expect(causesOf(judged(history, evidence))).toEqual([
      ['loop-blocked', 30],
      ['process-died', 1],
      ['no-longer-kept', 9],
    ]);
  });

  it('calls no end wanted that the work may have made, nor a record removed by itself', () => {
    const notes = numbers(70, 99).map((number) =>
      note('work-failed', number * 10 + 8, { term: number, detail: 'TypeError' }),
    );
    const history = [...terms(1, 9, 'vanished'), ...terms(10, 99, 'released')];
    expect(causesOf(judged(history, notes))).toEqual([
      ['work-failed', 30],
      ['no-longer-kept', 69],
    ]);
    const given = [...terms(1, 69, 'released'), ...terms(70, 99)];
    expect(causesOf(judged(given, blocked(70, 99)))).toEqual([
      ['loop-blocked', 30],
      ['deploy', 69],
    ]);
  });

  it('counts as kept what is of terms that the history has no more', () => {
    const history = terms(101, 200, 'expired', 'replica-1');
    const evidence = [...blocked(90, 91, 'replica-2'), ...blocked(173, 200)];
    expect(causesOf(judged(history, evidence, { nowMs: startMs + 2_010_000 }))).toEqual([
      ['loop-blocked', 28],
      ['no-longer-kept', 72],
    ]);
  });

  it('knows what is older than evidence is kept for as little', () => {
    const dayS = 24 * 3_600;
    const history = [term(1, 0, 30), term(2, 40 * dayS, 40 * dayS + 10)];
    expect(causesOf(judged(history, [], { nowMs: startMs + 41 * dayS * 1_000 }))).toEqual([
      ['process-died', 1],
      ['no-longer-kept', 1],
    ]);
  });

  it('takes a death for one where there is room for what was told', () => {
    expect(causesOf(judged(terms(1, 9), blocked(9, 9)))).toContainEqual(['process-died', 8]);
  });
});

describe('of a leader that told nothing', () => {
  const of = (evidence: readonly Evidence[]) =>
    judged([term(1, 0, 30), term(2, 40, 50)], evidence).findings.find(
      ({ cause }) => cause === 'process-died',
    );

  it('says that it may keep no evidence, unless it told of another term', () => {
    expect(of([])?.title).toMatch(/may have ended, or stands still/);
    expect(of([])?.evidence[0]).toMatch(/, keeps no evidence \(--no-evidence\), or still/);
    expect(of([loss(1)])?.evidence[0]).not.toMatch(/no-evidence/);
  });

  it('names the run that ended before it could tell, and before the out-of-memory killer', () => {
    expect(of([])?.evidence[0]).toMatch(/tenure run without --restart, status 76/);
    const advice = of([])?.advice.join(' ') ?? '';
    expect(advice.indexOf('76')).toBeGreaterThan(0);
    expect(advice.indexOf('76')).toBeLessThan(advice.indexOf('dmesg'));
  });
});

describe('where lines of the history were pushed out', () => {
  const history = terms(101, 200);
  const firstMs = startMs + 1_010_000;
  const at = { nowMs: startMs + 2_100_000 };

  it('begins no period before the oldest line, and says so', () => {
    const { period, keptFromMs } = judged(history, [], { ...at, sinceMs: startMs });
    expect([period.fromMs, keptFromMs]).toEqual([firstMs, firstMs]);
    const whole = judged(history, blocked(90, 101), at);
    expect(whole.period).toMatchObject({ fromMs: firstMs, lostCount: 100 });
    expect(textOf(whole)).toContain('  history begins   2026-11-30T07:16:50Z: older lines');
    const young = judged(history, [], { ...at, sinceMs: firstMs + 60_000 });
    expect(young.period.fromMs).toBe(firstMs + 60_000);
    expect(textOf(young)).not.toContain('history begins');
  });

  it('compares with what is kept of the time before', () => {
    const sinceMs = firstMs + 500_000;
    const compared = judged(history, [], { ...at, sinceMs, beforeMs: 3_600_000 });
    expect(compared.comparison).toMatchObject({
      change: 'same',
      before: { fromMs: firstMs, toMs: sinceMs, lostCount: 50 },
    });
    expect(textOf(compared)).toMatch(/COMPARED +8.3 min BEFORE/);
    expect(textOf(compared)).toContain('history begins');
  });

  it('compares with nothing where nothing of the time before is kept', () => {
    const compared = judged(history, [], { ...at, sinceMs: firstMs - 1, beforeMs: 60_000 });
    expect(compared.comparison?.change).toBe('too-few');
    expect(textOf(compared)).toMatch(/lost an hour +- +\d+\/h/);
    expect(textOf(compared)).toContain('of the time before no line is kept');
    expect(textOf(compared)).not.toMatch(/NaN|Infinity/);
  });

  it('is full of acts alone, and begins with the first of them', () => {
    const act = { kind: 'act', act: 'suspend', by: 'ana', reason: 'x' } as const;
    const acts = numbers(1, 100).map((number) => ({ ...act, atMs: startMs + number * 1_000 }));
    expect(judged(acts, []).keptFromMs).toBe(startMs + 1_000);
    const mixed = [...acts.slice(0, 99), term(1, 200, 210)];
    expect(judged(mixed, []).keptFromMs).toBe(startMs + 200_000);
  });

  it('says what leaders recorded of the time of which it is all kept', () => {
    expect(recordedSample(history, blocked(171, 200), at.nowMs)).toMatchObject({
      forMs: at.nowMs - (startMs + 1_717_000),
    });
    expect(recordedSample(history, blocked(191, 200), at.nowMs)).toMatchObject({
      forMs: at.nowMs - firstMs,
    });
  });

  it('takes for whole what is kept of all who may have lost their oldest, of several that told as much', () => {
    const evidence = [...blocked(111, 125, 'replica-1'), ...blocked(186, 200, 'replica-2')];
    expect(recordedSample(history, evidence, at.nowMs)).toMatchObject({
      forMs: at.nowMs - (startMs + 1_867_000),
    });
  });
});

describe('a comparison', () => {
  it('is said also if nothing ended since, as where a change helped', () => {
    const asked = { sinceMs: startMs + 500_000, beforeMs: 500_000 };
    const text = flat(textOf(judged(terms(1, 20), [], asked)));
    expect(text).toMatch(/no term ended in that time COMPARED .* lost an hour 144\/h 0\/h/);
    expect(text).toContain('better: fewer terms are lost');
  });
});
