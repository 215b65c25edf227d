import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseSince } from '../../src/cli/diagnose/command.js';
import { report } from '../../src/cli/diagnose/report.js';
import { addEvidence } from '../../src/elections/evidence/book.js';
import { evidenceDocumentOf } from '../../src/elections/evidence/document.js';
import { loss } from '../diagnosis/facts.js';
import { call } from '../support/call.js';
import { startInside } from './command-inside.js';
import { createDesk, type Desk } from './session.js';

const everything = { name: 'payments', sinceMs: undefined, beforeMs: undefined };

/** Two terms that were lost to a blocked loop, and one that was given back. */
async function story({ runtime, session, actor }: Desk): Promise<void> {
  const { coordinator } = session;
  const first = actor('replica-1');
  for (const _ of [1, 2]) {
    const term = await first.acquire('payments', { ttlMs: 6_000 });
    await runtime.advance(8_000);
    const machine = {
      ...loss(term).machine,
      longestStall: { forMs: 4_400, ranMs: 4_200, waitedMs: 100 },
    };
    const seen = loss(term, { machine, atMs: runtime.now().wallMs - 2_000 });
    const document = evidenceDocumentOf('payments');
    await addEvidence(coordinator, document, [seen], runtime.now().wallMs, call);
  }
  const term = await first.acquire('payments');
  await runtime.advance(4_000);
  await first.release('payments', term);
  await actor('replica-2').acquire('payments');
}

describe('tenure diagnose', () => {
  it('says the cause that explains most first, with evidence, cost and advice', async () => {
    const desk = createDesk();
    await story(desk);
    await report(desk.session, everything, 'text');
    expect(desk.terminal.printed.slice(0, 13)).toEqual([
      'payments: 2 terms lost and 1 given back in 20 s, since 2026-01-01T00:00:00Z',
      '  leads now        replica-2',
      '  without leader   4 s (20 %), at most 2 s at a time',
      '  writes refused   none that their leaders told of',
      '  evidence         of 2 of 2 terms',
      '',
      ' 1  the event loop was blocked by work of the process',
      '    2 terms, 4 s without leader',
      expect.stringMatching(/^ {4}- term \d+: the event loop stood still for 4.4 s, of which it$/),
      '      computed for 4.2 s',
      expect.stringMatching(/^ {4}- term \d+: the event loop stood still/),
      '      computed for 4.2 s',
      expect.stringMatching(/^ {4}> divide the work/),
    ]);
    expect(desk.terminal.answerText).toContain(
      'a ttl of 15 s instead of 6 s outlasts a pause of 4.4 s',
    );
    expect(desk.terminal.answerText).toContain(' 2  the name was given back on purpose');
    for (const line of desk.terminal.printed) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('says that nobody knows when a leader that told nothing had died', async () => {
    const { session, terminal, runtime, actor } = createDesk();
    const first = actor('replica-1');
    await first.acquire('payments');
    await runtime.advance(60_000);
    await actor('replica-2').acquire('payments');
    await report(session, everything, 'text');
    expect(terminal.printed[3]).toBe(
      '                   at least: 1 term told nothing (up to a ttl more each)',
    );
  });

  it('judges by the history alone where something foreign stands in place of the evidence, and says so', async () => {
    const desk = createDesk();
    await story(desk);
    const { coordinator } = desk.session;
    const document = evidenceDocumentOf('payments');
    const stored = await coordinator.readDocument(document, call);
    await coordinator.writeDocument(document, 'foreign', stored?.version ?? 0, call);
    await report(desk.session, everything, 'text');
    const { printed } = desk.terminal;
    expect(printed.slice(0, 7)).toEqual([
      'payments: 2 terms lost and 1 given back in 20 s, since 2026-01-01T00:00:00Z',
      '  leads now        replica-2',
      '  without leader   4 s (20 %), at most 2 s at a time',
      '                   at least: of 2 terms nothing is kept (up to a ttl more each)',
      '  writes refused   not known: the evidence cannot be read',
      `  evidence         the document "${document}" is no evidence of elections. It was`,
      '                   left alone; repair or remove it.',
    ]);
    expect(printed).toContain(' 1  the name was given back on purpose, as by a deploy');
    expect(printed).toContain(
      ' 2  what the leaders told of it, if they did, can no longer be read',
    );
    for (const line of printed) expect(line.length).toBeLessThanOrEqual(80);
    await report(desk.session, everything, 'json');
    expect(JSON.parse(printed.at(-1) ?? '')).toMatchObject({
      evidenceProblem: expect.stringContaining(`"${document}" is no evidence`),
      findings: [{ cause: 'deploy' }, { cause: 'no-longer-kept', endingCount: 2 }],
    });
  });

  it('compares with the time before', async () => {
    const desk = createDesk();
    await story(desk);
    const sinceMs = desk.runtime.now().wallMs - 5_000;
    await report(desk.session, { name: 'payments', sinceMs, beforeMs: 15_000 }, 'text');
    const text = desk.terminal.answerText;
    expect(text).toMatch(/COMPARED +15 s BEFORE +5 s SINCE/);
    expect(text).toMatch(/loop-blocked +2 +0/);
    expect(text).toMatch(/too few losses to tell/);
  });

  it('says all of it to programs', async () => {
    const desk = createDesk();
    await story(desk);
    await report(desk.session, everything, 'json');
    const answer = JSON.parse(desk.terminal.answerText);
    expect(answer).toMatchObject({
      store: 'redis://store.example:6379',
      namespace: 'default',
      name: 'payments',
      leaderId: 'replica-2',
      comparison: null,
      period: { lostCount: 2, plannedCount: 1 },
      findings: [
        { cause: 'loop-blocked', endingCount: 2 },
        { cause: 'deploy', isPlanned: true },
      ],
    });
    expect(answer.timeline).toHaveLength(12);
  });

  it('of a name that nothing is known of says that, as history does', async () => {
    const { session, terminal } = createDesk();
    await report(session, everything, 'text');
    expect(terminal.printed).toEqual([]);
    expect(terminal.notes[0]).toBe('no history of payments');
    expect(terminal.noteText).toContain('redis://store.example:6379, namespace default');
  });

  it('says why nobody leads now', async () => {
    const desk = createDesk();
    await story(desk);
    const { session, terminal, runtime } = desk;
    const leaders = async () => {
      await report(session, everything, 'text');
      return terminal.printed.findLast((line) => line.startsWith('  leads now'));
    };
    await runtime.advance(60_000);
    expect(await leaders()).toBe(
      '  leads now        nobody: it is free; tenure candidates tells who waits for it',
    );
    await session.coordinator.suspend('payments', { by: 'ann', reason: 'INC-2' }, call);
    expect(await leaders()).toBe('  leads now        nobody: it is suspended by ann: INC-2');
    await report(session, everything, 'json');
    expect(JSON.parse(terminal.printed.at(-1) ?? '')).toMatchObject({
      leaderId: null,
      state: 'suspended',
    });
  });

  it('shows what somebody wrote into the store as text, and obeys none of it', async () => {
    const desk = createDesk();
    await story(desk);
    const { coordinator } = desk.session;
    const document = evidenceDocumentOf('payments');
    const term = (await coordinator.history('payments', call)).flatMap((entry) =>
      entry.kind === 'term' ? entry.term : [],
    )[2];
    const note = {
      kind: 'note',
      name: 'payments',
      holderId: 'replica-1',
      what: 'work-failed',
    } as const;
    const { wallMs } = desk.runtime.now();
    const entry = { ...note, atMs: wallMs, term: term ?? 0, detail: '\x1b[2J' };
    await addEvidence(coordinator, document, [entry], wallMs, call);
    await report(desk.session, everything, 'text');
    expect(desk.terminal.answerText).toContain('\\x1b[2J');
    expect(desk.terminal.answerText).not.toContain('\x1b');
  });

  it('reads times with their zone, and durations as so long ago', () => {
    const sinceMs = Date.UTC(2026, 10, 30, 10);
    expect(parseSince('2h')).toEqual({ lastMs: 7_200_000 });
    expect(parseSince('2026-11-30T10:00Z')).toEqual({ sinceMs });
    expect(parseSince('2026-11-30T11:00+01:00')).toEqual({ sinceMs });
    for (const bad of ['2026-11-30T10:00', '2026-13-30T10:00Z', 'yesterday', '', '10'])
      expect(() => parseSince(bad)).toThrow(/--since/);
    for (const bad of ['yesterday', '2 hours ago', 'monday', '20:00Z', '5'])
      expect(() => parseSince(bad)).toThrow(
        /is neither a duration nor a time .*2m, 1h or 1d, or a time such as 2026-11-30T10:00Z/,
      );
  });

  it('refuses a time that is still to come, as it was written, with what to write', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-diagnose-'));
    const url = `sqlite:${join(folder, 'tenure.db')}`;
    const ask = (since: string) =>
      startInside(['diagnose', 'payments', '--since', since, '--url', url]).ended;
    try {
      const { status, stdout, stderr } = await ask('2999-01-01T00:00Z');
      expect([status, stdout]).toEqual([64, '']);
      expect(stderr.replace(/\s+/g, ' ')).toContain(
        '--since lies in the future (got "2999-01-01T00:00Z"): use a time that is over, such as 2h',
      );
      expect((await ask('1h')).status).toBe(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
