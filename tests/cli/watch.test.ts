import { describe, expect, it } from 'vitest';
import { InterruptedError } from '../../src/cli/exit-status.js';
import { watch } from '../../src/cli/observe/watch.js';
import { altered } from '../support/altered.js';
import { call } from '../support/call.js';
import { createDesk, type Desk } from './session.js';

/** Without the time in front. */
const said = ({ terminal }: Desk) => terminal.printed.map((line) => line.replace(/^\S+Z {2}/, ''));

/** Ctrl-C; the exit status. */
async function stop({ stopping, runtime }: Desk, watching: Promise<boolean | number>) {
  stopping.abort(new InterruptedError('SIGINT'));
  return await runtime.advanceUntil(watching);
}

describe('tenure watch', () => {
  it('tells what stands there, then each change, until it is interrupted', async () => {
    const desk = createDesk();
    const { session, runtime, actor } = desk;
    const [first, second] = [actor('replica-1'), actor('replica-2')];
    const term = await first.acquire('payments');
    const watching = watch(session, undefined, 'text');
    await runtime.advance(5_000);
    await first.renew('payments', term);
    await runtime.advance(5_000);
    await first.handoff('payments', term, 'replica-2', 30_000);
    await runtime.settle();
    const next = await second.acquire('payments');
    await runtime.settle();
    await session.coordinator.suspend('payments', { by: 'ana@desk', reason: 'INC-12' }, call);
    await runtime.advance(1_000);
    await second.release('payments', next);
    await runtime.settle();
    expect(await stop(desk, watching)).toBe(130);
    expect(said(desk)).toEqual([
      `payments  held by replica-1, term ${term}, 30.0 s left`,
      `payments  reserved for replica-2, after term ${term}, 30.0 s left`,
      `payments  held by replica-2, term ${next}, 30.0 s left`,
      `payments  suspended by ana@desk: INC-12; replica-2 may still believe in term ${next}, 30.0 s left`,
      'payments  suspended by ana@desk: INC-12',
    ]);
    expect(desk.terminal.notes).toEqual([]);
  });

  it('tells of a record that is damaged, goes on, and tells what becomes of it', async () => {
    for (const target of [undefined, 'good']) {
      const desk = createDesk();
      const { session, runtime, store, actor } = desk;
      const term = await actor('replica-1').acquire('good');
      const watching = watch(session, target, 'text');
      await runtime.advance(1_000);
      store.overwriteRecord('good', 'hello');
      await runtime.advance(5_000);
      store.deleteRecord('good');
      await runtime.advance(5_000);
      expect(await stop(desk, watching)).toBe(130);
      expect(said(desk)).toEqual([
        `good  held by replica-1, term ${term}, 30.0 s left`,
        'good  unreadable: what stands there is no record of a lease, and nobody is granted the name',
        'good  free',
      ]);
      expect(desk.terminal.notes).toEqual([
        'tenure watch: good is unreadable',
        `  next: ${session.write(['status', 'good'])}`,
      ]);
    }
  });

  it('says what it watches while nothing stands there, beside what it prints', async () => {
    for (const format of ['text', 'jsonl'] as const) {
      const desk = createDesk();
      const watching = watch(desk.session, undefined, format);
      await desk.runtime.advance(5_000);
      expect(desk.terminal.printed).toEqual([]);
      expect(desk.terminal.notes).toEqual([
        'tenure watch: nothing stands in the root group of namespace default yet',
        '  at:   redis://store.example:6379',
      ]);
      await desk.actor('replica-1').acquire('payments');
      await desk.runtime.settle();
      expect(desk.terminal.printed).toHaveLength(1);
      await stop(desk, watching);
    }
  });

  it('ends when nobody reads it any more, though nothing changes', async () => {
    const desk = createDesk();
    const watching = watch(desk.session, 'payments', 'text');
    await desk.runtime.advance(5_000);
    desk.terminal.leave();
    expect(await desk.runtime.advanceUntil(watching)).toBe(141);
    expect(said(desk)).toEqual(['payments  free']);
  });

  it('sees an expiry when it happens, on stores where that wakes nobody', async () => {
    const desk = createDesk();
    const term = await desk.actor('replica-1').acquire('payments', { ttlMs: 400 });
    const coordinator = altered(desk.session.coordinator, { watch: () => () => {} });
    const watching = watch({ ...desk.session, coordinator }, 'payments', 'text');
    await desk.runtime.advance(450);
    await stop(desk, watching);
    expect(said(desk)).toEqual([
      `payments  held by replica-1, term ${term}, 0.4 s left`,
      'payments  free',
    ]);
  });

  it('sees the end of a revoked term in time too, on such stores', async () => {
    const desk = createDesk();
    const { session, actor } = desk;
    const term = await actor('replica-1').acquire('payments', { ttlMs: 400 });
    await session.coordinator.suspend('payments', { by: 'ana', reason: 'INC-12' }, call);
    const coordinator = altered(session.coordinator, { watch: () => () => {} });
    const watching = watch({ ...session, coordinator }, 'payments', 'text');
    await desk.runtime.advance(450);
    await stop(desk, watching);
    expect(said(desk)).toEqual([
      `payments  suspended by ana: INC-12; replica-1 may still believe in term ${term}, 0.4 s left`,
      'payments  suspended by ana: INC-12',
    ]);
  });

  it('is unsure of what has run out while no answer comes, and not before', async () => {
    const desk = createDesk();
    const { session, runtime, link, actor } = desk;
    const term = await actor('replica-1').acquire('payments', { ttlMs: 2_000 });
    const watching = watch(session, 'payments', 'text');
    await runtime.advance(500);
    link.hang();
    await runtime.advance(1_900);
    expect(said(desk)).toHaveLength(1);
    await runtime.advance(200);
    expect(said(desk)).toHaveLength(2);
    link.heal();
    await runtime.advance(10_000);
    await stop(desk, watching);
    expect(said(desk)).toEqual([
      `payments  held by replica-1, term ${term}, 2.0 s left`,
      expect.stringMatching(/^unsure: .*has not answered/),
      'the store answers again',
      'payments  free',
    ]);
  });

  it('tells of a name that is free, and of a group that comes to be', async () => {
    const desk = createDesk();
    const watching = watch(desk.session, 'jobs', 'text');
    await desk.runtime.settle();
    const term = await desk.actor('replica-1').acquire('jobs/1');
    await desk.runtime.settle();
    await stop(desk, watching);
    expect(said(desk)).toEqual([
      'jobs  free',
      `jobs/1  held by replica-1, term ${term}, 30.0 s left`,
    ]);
  });

  it('says once that it is unsure when the store does not answer, and tells all again afterwards', async () => {
    const desk = createDesk();
    const { session, runtime, link, actor } = desk;
    const term = await actor('replica-1').acquire('payments');
    const watching = watch(session, 'payments', 'text');
    await runtime.settle();
    link.cut();
    await runtime.advance(20_000);
    link.heal();
    await runtime.advance(5_000);
    await stop(desk, watching);
    expect(said(desk)).toEqual([
      `payments  held by replica-1, term ${term}, 30.0 s left`,
      expect.stringMatching(/^unsure: /),
      'the store answers again',
      expect.stringMatching(`payments  held by replica-1, term ${term}, [0-9.]+ s left`),
    ]);
  });

  it('tells after a doubt of what went meanwhile', async () => {
    const desk = createDesk();
    const { session, runtime, link, actor } = desk;
    const first = actor('replica-1');
    const term = await first.acquire('payments');
    const watching = watch(session, undefined, 'text');
    await runtime.settle();
    link.cut();
    await first.release('payments', term);
    await runtime.advance(3_000);
    link.heal();
    await runtime.advance(5_000);
    await stop(desk, watching);
    expect(said(desk).slice(2)).toEqual(['the store answers again', 'payments  free']);
  });

  it('fails if the store does not answer at first', async () => {
    const { session, link } = createDesk();
    link.cut();
    await expect(watch(session, 'payments', 'text')).rejects.toMatchObject({
      code: 'TENURE_UNREACHABLE',
    });
  });

  it('writes one JSON object a line for programs', async () => {
    const desk = createDesk();
    const { session, runtime, link, actor, terminal } = desk;
    const term = await actor('replica-1').acquire('payments', { ttlMs: 10_000 });
    const watching = watch(session, 'payments', 'jsonl');
    await runtime.settle();
    link.cut();
    await runtime.advance(20_000);
    link.heal();
    await runtime.advance(5_000);
    await stop(desk, watching);
    const lines = terminal.printed.map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { name: 'payments', state: 'held', holderId: 'replica-1', term },
      { state: 'unsure', why: expect.any(String) },
      { state: 'sure' },
      { name: 'payments', state: 'free' },
    ]);
    expect(lines.every(({ seenAtMs }) => seenAtMs >= Date.UTC(2026, 0, 1))).toBe(true);
  });
});
