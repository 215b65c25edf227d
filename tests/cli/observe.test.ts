import { describe, expect, it } from 'vitest';
import { candidates } from '../../src/cli/observe/candidates.js';
import { history } from '../../src/cli/observe/history.js';
import { status } from '../../src/cli/observe/status.js';
import { who } from '../../src/cli/observe/who.js';
import { RecordCorruptError } from '../../src/errors/index.js';
import { call } from '../support/call.js';
import { createDesk } from './session.js';

const by = 'ana@desk';

describe('tenure who', () => {
  it('prints the id of the holder, and nothing else', async () => {
    const { session, terminal, actor } = createDesk();
    await actor('replica-1').acquire('payments');
    expect(await who(session, 'payments')).toBe(true);
    expect(terminal.printed).toEqual(['replica-1']);
    expect(terminal.notes).toEqual([]);
  });

  it('prints nothing if nobody holds the name, and says that it is free', async () => {
    const { session, terminal } = createDesk();
    expect(await who(session, 'payments')).toBe(false);
    expect(terminal.printed).toEqual([]);
    expect(terminal.notes).toEqual([
      'tenure who: nobody holds payments: it is free',
      `  at:   ${session.address}, namespace default`,
    ]);
  });

  it('says for whom a name is reserved, and how long', async () => {
    const { session, terminal, runtime, actor } = createDesk();
    const first = actor('replica-1');
    const term = await first.acquire('payments');
    await first.handoff('payments', term, 'replica-2', 30_000);
    await runtime.advance(10_000);
    expect(await who(session, 'payments')).toBe(false);
    expect(terminal.noteText).toBe(
      `tenure who: nobody holds payments: it is reserved for replica-2, after term ${term}; 20.0 s left`,
    );
  });

  it('says how long a lock-delay lasts', async () => {
    const { session, terminal, runtime, actor } = createDesk();
    const term = await actor('replica-1').acquire('payments', { ttlMs: 5_000, graceMs: 60_000 });
    await runtime.advance(15_000);
    expect(await who(session, 'payments')).toBe(false);
    expect(terminal.noteText).toContain(
      `in its lock-delay, after term ${term} expired; 50.0 s left`,
    );
  });

  it('says who suspended the name and why', async () => {
    const { session, terminal } = createDesk();
    await session.coordinator.suspend('payments', { by, reason: 'INC-12' }, call);
    expect(await who(session, 'payments')).toBe(false);
    expect(terminal.noteText).toContain('it is suspended by ana@desk: INC-12');
  });

  it('names the holder of a revoked term, since it may still believe, and says that it is revoked', async () => {
    const { session, terminal, actor } = createDesk();
    await actor('replica-1').acquire('payments');
    await session.coordinator.revoke('payments', { by, reason: 'stuck' }, call);
    expect(await who(session, 'payments')).toBe(true);
    expect(terminal.printed).toEqual(['replica-1']);
    expect(terminal.noteText).toContain('revoked by ana@desk: stuck');
  });
});

describe('tenure status', () => {
  it('shows all names of the root group, aligned, and what stands under each', async () => {
    const { session, terminal, runtime, actor } = createDesk();
    const first = actor('replica-1');
    const term = await first.acquire('payments');
    const old = await first.acquire('a');
    await first.handoff('a', old, 'replica-2');
    await first.acquire('jobs/1');
    await session.coordinator.suspend('reports', { by, reason: 'INC-12' }, call);
    await runtime.advance(2_500);
    expect(await status(session, [], 'text')).toBe(true);
    expect(terminal.printed).toEqual([
      'NAME      STATE      HOLDER     TERM           HELD FOR  LEFT    NOTE',
      `a         reserved   -          ${old}            27.5 s  for replica-2`,
      `payments  held       replica-1  ${term}  2.5 s     27.5 s`,
      'reports   suspended  -                                           by ana@desk: INC-12',
    ]);
  });

  it('shows a group, a name in it, and a free name', async () => {
    const { session, terminal, actor } = createDesk();
    await actor('replica-1').acquire('jobs/1');
    await status(session, ['jobs', 'jobs/1', 'payments'], 'text');
    expect(terminal.printed.map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
      ['NAME', 'STATE'],
      ['jobs/1', 'held'],
      ['payments', 'free'],
    ]);
  });

  it('shows a damaged record among the others, which would read as free if it were left out, and ends as for one alone', async () => {
    const { session, terminal, store, actor } = createDesk();
    await actor('replica-1').acquire('payments');
    store.overwriteRecord('good', 'hello');
    await expect(status(session, [], 'text')).rejects.toThrow(RecordCorruptError);
    expect(terminal.printed.map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
      ['NAME', 'STATE', 'HOLDER'],
      ['good', 'unreadable', '-'],
      ['payments', 'held', 'replica-1'],
    ]);
    expect(terminal.printed[1]).toContain('no record of a lease: granted to nobody');
  });

  it('tells programs of a damaged record, and why it is none', async () => {
    const { session, terminal, store } = createDesk();
    store.overwriteRecord('jobs/1', 'hello');
    await expect(status(session, ['jobs'], 'json')).rejects.toThrow(RecordCorruptError);
    expect(JSON.parse(terminal.answerText).names).toEqual([
      { name: 'jobs/1', state: 'unreadable', problem: expect.stringContaining('"jobs/1"') },
    ]);
  });

  it('shows a damaged record that it was asked for by name, and how to see to each further one', async () => {
    const { session, terminal, store, actor } = createDesk();
    await actor('replica-1').acquire('payments');
    for (const name of ['good', 'evil']) store.overwriteRecord(name, 'hello');
    await expect(status(session, ['good', 'payments', 'evil'], 'text')).rejects.toThrow('"good"');
    expect(terminal.printed.map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
      ['NAME', 'STATE'],
      ['good', 'unreadable'],
      ['payments', 'held'],
      ['evil', 'unreadable'],
    ]);
    expect(terminal.notes).toEqual([
      'tenure status: evil is unreadable',
      `  next: ${session.write(['status', 'evil'])}`,
    ]);
  });

  it('shows ttl, lock-delay and metadata when asked for all', async () => {
    const { session, terminal, actor } = createDesk();
    await actor('replica-1').acquire('payments', { graceMs: 90_000, metadata: '{"zone":"a"}' });
    await status(session, [], 'wide');
    expect(terminal.printed[0]).toContain('TTL     LOCK-DELAY  METADATA');
    expect(terminal.printed[1]).toContain('30.0 s  1 m 30 s    {"zone":"a"}');
  });

  it('writes one stable shape for programs', async () => {
    const { session, terminal, runtime, actor } = createDesk();
    const first = actor('replica-1');
    const term = await first.acquire('payments', { metadata: '{"zone":"a"}' });
    const grantedAtMs = runtime.now().wallMs;
    await runtime.advance(1_000);
    await session.coordinator.revoke(
      'payments',
      { by, reason: 'stuck', to: 'b', reserveMs: 9 },
      call,
    );
    await session.coordinator.suspend('reports', { by, reason: 'INC-12' }, call);
    await status(session, ['payments', 'reports', 'nothing'], 'json');
    expect(JSON.parse(terminal.answerText)).toEqual({
      store: 'redis://store.example:6379',
      namespace: 'default',
      names: [
        {
          name: 'payments',
          state: 'held',
          holderId: 'replica-1',
          holderDigest: first.holder.digest,
          term,
          remainingMs: 29_000,
          ttlMs: 30_000,
          grantedAtMs,
          renewedAtMs: grantedAtMs,
          graceMs: 0,
          metadata: { zone: 'a' },
          revocation: { by, reason: 'stuck', atMs: grantedAtMs + 1_000, to: 'b' },
        },
        {
          name: 'reports',
          state: 'suspended',
          suspension: { by, reason: 'INC-12', atMs: grantedAtMs + 1_000, to: null },
          ending: null,
        },
        { name: 'nothing', state: 'free' },
      ],
    });
  });

  it('says on the side that nothing stands there', async () => {
    const { session, terminal } = createDesk();
    expect(await status(session, [], 'text')).toBe(true);
    expect(terminal.printed).toEqual([]);
    expect(terminal.noteText).toContain('nothing stands in the root group');
    await status(session, [], 'json');
    expect(JSON.parse(terminal.answerText)).toMatchObject({ names: [] });
  });

  it('says on the side that it shows the root group alone', async () => {
    const { session, terminal, actor } = createDesk();
    await actor('replica-1').acquire('payments');
    await status(session, [], 'text');
    expect(terminal.noteText).toContain('names such as GROUP/NAME are not among these');
    await status(session, ['payments'], 'text');
    await status(session, [], 'json');
    expect(terminal.notes).toHaveLength(2);
  });

  it('shows nothing that a terminal would obey', async () => {
    const { session, terminal, actor } = createDesk();
    const first = actor('replica-1');
    await first.acquire('a\u202eb', { metadata: JSON.stringify({ title: '\u009b2J\u2028' }) });
    for (const format of ['wide', 'json'] as const) await status(session, [], format);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(terminal.answerText).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]/);
    expect(terminal.answerText).toContain('a\\u202eb');
    expect(terminal.answerText).toContain('\\x9b2J\\u2028');
    const json = terminal.printed.at(-1) ?? '';
    expect(JSON.parse(json).names[0]).toMatchObject({
      name: 'a\u202eb',
      metadata: { title: '\u009b2J\u2028' },
    });
  });
});

describe('tenure history', () => {
  it('shows each term with what came between, and each act with who and why', async () => {
    const { session, terminal, runtime, actor } = createDesk();
    const [first, second] = [actor('replica-1'), actor('replica-2')];
    const term = await first.acquire('payments');
    await runtime.advance(20_000);
    await session.coordinator.revoke('payments', { by, reason: 'stuck' }, call);
    await first.release('payments', term);
    await runtime.advance(3_400);
    const next = await second.acquire('payments');
    await history(session, 'payments', 'text');
    const [header, ...lines] = terminal.printed;
    expect(header?.split(/ {2,}/)).toEqual(['AT', 'WHAT', 'WHO', 'LASTED', 'VACANT', 'END']);
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['2026-01-01T00:00:00Z', `term ${term}`, 'replica-1', '20.0 s', '-', 'revoked'],
      ['2026-01-01T00:00:20Z', 'revoke', by, '-', '-', 'stuck'],
      ['2026-01-01T00:00:23Z', `term ${next}`, 'replica-2', '-', '3.4 s', 'goes on'],
    ]);
  });

  it('writes times as numbers for programs', async () => {
    const { session, terminal, runtime, actor } = createDesk();
    const term = await actor('replica-1').acquire('payments');
    const grantedAtMs = runtime.now().wallMs;
    await session.coordinator.suspend('payments', { by, reason: 'INC-12' }, call);
    await history(session, 'payments', 'json');
    expect(JSON.parse(terminal.answerText)).toEqual({
      store: 'redis://store.example:6379',
      namespace: 'default',
      name: 'payments',
      entries: [
        {
          kind: 'term',
          term,
          holderId: 'replica-1',
          grantedAtMs,
          endedAtMs: null,
          endReason: null,
          vacantMs: null,
        },
        { kind: 'act', act: 'suspend', by, reason: 'INC-12', atMs: grantedAtMs, to: null },
      ],
    });
  });

  it('says on the side that there is none', async () => {
    const { session, terminal } = createDesk();
    expect(await history(session, 'payments', 'text')).toBe(true);
    expect(terminal.printed).toEqual([]);
    expect(terminal.notes[0]).toBe('no history of payments');
    expect(terminal.notes.at(-1)).toBe(`  at:   ${session.address}, namespace default`);
  });
});

describe('tenure candidates', () => {
  it('shows who waits in the order of the calls, then who leads and who observes', async () => {
    const { session, terminal, actor } = createDesk();
    const leader = actor('replica-1');
    await leader.acquire('payments');
    await leader.stand('payments');
    await actor('replica-2').wait('payments', 0, '{"zone":"b"}');
    await actor('replica-3').wait('payments', 5);
    await actor('dashboard').observe('payments');
    await candidates(session, 'payments', 'text');
    expect(terminal.printed.map((line) => line.split(/ {2,}/).slice(0, 4))).toEqual([
      ['PLACE', 'ID', 'STANDING', 'PREFERENCE'],
      ['1', 'replica-3', 'waiting', '5'],
      ['2', 'replica-2', 'waiting', '0'],
      ['-', 'dashboard', 'observing', '0'],
      ['-', 'replica-1', 'leads', '0'],
    ]);
    expect(terminal.printed[2]).toContain('{"zone":"b"}');
  });

  it('tells incarnations of one id apart: only the one that holds the name leads', async () => {
    const { session, terminal, actor } = createDesk();
    const [old, restarted] = [actor('replica-1'), actor('replica-1')];
    await old.acquire('payments');
    await restarted.wait('payments');
    await old.stand('payments');
    await candidates(session, 'payments', 'json');
    const { candidates: found } = JSON.parse(terminal.answerText);
    expect(found).toMatchObject([
      { position: 0, id: 'replica-1', digest: restarted.holder.digest, leads: false },
      { position: null, id: 'replica-1', digest: old.holder.digest, leads: true, metadata: null },
    ]);
  });

  it('says on the side that there are none', async () => {
    const { session, terminal } = createDesk();
    expect(await candidates(session, 'payments', 'text')).toBe(true);
    expect(terminal.printed).toEqual([]);
    expect(terminal.noteText).toContain('no candidates for payments');
  });
});
