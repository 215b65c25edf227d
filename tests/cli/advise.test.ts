import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AdviseOrder, advise } from '../../src/cli/advise/advise.js';
import { InterruptedError } from '../../src/cli/exit-status.js';
import { UnreachableError } from '../../src/errors/index.js';
import { sleep } from '../../src/time/index.js';
import { altered } from '../support/altered.js';
import { createDesk } from './session.js';

const order: AdviseOrder = {
  forMs: 5_000,
  onceInMs: 30 * 24 * 3_600_000,
  election: undefined,
  plot: undefined,
  format: 'text',
};

describe('tenure advise', () => {
  it('prints what it measured, a table, and the smallest ttl that will do', async () => {
    const { session, runtime, terminal } = createDesk();
    expect(await runtime.advanceUntil(advise(session, order))).toBe(true);
    expect(terminal.notes).toEqual([
      'tenure advise: measuring for 5s at redis://store.example:6379',
    ]);
    expect(terminal.answerText).toMatch(/ {2}round trips {6}0 ms usually/);
    expect(terminal.answerText).toMatch(/TTL +LOST FOR NOTHING +TAKEOVER +AT WORST +REQUESTS/);
    expect(terminal.answerText).toMatch(
      /^ {2}> 100 ms +less than once in 10 years +98 ms +125 ms +108000\/h$/m,
    );
    expect(terminal.answerText).toMatch(/A ttl of 100 ms is the smallest/);
    for (const line of terminal.printed) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('says that none will do where none up to two minutes does', async () => {
    const { session, runtime, terminal } = createDesk();
    const advising = advise(session, { ...order, forMs: 400_000 });
    await runtime.advance(1_000);
    runtime.freeze(300_000);
    expect(await runtime.advanceUntil(advising)).toBe(false);
    expect(terminal.answerText).toMatch(/No ttl up to 2 min is lost for nothing/);
  });

  it('says that the store was away meanwhile, and that this is what the ttl would have to outlast', async () => {
    const { session, runtime, terminal } = createDesk();
    const { coordinator } = session;
    let isAway = false;
    const renew: typeof coordinator.renew = (requests, call) =>
      isAway
        ? Promise.reject(new UnreachableError('nothing listens there'))
        : coordinator.renew(requests, call);
    const flaky = altered(coordinator, { renew });
    const advising = advise({ ...session, coordinator: flaky }, order);
    await runtime.advance(1_000);
    isAway = true;
    await runtime.advance(1_000);
    isAway = false;
    await runtime.advanceUntil(advising);
    const text = terminal.answerText.replace(/\s+/g, ' ');
    expect(text).toContain('longest pause 1 s');
    expect(text).toMatch(/no answer to 2\d requests/);
    expect(text).toContain('If it was an outage that is over, measure again.');
  });

  it('says so of an answer that came, but seconds late', async () => {
    const { session, runtime, terminal } = createDesk();
    const { coordinator } = session;
    let lateMs = 0;
    const renew: typeof coordinator.renew = async (requests, call) => {
      const answer = await coordinator.renew(requests, call);
      if (lateMs > 0) await sleep(runtime, lateMs);
      return answer;
    };
    const slow = altered(coordinator, { renew });
    const advising = advise({ ...session, coordinator: slow }, { ...order, forMs: 20_000 });
    await runtime.advance(1_000);
    lateMs = 4_000;
    await runtime.advance(3_000);
    lateMs = 0;
    await runtime.advanceUntil(advising);
    const text = terminal.answerText.replace(/\s+/g, ' ');
    expect(text).toContain('round trips 0 ms usually, 99 % up to 0 ms, at most 4 s');
    expect(text).toContain('If it was an outage that is over, measure again.');
  });

  it('draws it, and says all of it to programs', async () => {
    const { session, runtime, terminal } = createDesk();
    const folder = mkdtempSync(join(tmpdir(), 'tenure-advise-'));
    try {
      const plot = join(folder, 'ttl.svg');
      const advising = advise(session, { ...order, plot, format: 'json' });
      let isOver = false;
      void advising.finally(() => {
        isOver = true;
      });
      // The file is written in real time.
      while (!isOver) await runtime.advance(100);
      await advising;
      expect(readFileSync(plot, 'utf8')).toMatch(/^<svg /);
      expect(JSON.parse(terminal.answerText)).toMatchObject({ ttlMs: 100, namespace: 'default' });
      const elsewhere = join(folder, 'missing', 'ttl.svg');
      await expect(advise(session, { ...order, plot: elsewhere })).rejects.toMatchObject({
        option: '--plot',
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('notes that an election has recorded nothing, and goes on', async () => {
    const { session, runtime, terminal } = createDesk();
    await runtime.advanceUntil(advise(session, { ...order, election: 'payments' }));
    expect(terminal.noteText).toMatch(/no loss of payments is recorded/);
  });

  it('ends at once when it is interrupted, and gives its lease back', async () => {
    const { session, runtime, stopping } = createDesk();
    const advising = advise(session, order);
    advising.catch(() => {});
    await runtime.advance(1_000);
    stopping.abort(new InterruptedError('SIGINT'));
    await expect(runtime.advanceUntil(advising)).rejects.toThrow(/SIGINT/);
    expect(await session.coordinator.list('tenure/advise', { timeoutMs: 1_000 })).toEqual([]);
  });
});
