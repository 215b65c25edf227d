import type { HistoryEntry } from '../../src/coordinators/index.js';
import type { LossEvidence, NoteEvidence, RefusalEvidence } from '../../src/elections/index.js';

export const name = 'payments';
export const startMs = Date.UTC(2026, 10, 30, 7);

/** A term in the history, in seconds from the start. */
export function term(
  number: number,
  fromS: number,
  toS: number | undefined,
  endReason = 'expired',
  holderId = 'replica-1',
): HistoryEntry {
  return {
    kind: 'term',
    term: number,
    holderId,
    grantedAtMs: startMs + fromS * 1_000,
    endedAtMs: toS === undefined ? undefined : startMs + toS * 1_000,
    endReason: toS === undefined ? undefined : endReason,
  };
}

/** What a leader saw that lost its term to nothing in particular: override what the test is about. */
export function loss(number: number, more: Partial<LossEvidence> = {}): LossEvidence {
  return {
    kind: 'loss',
    name,
    term: number,
    holderId: 'replica-1',
    atMs: startMs + 28_000,
    reason: 'unreachable',
    stateBefore: 'uncertain',
    store: 'redis',
    ttlMs: 6_000,
    renewEveryMs: 2_000,
    giveUpAfterMs: 4_000,
    attemptTimeoutMs: 500,
    heldMs: 28_000,
    sinceRenewedMs: 4_000,
    missedCount: 0,
    renewals: {
      answeredCount: 20,
      failedCount: 0,
      quickMs: 1,
      medianMs: 1.5,
      slowMs: 4,
      largestMs: 4,
      last: [{ ms: 1 }, { ms: 2 }],
    },
    errors: {},
    connectionLostCount: 0,
    machine: {
      overMs: 4_000,
      longestStall: { forMs: 5, ranMs: 1, waitedMs: 1 },
      all: { forMs: 4_000, ranMs: 20, waitedMs: 10 },
      suspendedMs: 0,
      wallStepMs: 0,
    },
    ...more,
  };
}

export function note(
  what: NoteEvidence['what'],
  atS: number,
  more: Partial<NoteEvidence> = {},
): NoteEvidence {
  return { kind: 'note', name, holderId: 'replica-1', atMs: startMs + atS * 1_000, what, ...more };
}

/** Of a fence in memory, the last in seconds from the start and the first a second before. */
export function refusals(
  number: number,
  atS: number,
  count: number,
  more: Partial<RefusalEvidence> = {},
): RefusalEvidence {
  const atMs = startMs + atS * 1_000;
  return {
    kind: 'refusals',
    name,
    term: number,
    holderId: 'replica-1',
    firstAtMs: atMs - 1_000,
    atMs,
    resource: 'memory',
    count,
    ...more,
  };
}
