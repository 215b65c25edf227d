import { describe, expect, it } from 'vitest';
import { resumeAct } from '../../../src/cli/operate/resume.js';
import { suspendAct } from '../../../src/cli/operate/suspend.js';
import { createDesk, type Desk } from '../session.js';
import { act, begin, call, finish, standing } from './order.js';

describe('tenure suspend', () => {
  it('waits until nobody can believe in the term any more', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const operating = begin(desk, suspendAct('payments', act));
    await desk.runtime.advance(29_000);
    expect(desk.terminal.printed).toEqual([]);
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(desk.terminal.answerText).toBe('payments is suspended, and nobody holds it');
  });

  it('suspends a free name at once', async () => {
    const desk = createDesk();
    const before = desk.runtime.now().monotonicMs;
    expect(await finish(desk, suspendAct('payments', act))).toBe(0);
    expect(desk.runtime.now().monotonicMs - before).toBeLessThan(100);
    expect(await standing(desk)).toMatchObject({ state: 'suspended', suspension: act });
  });

  it('has nothing to do if it was suspended before, and says by whom', async () => {
    const desk = createDesk();
    await desk.session.coordinator.suspend('payments', { by: 'bo@desk', reason: 'INC-9' }, call);
    expect(await finish(desk, suspendAct('payments', act), { yes: false })).toBe(0);
    expect(desk.terminal.answerText).toBe('payments: it was suspended before, by bo@desk: INC-9');
  });

  it('tries on while the store is hard to reach', async () => {
    const desk = createDesk();
    const operating = begin(desk, suspendAct('payments', act));
    await Promise.resolve();
    desk.link.disturb('request', 'drop', { operation: 'suspend', count: 2 });
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(await standing(desk)).toMatchObject({ state: 'suspended' });
    expect(desk.terminal.noteText.match(/did not answer; trying again/g)).toHaveLength(1);
  });

  it('says that it stands when the waiting is broken off', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const operating = begin(desk, suspendAct('payments', act));
    await desk.runtime.advance(1_000);
    desk.stopping.abort(new Error('stopped'));
    await expect(desk.runtime.advanceUntil(operating)).rejects.toThrow('stopped');
    expect(desk.terminal.noteText).toContain('the suspend of payments stands');
  });
});

describe('tenure resume', () => {
  async function suspended(): Promise<Desk> {
    const desk = createDesk();
    await desk.session.coordinator.suspend('payments', { by: 'bo@desk', reason: 'INC-9' }, call);
    return desk;
  }

  it('asks nobody, and waits until a candidate holds the name', async () => {
    const desk = await suspended();
    await desk.actor('replica-2').takeWhenCalled('payments');
    expect(await finish(desk, resumeAct('payments', act), { yes: false })).toBe(0);
    expect(desk.terminal.answerText).toMatch(/^payments is resumed: held by replica-2, term \d+$/);
    expect(desk.terminal.noteText).toContain('the suspension by bo@desk: INC-9 ends');
  });

  it('is content with a free name if nobody waits', async () => {
    const desk = await suspended();
    expect(await finish(desk, resumeAct('payments', act))).toBe(0);
    expect(desk.terminal.answerText).toBe('payments is resumed: free');
  });

  it('is content at last if those who wait do not come', async () => {
    const desk = await suspended();
    await desk.actor('replica-2').wait('payments');
    expect(await finish(desk, resumeAct('payments', act), { timeoutMs: 5_000 })).toBe(0);
    expect(desk.terminal.answerText).toBe('payments is resumed, and still free');
  });

  it('waits until a revoked term has ended', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    await desk.session.coordinator.suspend('payments', act, call);
    const operating = begin(desk, resumeAct('payments', act));
    await desk.runtime.advance(20_000);
    expect(desk.terminal.printed).toEqual([]);
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(desk.terminal.answerText).toBe('payments is resumed: free');
  });

  it('has nothing to do for a name that is not suspended', async () => {
    const desk = createDesk();
    expect(await finish(desk, resumeAct('payments', act))).toBe(0);
    expect(desk.terminal.answerText).toBe('payments: it is not suspended: free');
  });
});
