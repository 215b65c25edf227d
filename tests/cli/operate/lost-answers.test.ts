import { describe, expect, it } from 'vitest';
import { revokeAct } from '../../../src/cli/operate/revoke.js';
import { createDesk } from '../session.js';
import { act, begin, call, finish, standing } from './order.js';

describe('an act whose answer was lost', () => {
  it('is not done again to the next holder', async () => {
    const desk = createDesk();
    const [first, second] = [desk.actor('replica-1'), desk.actor('replica-2')];
    const term = await first.acquire('payments');
    desk.link.disturb('reply', 'drop', { operation: 'revoke', count: 1 });
    const operating = begin(desk, revokeAct('payments', act));
    await desk.runtime.settle();
    await first.release('payments', term);
    const next = await second.acquire('payments');
    expect(await desk.runtime.advanceUntil(operating)).toBe(0);
    expect(await standing(desk)).toMatchObject({ term: next, revocation: undefined });
  });

  it('is done again if it was lost on its way', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    desk.link.disturb('request', 'drop', { operation: 'revoke', count: 1 });
    expect(await finish(desk, revokeAct('payments', act))).toBe(0);
    expect(await desk.session.coordinator.history('payments', call)).toContainEqual(
      expect.objectContaining({ kind: 'act', act: 'revoke', ...act }),
    );
  });

  it('fails if the store does not answer any more while its effect is awaited', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments');
    const operating = begin(desk, revokeAct('payments', act));
    await desk.runtime.advance(1_000);
    desk.link.cut();
    const failing = expect(desk.runtime.advanceUntil(operating)).rejects.toMatchObject({
      code: 'TENURE_UNREACHABLE',
    });
    await failing;
    expect(desk.terminal.noteText).toContain('the revoke of payments stands');
  });

  it('fails when the time is up', async () => {
    const desk = createDesk();
    await desk.actor('replica-1').acquire('payments', { ttlMs: 600_000 });
    desk.link.disturb('request', 'drop', { operation: 'revoke' });
    await expect(
      finish(desk, revokeAct('payments', act), { timeoutMs: 20_000 }),
    ).rejects.toMatchObject({ code: 'TENURE_OUTCOME_UNKNOWN' });
  });
});
