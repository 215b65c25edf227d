import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { UnreachableError } from '../../src/errors/index.js';
import { fixture, minuteMs, type Replica, ttlMs, useScheduleFixture } from './fixture.js';

useScheduleFixture();

let warn: MockInstance;
beforeEach(() => {
  warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});
afterEach(() => warn.mockRestore());

const warnings = () => warn.mock.calls.map(([text, name]) => `${name}: ${text}`);

/** A replica of another application, under the same name and on the same store: it defines `mails` as well. */
function other(id: string): Replica {
  const replica = fixture.replica(id);
  replica.schedule.job('mails', { cron: '* * * * *' }, () => {});
  return replica;
}

/** What it tells of jobs that are left out. */
function toldBy({ schedule }: Replica): string[] {
  const told: string[] = [];
  schedule.events.on('leftOut', ({ election, leaderId, jobs }) =>
    told.push(`${leaderId} leads ${election} without ${jobs}`),
  );
  return told;
}

describe('a schedule that waits, and whose leader does not run its jobs,', () => {
  it('tells of them after two ttl, once for each term of a leader', async () => {
    const a = fixture.started('a');
    await fixture.runtime.advance(1_000);
    const b = other('b');
    const told = toldBy(b);
    b.schedule.start();
    await fixture.runtime.advance(2 * ttlMs - 1_000);
    expect(told).toEqual([]);
    await fixture.runtime.advance(2_000);
    expect(told).toEqual(['a leads schedule without mails']);
    await fixture.runtime.advance(10 * minuteMs);
    expect(told).toHaveLength(1);
    b.link.cut();
    const c = fixture.started('c');
    await fixture.runtime.advance(minuteMs);
    await fixture.runtime.advanceUntil(a.schedule.close());
    await fixture.runtime.advance(1_000);
    b.link.heal();
    expect(c.log).toContain('leading');
    await fixture.runtime.advance(2 * minuteMs);
    expect(told.slice(1)).toEqual(['c leads schedule without mails']);
  });

  it('says so in one warning of the process if nobody listens', async () => {
    fixture.started('a');
    await fixture.runtime.advance(1_000);
    other('b').schedule.start();
    await fixture.runtime.advance(10 * minuteMs);
    expect(warnings()).toEqual([
      'TenureScheduleWarning: the schedule "schedule" waits, and its leader a does not run: mails. If this is no deploy under way, give each application a name of its own (name of schedule()).',
    ]);
  });

  it('tells of what is in the store already, and was run by a leader before', async () => {
    const b = other('b');
    b.schedule.start();
    await fixture.runtime.advance(1_000);
    await fixture.runtime.advanceUntil(b.schedule.close());
    fixture.started('a');
    await fixture.runtime.advance(1_000);
    const c = other('c');
    const told = toldBy(c);
    c.schedule.start();
    await fixture.runtime.advance(2 * ttlMs + 1_000);
    expect(told).toEqual(['a leads schedule without mails']);
  });

  it('is silent about a store that gives no answer, and looks again', async () => {
    fixture.started('a');
    await fixture.runtime.advance(1_000);
    const b = other('b');
    const told = toldBy(b);
    const look = vi.spyOn(b.store, 'look').mockRejectedValue(new UnreachableError('no answer'));
    b.schedule.start();
    await fixture.runtime.advance(minuteMs);
    expect(look).toHaveBeenCalledTimes(1);
    look.mockRestore();
    await fixture.runtime.advance(2 * minuteMs);
    expect(told).toEqual(['a leads schedule without mails']);
    expect(warnings()).toEqual([]);
  });
});

describe('nothing is left out', () => {
  it('by a leader that runs all, nor by one that has had no ttl yet to claim them', async () => {
    const a = other('a');
    const claim = a.store.claim.bind(a.store);
    let isAway = true;
    a.store.claim = async (...args) => {
      if (isAway) throw new UnreachableError('no answer');
      return claim(...args);
    };
    a.schedule.start();
    await fixture.runtime.advance(1_000);
    const b = other('b');
    const told = toldBy(b);
    b.schedule.start();
    await fixture.runtime.advance(ttlMs + 500 - 2_000);
    isAway = false;
    await fixture.runtime.advance(10 * minuteMs);
    expect(a.log).toContain('leading');
    expect(told).toEqual([]);
  });

  it('where each application has a name of its own', async () => {
    fixture.started('a');
    await fixture.runtime.advance(1_000);
    const b = fixture.replica('b', { schedule: { name: 'mails' } });
    const told = toldBy(b);
    b.schedule.start();
    await fixture.runtime.advance(10 * minuteMs);
    expect(told).toEqual([]);
  });

  it('where nobody may lead', async () => {
    await fixture.operator.coordinator.suspend(
      'schedule',
      { by: 'ana', reason: 'x' },
      { timeoutMs: 1_000 },
    );
    const b = other('b');
    const told = toldBy(b);
    b.schedule.start();
    await fixture.runtime.advance(10 * minuteMs);
    expect(told).toEqual([]);
  });

  it('costs a standby one look at its jobs a minute', async () => {
    other('a').schedule.start();
    await fixture.runtime.advance(1_000);
    const b = other('b');
    const look = vi.spyOn(b.store, 'look');
    b.schedule.start();
    await fixture.runtime.advance(10 * minuteMs);
    expect(look).toHaveBeenCalledTimes(10);
  });
});
