import { describe, expect, it } from 'vitest';
import type { HistoryEntry } from '../../src/coordinators/index.js';
import { compare, type Period } from '../../src/diagnosis/comparison.js';
import { judge } from '../../src/diagnosis/diagnose.js';
import { type Diagnosis, diagnose } from '../../src/diagnosis/index.js';
import type { Evidence, LossEvidence } from '../../src/elections/index.js';
import { createDesk } from '../cli/session.js';
import { loss, name, note, startMs, term } from './facts.js';

function judged(history: readonly HistoryEntry[], evidence: readonly Evidence[] = []): Diagnosis {
  const source = { name, history, evidence };
  const nowMs = startMs + 600_000;
  return judge({ source, sinceMs: undefined, beforeMs: undefined, nowMs });
}

/** The first cause, where one term was lost with this evidence. */
function causeOf(more: Partial<LossEvidence>, endReason = 'expired'): string | undefined {
  return judged([term(1, 0, 30, endReason)], [loss(1, more)]).findings[0]?.cause;
}

const stall = (forMs: number, ranMs?: number, waitedMs?: number, more: object = {}) => ({
  ...loss(1).machine,
  longestStall: {
    forMs,
    ...(ranMs !== undefined && { ranMs }),
    ...(waitedMs !== undefined && { waitedMs }),
    ...more,
  },
});
const renewals = (more: Partial<LossEvidence['renewals']>) => ({ ...loss(1).renewals, ...more });

describe('one loss is explained by', () => {
  it.each([
    ['a stall in which the thread computed', { machine: stall(3_000, 2_500, 100) }, 'loop-blocked'],
    [
      'a stall in which it neither ran nor waited',
      { machine: stall(3_000, 5, 20) },
      'process-paused',
    ],
    ['a stall of which the system does not tell', { machine: stall(3_000) }, 'process-paused'],
    ['a stall in which it waited', { machine: stall(3_000, 60, 2_800) }, 'cpu-starved'],
    [
      'a stall in which its group was throttled',
      { machine: stall(3_000, 900, 0, { throttledMs: 1_900 }) },
      'cpu-starved',
    ],
    ['a suspend', { machine: { ...loss(1).machine, suspendedMs: 60_000 } }, 'process-paused'],
    [
      'a deadline that passed with nothing known to be wrong',
      { reason: 'expired' },
      'process-paused',
    ],
    [
      'a port at which nothing listened',
      { errors: { refused: 3 }, missedCount: 3 },
      'store-restarted',
    ],
    ['a store that was starting', { errors: { loading: 2 }, missedCount: 2 }, 'store-restarted'],
    ['a replica that answered', { errors: { replica: 2 }, missedCount: 2 }, 'failover'],
    [
      'a master that was gone',
      { store: 'redis-sentinel', errors: { refused: 2 }, missedCount: 2 },
      'failover',
    ],
    [
      'members at none of whose ports anything listened',
      { store: 'etcd', errors: { refused: 3, reset: 1 }, missedCount: 4 },
      'store-restarted',
    ],
    [
      'members of which one was gone, and the others did not answer',
      { store: 'etcd', errors: { refused: 2, timeout: 2 }, missedCount: 4 },
      'failover',
    ],
    [
      'members that had no leader',
      { store: 'etcd', errors: { replica: 2 }, missedCount: 2 },
      'failover',
    ],
    ['resets by all members', { store: 'etcd', errors: { reset: 4 }, missedCount: 4 }, 'network'],
    ['a store without room', { errors: { overloaded: 4 }, missedCount: 4 }, 'store-overloaded'],
    ['missing rights', { errors: { denied: 4 }, missedCount: 4 }, 'store-denies'],
    ['silence', { errors: { timeout: 4 }, missedCount: 4 }, 'network'],
    ['resets', { errors: { reset: 4 }, missedCount: 4 }, 'network'],
    [
      'silence after slow answers',
      {
        errors: { timeout: 3 },
        missedCount: 3,
        renewals: renewals({ last: [{ ms: 1 }, { ms: 300 }] }),
      },
      'store-overloaded',
    ],
    [
      'silence where answers were never quick',
      {
        errors: { timeout: 3 },
        missedCount: 3,
        renewals: renewals({ quickMs: 150, medianMs: 200, slowMs: 450 }),
      },
      'ttl-too-short',
    ],
    [
      'a resource that had seen a higher term',
      { reason: 'superseded', installedTerm: 99 },
      'terms-lost',
    ],
    ['work that went on', { reason: 'shutdown' }, 'work-overdue'],
  ] satisfies [string, Partial<LossEvidence>, string][])('%s', (_what, more, cause) => {
    expect(causeOf(more)).toBe(cause);
  });

  it('what the store said, also where the machine was busy', () => {
    const machine = stall(2_500, 60, 2_300);
    expect(causeOf({ errors: { refused: 3 }, missedCount: 3, machine })).toBe('store-restarted');
  });

  it('the machine before the silence, which it may have caused', () => {
    const machine = stall(2_500, 60, 2_300);
    expect(causeOf({ errors: { timeout: 1 }, missedCount: 1, machine })).toBe('cpu-starved');
  });

  it('no stall that renewals had time to survive', () => {
    const machine = stall(1_200, 1_100, 0);
    expect(causeOf({ errors: { timeout: 4 }, missedCount: 4, machine })).toBe('network');
  });

  it('what became of its record, if that went before its time', () => {
    const gone = { reason: 'vanished', sinceRenewedMs: 1_800 } as const;
    expect(causeOf(gone, 'vanished')).toBe('record-removed');
    expect(causeOf({ ...gone, connectionLostCount: 1 }, 'vanished')).toBe('store-restarted');
    const broke = { ...gone, connectionLostCount: 1 };
    expect(causeOf({ ...broke, store: 'redis-sentinel' }, 'vanished')).toBe('failover');
    expect(causeOf({ ...broke, store: 'etcd' }, 'vanished')).toBe('record-removed');
    const refused = { ...broke, store: 'etcd', errors: { refused: 1 }, missedCount: 1 };
    expect(causeOf(refused, 'vanished')).toBe('failover');
    expect(causeOf(gone, 'expired')).toBe('clock-stepped');
    expect(causeOf({ ...broke, store: 'etcd' }, 'expired')).toBe('record-removed');
  });
});

describe('a diagnosis', () => {
  it('explains without evidence what the history alone tells', () => {
    const history = [
      term(1, 0, 10, 'released'),
      term(2, 11, 20, 'handed-off'),
      term(3, 20, 30, 'expired'),
      term(4, 36, 40, 'revoked'),
      term(5, 41, undefined),
    ];
    const { findings, period } = judged(history);
    expect(findings.map(({ cause, endingCount }) => [cause, endingCount])).toEqual([
      ['process-died', 1],
      ['deploy', 2],
      ['operator', 1],
    ]);
    expect(period).toMatchObject({ termCount: 5, lostCount: 1, plannedCount: 3, vacantMs: 8_000 });
  });

  it('knows of a term that the store has forgotten with all its data', () => {
    const gone = loss(1, { reason: 'vanished', sinceRenewedMs: 900, connectionLostCount: 1 });
    const { findings } = judged([term(2, 38, undefined)], [gone]);
    expect(findings).toMatchObject([
      { cause: 'store-restarted', endingCount: 1, vacantMs: 10_000 },
    ]);
  });

  it('counts as without a leader from when its holder gave up or stood still, if that tells', () => {
    const history = [term(1, 0, 30), term(2, 31, undefined)];
    const unled = (more?: Partial<LossEvidence>) =>
      judged(history, more === undefined ? [] : [loss(1, more)]).period.vacantMs;
    expect(unled()).toBe(1_000);
    expect(unled({ heldMs: 28_000 })).toBe(3_000);
    // It slept over its end, from second 25 to second 45.
    const slept = { reason: 'expired', heldMs: 45_000 } as const;
    expect(unled({ ...slept, machine: stall(20_000, 5, 5) })).toBe(6_000);
    expect(unled({ ...slept, heldMs: 900_000, machine: stall(899_000, 5, 5) })).toBe(30_000);
    expect(unled({ reason: 'vanished', heldMs: 30_000 })).toBe(1_000);
  });

  it('ranks the cause of most losses first, what was wanted below it, and a shared id above a few', () => {
    const history = [1, 2, 3, 4, 5].map((number) => term(number, number * 10, number * 10 + 8));
    const evidence = [
      ...[1, 2, 3].map((number) => loss(number, { machine: stall(3_000, 2_900, 0) })),
      loss(4, { errors: { refused: 2 }, missedCount: 2 }),
      note('work-failed', 58, { term: 5, detail: 'TypeError' }),
      note('duplicate-id', 20),
    ];
    const given = [term(6, 60, 70, 'released'), term(7, 72, undefined)];
    const { findings } = judged([...history, ...given], evidence);
    expect(findings.map(({ cause }) => cause)).toEqual([
      'loop-blocked',
      'duplicate-ids',
      expect.stringMatching(/store-restarted|work-failed/),
      expect.stringMatching(/store-restarted|work-failed/),
      'deploy',
    ]);
  });

  it('ranks one loss by which nobody led for a minute above three that took two seconds each', () => {
    const history = [1, 2, 3].map((number) => term(number, number * 10, number * 10 + 8));
    const evidence = [
      ...[1, 2, 3].map((number) => loss(number, { machine: stall(3_000, 2_900, 0) })),
      loss(4, { errors: { refused: 2 }, missedCount: 2 }),
    ];
    const firstOf = (outageS: number) => {
      const outage = [term(4, 40, 48), term(5, 48 + outageS, undefined)];
      return judged([...history, ...outage], evidence).findings[0]?.cause;
    };
    expect(firstOf(60)).toBe('store-restarted');
    expect(firstOf(2)).toBe('loop-blocked');
  });

  it('ranks what was wanted above a short loss only where nobody led for long after it', () => {
    const firstOf = (vacantS: number) => {
      const history = [
        ...[1, 2, 3].map((number) => term(number, number * 10, number * 10 + 10, 'released')),
        term(4, 40, 48),
        term(5, 50, 60, 'released'),
        term(6, 60 + vacantS, undefined),
      ];
      return judged(history, [loss(4, { machine: stall(3_000, 2_900, 0) })]).findings[0]?.cause;
    };
    expect(firstOf(0)).toBe('loop-blocked');
    expect(firstOf(100)).toBe('deploy');
  });

  it('says which ttl would have done, only where it would, and not more than five minutes', () => {
    const advice = (more: Partial<LossEvidence>) =>
      judged([term(1, 0, 30)], [loss(1, more)]).findings[0]?.advice.join(' ');
    expect(advice({ machine: stall(3_000, 2_900, 0) })).toContain(
      'a ttl of 10 s instead of 6 s outlasts a pause of 3 s',
    );
    expect(advice({ machine: stall(3_000, 2_900, 0), ttlMs: 60_000 })).not.toContain('instead of');
    expect(advice({ machine: stall(300_000, 290_000, 0) })).not.toContain('instead of');
  });

  it.each([
    ['threw', note('work-failed', 29, { term: 1, detail: 'TypeError' })],
    ['returned', note('work-returned', 29, { term: 1 })],
  ])('says what to do for work that %s', (how, noted) => {
    const [finding] = judged([term(1, 0, 30, 'released')], [noted]).findings;
    expect(finding).toMatchObject({ cause: 'work-failed' });
    expect(finding?.advice.join('; ')).toMatch(
      how === 'threw' ? /if it threw: .*workFailed/ : /only returned: .*await in it .*stopping/,
    );
  });

  it('counts an outage from the last renewal to the next term, not only until the lease was given up', () => {
    const history = [term(1, 0, 30), term(2, 38, undefined)];
    const lost = loss(1, { errors: { refused: 3 }, missedCount: 3 });
    expect(judged(history, [lost]).findings[0]?.advice.at(-1)).toMatch(
      /a ttl of 50 s instead of 6 s outlasts an outage of 14 s, the longest from a renewal/,
    );
  });

  it('sets what happened beside the load, part by part', () => {
    const slow = renewals({ slowMs: 800 });
    const history = [term(1, 0, 10), term(2, 300, 310), term(3, 320, 599, 'released')];
    const { timeline } = judged(history, [loss(2, { renewals: slow })]);
    expect(timeline).toHaveLength(12);
    expect(timeline.map(({ lostCount }) => lostCount)).toEqual([
      1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0,
    ]);
    expect(timeline[6]).toMatchObject({ roundTripMs: 800 });
    expect(timeline[11]).toMatchObject({ plannedCount: 1, lostCount: 0 });
  });

  it('compares with the time before, and blames chance for what is little', () => {
    const history = [1, 2, 3, 4, 5, 6, 7, 8].map((number) =>
      term(number, number * 20, number * 20 + 5),
    );
    const source = { name, history, evidence: [] };
    const sinceMs = startMs + 300_000;
    const { comparison, period } = judge({
      source,
      sinceMs,
      beforeMs: 300_000,
      nowMs: startMs + 600_000,
    });
    expect(period.lostCount).toBe(0);
    expect(comparison).toMatchObject({
      change: 'better',
      before: { lostCount: 8, causes: { 'process-died': 8 } },
    });
  });

  it.each([
    [10, 10, 'same'],
    [20, 3, 'better'],
    [3, 20, 'worse'],
    [2, 1, 'too-few'],
    [0, 0, 'same'],
    [0, 9, 'worse'],
  ])('of %i losses and then %i in the same time says %s', (before, now, change) => {
    const period = (lostCount: number): Period => ({
      fromMs: 0,
      toMs: 1_000,
      termCount: lostCount,
      lostCount,
      plannedCount: 0,
      vacantMs: 0,
      longestVacantMs: 0,
      refusedCount: 0,
      causes: {},
    });
    expect(compare(period(before), period(now)).change).toBe(change);
  });

  it('of nothing says nothing', async () => {
    const { session } = createDesk();
    const { coordinator, runtime } = session;
    const diagnosis = await diagnose({ coordinator, name, runtime });
    expect(diagnosis).toMatchObject({ findings: [], leaderId: undefined, witnessedCount: 0 });
  });

  it('refuses bad options by name', async () => {
    const { coordinator } = createDesk().session;
    const ask = (options: object) => diagnose({ coordinator, name, ...options });
    await expect(ask({ name: '' })).rejects.toMatchObject({ option: 'name' });
    await expect(ask({ coordinator: {} })).rejects.toMatchObject({ option: 'coordinator' });
    await expect(ask({ sinceMs: -1 })).rejects.toMatchObject({ option: 'sinceMs' });
    const future = { sinceMs: 2 ** 50 };
    await expect(ask(future)).rejects.toThrow(/sinceMs lies in the future .*: pass a Unix time/);
    await expect(ask({ beforeMs: 1_000 })).rejects.toMatchObject({ option: 'beforeMs' });
    await expect(ask({ timeoutMs: 0 })).rejects.toMatchObject({ option: 'timeoutMs' });
  });
});

describe('a clock that is a year ahead', () => {
  const yearMs = 365 * 24 * 3_600_000;
  const hourMs = 3_600_000;

  it('makes the time that is judged no longer, and nobody vacant for a year', () => {
    const history = [term(1, 0, 30), term(2, 36, 60)];
    const ahead = loss(3, { atMs: startMs + yearMs, heldMs: 1_000 });
    for (const source of [
      judged(history, [loss(1), ahead]),
      judged([...history, term(3, 90, yearMs / 1_000)]),
      judged(history, [note('duplicate-id', yearMs / 1_000)]),
    ]) {
      const { fromMs, toMs, vacantMs } = source.period;
      expect(toMs - fromMs).toBeLessThan(hourMs);
      expect(vacantMs).toBeLessThan(hourMs);
    }
  });

  it('is the one of the store, where all that it wrote is ahead of the reader', () => {
    const history = [term(1, 0, 30), term(2, 36, 60)];
    const source = { name, history, evidence: [] };
    const nowMs = startMs - yearMs;
    const options = { source, sinceMs: startMs, beforeMs: undefined, nowMs };
    expect(judge(options).period).toMatchObject({ lostCount: 2, vacantMs: 6_001 });
  });
});

describe('diagnose', () => {
  it('refuses an option that is misspelt', async () => {
    const { coordinator } = createDesk().session;
    const options = { coordinator, name, since: 1 } as never;
    await expect(diagnose(options)).rejects.toThrow(/options\.since .*did you mean sinceMs/s);
  });
});
