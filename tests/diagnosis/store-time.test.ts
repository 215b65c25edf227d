import { describe, expect, it } from 'vitest';
import type { Coordinator, HistoryEntry } from '../../src/coordinators/index.js';
import { judge } from '../../src/diagnosis/diagnose.js';
import { type Diagnosis, diagnose, recordedSample } from '../../src/diagnosis/index.js';
import type { Evidence } from '../../src/elections/index.js';
import { createDesk } from '../cli/session.js';
import { loss, name, note, refusals, startMs, term } from './facts.js';

const dayMs = 24 * 3_600_000;
const hourMs = 3_600_000;

function judged(
  history: readonly HistoryEntry[],
  evidence: readonly Evidence[],
  nowMs = startMs + 600_000,
  lastMs?: number,
): Diagnosis {
  const source = { name, history, evidence };
  const none = { sinceMs: undefined, beforeMs: undefined };
  return judge({ source, ...none, lastMs, nowMs });
}

describe('the clock of a leader that is', () => {
  const history = [term(1, 0, 30), term(2, 38, 60), term(3, 66, undefined)];
  const right = [loss(1, { atMs: startMs + 28_000 }), refusals(1, 41, 7), note('work-failed', 29)];

  it.each([
    ['a day behind', -dayMs],
    ['at 1970', -startMs + 40_000],
    ['half an hour ahead', hourMs / 2],
    ['a day ahead', dayMs],
  ])('%s changes nothing of a term that the history knows', (_what, byMs) => {
    const wrong = right.map((entry) => ({
      ...entry,
      atMs: entry.atMs + byMs,
      ...(entry.kind === 'refusals' && { firstAtMs: entry.firstAtMs + byMs }),
      ...(entry.kind === 'note' && { term: 1 }),
    }));
    const [asRight, asWrong] = [
      judged(
        history,
        right.map((entry) => (entry.kind === 'note' ? { ...entry, term: 1 } : entry)),
      ),
      judged(history, wrong),
    ];
    expect(asWrong.period).toEqual(asRight.period);
    expect(asWrong.period).toMatchObject({ fromMs: startMs, refusedCount: 7, vacantMs: 16_000 });
    expect(asWrong.refusals).toMatchObject([
      { atMs: startMs + 41_000, firstAtMs: startMs + 40_000 },
    ]);
  });

  it('at 1970 is known by its losses where it tells of no term', () => {
    const byMs = startMs - 40_000;
    const wrong = [
      loss(1, { atMs: startMs + 28_000 - byMs }),
      note('duplicate-id', 20, { atMs: startMs + 20_000 - byMs }),
    ];
    const { findings, period } = judged(history, wrong);
    expect(period.fromMs).toBe(startMs);
    expect(findings.find(({ cause }) => cause === 'duplicate-ids')?.lastAtMs).toBe(
      startMs + 20_000,
    );
  });

  it('a day behind costs those no day who measure by what was recorded', () => {
    const wrong = [loss(1, { atMs: startMs + 28_000 - dayMs })];
    expect(recordedSample(history, wrong, startMs + 600_000)?.forMs).toBe(600_000);
  });
});

describe('evidence of a term that the history does not know', () => {
  const history = [term(5, 0, 30), term(9, 38, undefined)];

  it('is left out if it is older than evidence is kept', () => {
    const old = loss(2, { atMs: startMs - 365 * dayMs });
    const oldNote = note('duplicate-id', 0, { atMs: 40_000 });
    const { period, findings } = judged(history, [old, oldNote]);
    expect(period).toMatchObject({ fromMs: startMs, vacantMs: 8_000 });
    expect(findings.map(({ cause }) => cause)).toEqual(['process-died']);
  });

  it('lies between the terms around it', () => {
    const between = (atMs: number) => judged(history, [loss(7, { atMs, heldMs: 1_000 })]).period;
    expect(between(startMs - dayMs)).toMatchObject({ fromMs: startMs, vacantMs: 38_000 });
    expect(between(startMs + 2 * dayMs)).toMatchObject({ fromMs: startMs, lostCount: 2 });
    expect(judged(history, [loss(2, { atMs: startMs + hourMs / 2 })]).period.toMs).toBe(
      startMs + 600_001,
    );
  });

  it('is not counted where the term was pushed out of the history', () => {
    const full = Array.from({ length: 100 }, (_, index) =>
      term(index + 100, index * 10, index * 10 + 8),
    );
    const nowMs = startMs + 1_000_000;
    const { period } = judged(full, [loss(7, { atMs: nowMs + 1 })], nowMs);
    expect(period.lostCount).toBe(100);
  });
});

/** As a server does, whose answers have its time. */
function judgingByItsClock(coordinator: Coordinator): Coordinator {
  const bound = (['history', 'read', 'readDocument'] as const).map((method) => [
    method,
    { value: coordinator[method].bind(coordinator) },
  ]);
  return Object.create(coordinator, {
    promises: { value: { ...coordinator.promises, expiryClock: 'server-wall' } },
    ...Object.fromEntries(bound),
  });
}

describe('the clock of the reader', () => {
  const history = [term(1, 0, 30), term(2, 38, 3_590)];

  it('that is an hour behind ends the time where the history does, and begins it by that', () => {
    const readerMs = startMs + 3_600_000 - hourMs;
    const { period } = judged(history, [], readerMs, 60_000);
    expect(period).toMatchObject({
      fromMs: startMs + 3_530_000,
      toMs: startMs + 3_590_001,
      lostCount: 1,
    });
  });

  it.each([
    ['an hour ahead', hourMs],
    ['40 days ahead', 40 * dayMs],
    ['two hours behind', -2 * hourMs],
  ])(
    'that is %s counts nothing, where what is left of a lease tells the time of the store',
    async (_what, byMs) => {
      const { session, runtime, actor } = createDesk();
      const first = actor('replica-1');
      await first.acquire(name, { ttlMs: 6_000 });
      await runtime.advance(8_000);
      await actor('replica-2').acquire(name, { ttlMs: 6_000 });
      await runtime.advance(4_000);
      const coordinator = judgingByItsClock(session.coordinator);
      const reader = Object.create(runtime, {
        now: { value: () => ({ ...runtime.now(), wallMs: runtime.now().wallMs + byMs }) },
      });
      const { period } = await diagnose({ coordinator, name, runtime: reader, lastMs: 60_000 });
      expect(period).toMatchObject({ lostCount: 1, vacantMs: 2_000 });
      expect(period.toMs).toBe(runtime.now().wallMs + 1);
    },
  );

  it('is asked for one beginning, not for two', async () => {
    const { coordinator } = createDesk().session;
    const both = diagnose({ coordinator, name, sinceMs: 1, lastMs: 1 });
    await expect(both).rejects.toMatchObject({ option: 'lastMs' });
  });
});
