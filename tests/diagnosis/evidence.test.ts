import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { addEvidence } from '../../src/elections/evidence/book.js';
import {
  evidenceDocumentOf,
  formatEvidence,
  mergeEvidence,
  parseEvidenceDocument,
} from '../../src/elections/evidence/document.js';
import { systemCounters } from '../../src/elections/evidence/thread-counters.js';
import { EvidenceWriter } from '../../src/elections/evidence/writer.js';
import { diagnose, Elections, readEvidence } from '../../src/index.js';
import { ElectionFixture, name, TestWork } from '../elections/fixture.js';
import { call } from '../support/call.js';
import { loss, note, startMs } from './facts.js';

let fixture: ElectionFixture;

beforeEach(() => {
  fixture = new ElectionFixture();
});
afterEach(() => fixture.close());

const kept = () => readEvidence(fixture.operator, name, call);

describe('who loses a term', () => {
  it('keeps in the store what it saw, as soon as it reaches the store again', async () => {
    const { runtime } = fixture;
    const { election, link } = fixture.process('a');
    void election.lead(new TestWork().run);
    await runtime.advance(5_000);
    link.cut();
    await runtime.advance(4_500);
    expect(election.current).toBeUndefined();
    expect(await kept()).toEqual([]);
    link.heal();
    await runtime.advance(31_000);
    const [first, ...others] = await kept();
    expect(others).toMatchObject([{ kind: 'note', what: 'store-failed', detail: 'unreachable' }]);
    expect(first).toMatchObject({
      kind: 'loss',
      name,
      holderId: 'a',
      reason: 'unreachable',
      stateBefore: 'uncertain',
      store: 'memory',
      ttlMs: 6_000,
      giveUpAfterMs: 4_000,
      sinceRenewedMs: 4_000,
    });
    if (first?.kind !== 'loss') throw new Error('no loss');
    expect(first.missedCount).toBeGreaterThanOrEqual(2);
    expect(first.renewals.last.at(-1)?.failed).toBeDefined();
    expect(first.heldMs).toBeGreaterThan(4_000);
  });

  it('keeps how long it stood still', async () => {
    const { runtime } = fixture;
    const a = fixture.process('a');
    void a.election.lead(new TestWork().run);
    await runtime.advance(5_000);
    a.freeze();
    await runtime.advance(9_000);
    a.thaw();
    await runtime.advance(1_000);
    expect(await kept()).toMatchObject([
      { reason: 'expired', machine: { longestStall: { forMs: expect.any(Number) } } },
    ]);
    const [first] = await kept();
    expect(first?.kind === 'loss' && first.machine.longestStall.forMs).toBeGreaterThan(8_000);
  });

  it('keeps neither the message of an error nor any payload, and no nonce', async () => {
    const { runtime } = fixture;
    const { election, leases } = fixture.process('a');
    void election.lead(() => {
      throw Object.assign(new RangeError('card 4711 of ana@example.org'), { code: 'E_CARD' });
    });
    await runtime.advance(3_000);
    const stored = await fixture.operator.readDocument(evidenceDocumentOf(name), call);
    expect(stored?.text).toContain('"detail":"RangeError E_CARD"');
    expect(stored?.text).not.toMatch(/4711|example\.org/);
    expect(stored?.text).not.toContain(leases.holder.wire.split(':').at(-1) ?? 'none');
  });

  it('writes nothing where it gives the name back', async () => {
    const { runtime } = fixture;
    const { election } = fixture.process('a');
    void election.lead(new TestWork().run);
    await runtime.advance(5_000);
    await runtime.advanceUntil(election.resign());
    expect(await kept()).toEqual([]);
  });

  it('writes nothing if it was told not to', async () => {
    const { runtime } = fixture;
    const { leases, link } = fixture.process('a');
    const elections = new Elections(leases, { evidence: false });
    void elections.election('quiet').lead(new TestWork().run);
    await runtime.advance(5_000);
    link.cut();
    await runtime.advance(4_500);
    link.heal();
    await runtime.advance(31_000);
    await runtime.advanceUntil(elections.close());
    expect(await readEvidence(fixture.operator, 'quiet', call)).toEqual([]);
    expect(() => new Elections(leases, { evidence: 'no' as never })).toThrow(/evidence/);
  });

  it('holds up a close for no longer than one request, and leaves no timer', async () => {
    const { runtime } = fixture;
    const a = fixture.process('a');
    void a.election.lead(new TestWork().run);
    await runtime.advance(5_000);
    a.link.hang();
    await runtime.advance(4_100);
    const startedMs = runtime.now().monotonicMs;
    await runtime.advanceUntil(a.elections.close());
    expect(runtime.now().monotonicMs - startedMs).toBeLessThanOrEqual(2_500);
    a.link.heal();
    await a.close();
    await runtime.advance(100);
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('sends nothing more once its close has given up, and leaves no timer', async () => {
    const { runtime } = fixture;
    const requests: string[] = [];
    let answer = () => {};
    const writer = new EvidenceWriter({
      runtime,
      timeoutMs: 1_000,
      coordinator: {
        readDocument: () => {
          requests.push('read');
          return new Promise((resolve) => {
            answer = () => resolve(undefined);
          });
        },
        writeDocument: () => {
          requests.push('write');
          return Promise.resolve({ outcome: 'written', version: 1 });
        },
      } as Partial<Coordinator> as Coordinator,
    });
    writer.add(loss(1));
    await runtime.advance(10);
    await runtime.advanceUntil(writer.close());
    expect(runtime.pendingTimerCount).toBe(0);
    answer();
    await runtime.advance(10_000);
    expect(requests).toEqual(['read']);
  });

  it('tries again where others are always faster', async () => {
    const { runtime, operator } = fixture;
    let conflicts = 0;
    const writer = new EvidenceWriter({
      runtime,
      timeoutMs: 1_000,
      coordinator: {
        readDocument: operator.readDocument.bind(operator),
        writeDocument: async (...input: Parameters<Coordinator['writeDocument']>) => {
          conflicts += 1;
          if (conflicts <= 12) return { outcome: 'conflict', current: undefined };
          return operator.writeDocument(...input);
        },
      } as Partial<Coordinator> as Coordinator,
    });
    writer.add(loss(1));
    await runtime.advance(5_000);
    expect(await kept()).toHaveLength(1);
    await runtime.advanceUntil(writer.close());
  });

  it('says once that the store refuses to keep it, and leads on', async () => {
    const { runtime } = fixture;
    const document = evidenceDocumentOf(name);
    await fixture.operator.writeDocument(document, 'something foreign', 0, call);
    const { election } = fixture.process('a');
    const told: unknown[] = [];
    election.events.on('evidenceFailed', ({ error }) => told.push(error));
    void election.lead(() => {
      throw new RangeError('no');
    });
    await runtime.advance(30_000);
    expect(told).toMatchObject([{ code: 'TENURE_RECORD_CORRUPT' }]);
  });

  it('is explained by what it kept', async () => {
    const { runtime } = fixture;
    const a = fixture.process('a');
    void a.election.lead(new TestWork().run);
    await runtime.advance(5_000);
    a.freeze();
    await runtime.advance(9_000);
    a.thaw();
    await runtime.advance(5_000);
    const { findings, leaderId } = await diagnose({ coordinator: fixture.operator, name, runtime });
    expect(findings[0]).toMatchObject({ cause: 'process-paused', endingCount: 1 });
    expect(leaderId).toBe('a');
  });
});

describe('what is kept', () => {
  it('is bounded: by name, by age, and in bytes', () => {
    const now = startMs + 40 * 24 * 3_600_000;
    const many = Array.from({ length: 40 }, (_, index) => loss(index + 1, { atMs: now - index }));
    const old = loss(99, { atMs: startMs });
    const merged = mergeEvidence([old, ...many], [note('duplicate-id', 0, { atMs: now })], now);
    expect(merged).toHaveLength(30);
    expect(merged.at(-1)).toMatchObject({ kind: 'note' });
    const names = Array.from({ length: 1_000 }, (_, index) =>
      loss(1, { name: `n${index}`, atMs: now }),
    );
    expect(Buffer.byteLength(formatEvidence(mergeEvidence([], names, now)))).toBeLessThanOrEqual(
      128 * 1024,
    );
    const documents = new Set(names.map((one) => evidenceDocumentOf(one.name)));
    expect(documents.size).toBe(64);
  });

  it('is not pushed out by what a clock wrote that is a year ahead', () => {
    const yearMs = 365 * 24 * 3_600_000;
    const ahead = Array.from({ length: 30 }, (_, index) =>
      loss(index + 1, { atMs: startMs + yearMs + index }),
    );
    const laterMs = startMs + 60_000;
    const first = mergeEvidence(ahead, [loss(50, { atMs: startMs })], startMs);
    const merged = mergeEvidence(first, [loss(51, { atMs: laterMs })], laterMs);
    expect(merged.at(-1)).toMatchObject({ term: 51 });
    expect(merged.every(({ atMs }) => atMs <= laterMs)).toBe(true);
    const monthLaterMs = laterMs + 31 * 24 * 3_600_000;
    const next = loss(52, { atMs: monthLaterMs });
    expect(mergeEvidence(merged, [next], monthLaterMs)).toEqual([next]);
  });

  it('is not pushed out by a writer whose clock is a year ahead', () => {
    const aheadMs = startMs + 365 * 24 * 3_600_000;
    const others = ['replica-1', 'replica-2', 'replica-1'].map((holderId, index) =>
      loss(index + 1, { holderId, atMs: startMs + index }),
    );
    let merged = mergeEvidence([], others, startMs);
    for (let round = 0; round < 40; round++) {
      const own = loss(100 + round, { holderId: 'ahead', atMs: aheadMs + round });
      merged = mergeEvidence(merged, [own], aheadMs + round);
      expect(merged).toContainEqual(own);
    }
    expect(merged).toHaveLength(30);
    expect(merged.slice(0, 3)).toEqual(others);
    // Nor where it is the size that counts.
    const names = Array.from({ length: 1_000 }, (_, index) =>
      loss(1, { name: `n${index}`, holderId: 'ahead', atMs: aheadMs }),
    );
    const full = formatEvidence(mergeEvidence(others, names, aheadMs));
    expect(parseEvidenceDocument('evidence/1', full).slice(0, 3)).toEqual(others);
  });

  it('is read as it was written, and written once', () => {
    const entries = [loss(1), note('work-failed', 31, { term: 1, detail: 'TypeError' })];
    const text = formatEvidence(entries);
    expect(parseEvidenceDocument('evidence/1', text)).toEqual(entries);
    expect(mergeEvidence(entries, entries, startMs)).toHaveLength(2);
  });

  it('is what it has to be, whatever somebody wrote there', () => {
    const entries = [
      ...[
        null,
        7,
        'text',
        [],
        {},
        { kind: 'loss' },
        { kind: 'other', name, holderId: 'a', atMs: 1 },
      ],
      { ...loss(1), name: '../up' },
      { ...loss(1), reason: 'whim' },
      { ...loss(1), atMs: Number.MAX_VALUE },
      { ...loss(2), renewals: 7, machine: null, errors: { timeout: -1, whim: 3 }, ttlMs: 'long' },
    ];
    const text = JSON.stringify({ format: 1, entries });
    expect(parseEvidenceDocument('evidence/1', text)).toMatchObject([
      {
        term: 2,
        errors: {},
        ttlMs: 0,
        renewals: { answeredCount: 0, last: [] },
        machine: { overMs: 0 },
      },
    ]);
    for (const bad of ['', '7', 'null', '[]', '{"format":2,"entries":[]}', '{"format":1}'])
      expect(() => parseEvidenceDocument('evidence/1', bad)).toThrow(/evidence\/1/);
  });

  it('loses nothing when several write at once', async () => {
    const document = evidenceDocumentOf(name);
    const writes = Array.from({ length: 8 }, (_, index) =>
      addEvidence(
        fixture.operator,
        document,
        [loss(index + 1, { atMs: startMs + index })],
        startMs,
        call,
      ),
    );
    await Promise.all(writes);
    expect(await kept()).toHaveLength(8);
  });
});

describe('what the system counts of a thread', () => {
  it('rises while it computes', () => {
    const before = systemCounters().ranMs ?? Number.NaN;
    const startedMs = process.cpuUsage().user;
    while (process.cpuUsage().user - startedMs < 30_000);
    expect((systemCounters().ranMs ?? Number.NaN) - before).toBeGreaterThan(10);
  });
});
