import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreMisconfiguredError } from '../../src/errors/index.js';
import {
  candidate,
  ElectionFixture,
  giveUpAfterMs,
  name,
  rejection,
  TestWork,
  ttlMs,
  withoutRetries,
} from './fixture.js';

let fixture: ElectionFixture;
beforeEach(() => {
  fixture = new ElectionFixture();
});
afterEach(async () => {
  await fixture.close();
  expect(fixture.runtime.pendingTimerCount).toBe(0);
});

describe('a leader that is lost', () => {
  it('stops by its own clock before another is elected, and campaigns again', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    const b = candidate(fixture, 'b');
    await fixture.runtime.advance(100);
    a.link.hang();
    await fixture.runtime.advance(giveUpAfterMs);
    expect(a.log).toEqual(['elected', 'lost unreachable']);
    expect(b.log).toEqual([]);
    await fixture.runtime.advance(ttlMs - giveUpAfterMs + 250);
    expect(b.log).toEqual(['elected']);
    a.link.heal();
    await fixture.runtime.advance(ttlMs);
    b.stop.abort();
    await fixture.runtime.advance(250);
    expect(withoutRetries(a.log)).toEqual(['elected', 'lost unreachable', 'elected']);
    const [first, second] = a.work.leases.map(({ term }) => term);
    expect(second).toBeGreaterThan(b.work.lease.term);
    expect(b.work.lease.term).toBeGreaterThan(first as number);
  });

  it('sees after a freeze, in its first statement, that it leads no more', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    const b = candidate(fixture, 'b');
    await fixture.runtime.advance(100);
    a.freeze();
    await fixture.runtime.advance(2 * ttlMs);
    expect(b.log).toEqual(['elected']);
    expect(a.election.current).toBeUndefined();
    expect(a.log).toEqual(['elected', 'lost expired']);
    a.thaw();
    await fixture.runtime.advance(100);
    expect(a.log).toEqual(['elected', 'lost expired']);
  });

  it('is told once, and elected once per term, however often it is lost; it campaigns all the same', async () => {
    const a = candidate(fixture, 'a');
    for (let loss = 0; loss < 50; loss++) {
      await fixture.runtime.advance(1_000);
      a.link.hang();
      await fixture.runtime.advance(giveUpAfterMs);
      a.link.heal();
      await fixture.runtime.advance(ttlMs);
    }
    await fixture.runtime.advance(ttlMs);
    const pair = ['elected', 'lost unreachable'];
    expect(withoutRetries(a.log)).toEqual([
      ...Array.from({ length: 50 }, () => pair).flat(),
      'elected',
    ]);
    expect(a.work.mostActiveCount).toBe(1);
    const terms = a.work.leases.map(({ term }) => term);
    expect(new Set(terms).size).toBe(51);
    expect(terms).toEqual([...terms].sort((one, other) => one - other));
  });

  it('does not begin again before its old work has settled, and says when that takes too long', async () => {
    const a = candidate(fixture, 'a', { election: { drainMs: 2_000 } });
    let end = () => {};
    a.work.onStop = () =>
      new Promise<void>((resolve) => {
        end = resolve;
      });
    await fixture.runtime.advance(100);
    a.work.lease.supersede();
    await fixture.runtime.advance(1_999);
    expect(a.log).toEqual(['elected', 'lost superseded']);
    await fixture.runtime.advance(10 * ttlMs);
    expect(a.log).toEqual(['elected', 'lost superseded', 'workOverdue']);
    expect(a.work.beginCount).toBe(1);
    end();
    await fixture.runtime.advance(ttlMs);
    expect(a.work.beginCount).toBe(2);
    expect(a.work.mostActiveCount).toBe(1);
    a.work.onStop = () => {};
  });

  it('waits, after a restart under its old id, for the old term to end, and is elected anew', async () => {
    const old = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    const { term } = old.work.lease;
    old.crash();
    const again = candidate(fixture, 'a');
    await fixture.runtime.advance(giveUpAfterMs);
    expect(again.log).toEqual([]);
    await fixture.runtime.advance(ttlMs);
    expect(again.log).toEqual(['elected']);
    expect(again.work.lease.term).toBeGreaterThan(term);
  });

  it('leaves the name alone for the lock-delay, and not after a clean stop', async () => {
    const graceAfterLossMs = 20_000;
    const a = candidate(fixture, 'a', { election: { graceAfterLossMs } });
    await fixture.runtime.advance(100);
    const b = candidate(fixture, 'b', { election: { graceAfterLossMs } });
    await fixture.runtime.advance(100);
    a.crash();
    await fixture.runtime.advance(ttlMs + graceAfterLossMs - 400);
    expect(b.log).toEqual([]);
    await fixture.runtime.advance(1_000);
    expect(b.log).toEqual(['elected']);
    const c = candidate(fixture, 'c');
    await fixture.runtime.advance(100);
    b.stop.abort();
    await fixture.runtime.advance(250);
    expect(c.log).toEqual(['elected']);
  });

  it.each([0, 20_000])(
    'is replaced after the longest time to hold, and does not snatch the name back (lock-delay %d ms)',
    async (graceAfterLossMs) => {
      const a = candidate(fixture, 'a', { election: { maxHoldMs: 10_000, graceAfterLossMs } });
      await fixture.runtime.advance(100);
      const b = candidate(fixture, 'b');
      await fixture.runtime.advance(9_800);
      const tryCount = a.calls.get('acquire');
      await fixture.runtime.advance(500);
      expect(a.log).toEqual(['elected', 'lost max-hold']);
      expect(b.log).toEqual(['elected']);
      expect(a.calls.get('acquire')).toBe(tryCount);
      await fixture.runtime.advance(10_000);
      expect(await fixture.candidates()).toEqual(['a waiting', 'b present']);
    },
  );

  it.each(['revoked', 'stalled', 'shutdown'] as const)(
    'leaves the name to others for a moment if it was %s',
    async (reason) => {
      const a = candidate(fixture, 'a');
      await fixture.runtime.advance(100);
      const tryCount = a.calls.get('acquire');
      a.work.lease.end(reason);
      await fixture.runtime.advance(400);
      expect(a.calls.get('acquire')).toBe(tryCount);
      await fixture.runtime.advance(1_000);
      expect(a.log).toEqual(['elected', `lost ${reason}`, 'elected']);
    },
  );

  it('is not won again and again at once when a fence refuses every term', async () => {
    const a = fixture.process('a');
    let beginCount = 0;
    const leading = a.election.lead((lease) => {
      beginCount += 1;
      lease.supersede();
    });
    leading.catch(() => {});
    await fixture.runtime.advance(120_000);
    expect(beginCount).toBeLessThan(12);
    expect(beginCount).toBeGreaterThan(5);
  });

  it('was never led by if it had run out before anybody was told', async () => {
    const a = fixture.process('a');
    const once = a.leases.events.on('acquired', () => {
      once();
      fixture.runtime.freeze(ttlMs);
    });
    const work = new TestWork();
    rejection(a.election.lead(work.run)).catch(() => {});
    await fixture.runtime.advance(100);
    expect(a.log).toEqual(['elected']);
    expect(work.beginCount).toBe(1);
    expect(work.lease.state).toBe('held');
  });
});

describe('errors of the store', () => {
  it('are told and tried again, for ever, if they may pass', async () => {
    const a = fixture.process('a');
    a.link.cut();
    const work = new TestWork();
    void a.election.lead(work.run);
    await fixture.runtime.advance(100 * ttlMs);
    expect(new Set(a.log)).toEqual(new Set(['campaignFailed TENURE_UNREACHABLE']));
    expect(a.log.length).toBeLessThan(500);
    a.link.heal();
    await fixture.runtime.advance(ttlMs);
    expect(work.beginCount).toBe(1);
  });

  it('are the caller’s in the first campaign if trying again cannot help', async () => {
    const a = fixture.process('a');
    fixture.store.overwriteRecord(name, 'foreign');
    const error = await rejection(a.election.lead(() => {}));
    expect(error).toMatchObject({ code: 'TENURE_RECORD_CORRUPT' });
    expect(await fixture.candidates()).toEqual([]);
  });

  it('are told and outlasted in later campaigns, whatever they are', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    fixture.store.overwriteRecord(name, 'foreign');
    a.work.lease.supersede();
    await fixture.runtime.advance(ttlMs);
    expect(a.log).toContain('campaignFailed TENURE_RECORD_CORRUPT');
    fixture.store.deleteRecord(name);
    await fixture.runtime.advance(60_000);
    expect(a.log.at(-1)).toBe('elected');
  });

  it('end it if the leases are closed, with an error that says so', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    await a.leases.close();
    expect(await rejection(fixture.runtime.advanceUntil(a.leading))).toMatchObject({
      code: 'TENURE_CLOSED',
    });
    expect(a.log).toEqual(['elected', 'resigned shutdown']);
  });

  it('say that a store is misconfigured', async () => {
    const a = fixture.process('a');
    const failing = Object.assign(Object.create(a.coordinator) as typeof a.coordinator, {
      acquire: () => Promise.reject(new StoreMisconfiguredError('it evicts')),
    });
    const { Leases } = await import('../../src/leases/index.js');
    const { Elections } = await import('../../src/elections/index.js');
    const leases = new Leases(failing, { id: 'x', runtime: a.runtime });
    const elections = new Elections(leases);
    const error = await rejection(elections.election(name).lead(() => {}));
    expect(error).toBeInstanceOf(StoreMisconfiguredError);
    await elections.close();
    await leases.close();
  });
});
