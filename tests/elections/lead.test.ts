import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StaleTermError } from '../../src/errors/index.js';
import { candidate, ElectionFixture, never, rejection, TestWork, ttlMs } from './fixture.js';

let fixture: ElectionFixture;
beforeEach(() => {
  fixture = new ElectionFixture();
});
afterEach(async () => {
  await fixture.close();
  expect(fixture.runtime.pendingTimerCount).toBe(0);
});

async function afterSteps(count: number): Promise<void> {
  for (let passed = 0; passed < count; passed++) await undefined;
}

describe('leading', () => {
  it('does the work of exactly one candidate at a time, renewed for as long as it takes', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    const b = candidate(fixture, 'b');
    await fixture.runtime.advance(60 * ttlMs);
    expect(a.work.lease.state).toBe('held');
    expect(a.election.current).toBe(a.work.lease);
    expect(a.log).toEqual(['elected']);
    expect([b.log, b.work.beginCount, b.election.current]).toEqual([[], 0, undefined]);
    expect(await fixture.candidates()).toEqual(['b waiting', 'a present']);
  });

  it('shows the lease as current before it tells that it was elected, and none before it tells of the end', async () => {
    const process = fixture.process('a');
    const seen: unknown[] = [];
    process.election.events.on('elected', ({ lease }) =>
      seen.push(process.election.current === lease),
    );
    process.election.events.on('lost', () => seen.push(process.election.current));
    const leading = process.election.lead(({ signal }) => {
      signal.addEventListener('abort', () => seen.push(process.election.current));
      return never();
    });
    leading.catch(() => {});
    await fixture.runtime.advance(100);
    process.link.hang();
    await fixture.runtime.advance(ttlMs);
    expect(seen).toEqual([true, undefined, undefined]);
    process.link.heal();
    await fixture.runtime.advanceUntil(
      rejection(Promise.all([leading, process.elections.close()])),
    );
  });

  it('goes on when a listener throws', async () => {
    const warned = new Promise((resolve) => process.once('warning', resolve));
    const a = fixture.process('a');
    a.election.events.on('elected', () => {
      throw new Error('a bug in a logger');
    });
    const work = new TestWork();
    void a.election.lead(work.run);
    await fixture.runtime.advance(100);
    expect(work.beginCount).toBe(1);
    expect(await warned).toMatchObject({ name: 'TenureListenerWarning' });
  });

  it('tells what a listener causes after what it listens to, to everybody', async () => {
    const a = fixture.process('a');
    const told: string[] = [];
    const once = a.election.events.on('elected', ({ lease }) => {
      once();
      lease.end('stalled');
    });
    a.election.events.on('elected', () => told.push('elected'));
    a.election.events.on('lost', ({ reason }) => told.push(reason));
    const work = new TestWork();
    void a.election.lead(work.run);
    await fixture.runtime.advance(100);
    expect(told).toEqual(['elected', 'stalled']);
    expect(work.beginCount).toBe(0);
  });

  it('resolves with what the work returned when it was told to stop, having given the name back', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    a.work.onStop = () => 42;
    a.stop.abort();
    expect(await a.leading).toBe(42);
    expect(a.log).toEqual(['elected', 'resigned released']);
    expect(await fixture.leader()).toBeUndefined();
    expect(await fixture.candidates()).toEqual([]);
  });

  it('resolves at once when it is told to stop before it leads, and leaves nothing behind', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    const b = candidate(fixture, 'b');
    await fixture.runtime.advance(100);
    expect(await fixture.candidates()).toEqual(['b waiting']);
    b.stop.abort();
    expect(await b.leading).toBeUndefined();
    expect(await fixture.candidates()).toEqual([]);
    const stopped = new AbortController();
    stopped.abort();
    expect(await b.election.lead(b.work.run, { signal: stopped.signal })).toBeUndefined();
    a.stop.abort();
    await fixture.runtime.advance(ttlMs);
    expect(b.work.beginCount).toBe(0);
  });

  it('holds on to no signal that it was given', async () => {
    const signals = [new AbortController(), new AbortController(), new AbortController()] as const;
    const a = fixture.process('a');
    await (await a.election.campaign({ signal: signals[0].signal }))?.release();
    const leading = a.election.lead(() => {}, { signal: signals[1].signal });
    const states = a.election.observe({ signal: signals[2].signal });
    await fixture.runtime.advanceUntil(states.next());
    await states.return?.();
    signals[1].abort();
    await fixture.runtime.advanceUntil(leading);
    for (const { signal } of signals) expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('does not begin the work if a listener of its election tells it to stop', async () => {
    const a = fixture.process('a');
    const stop = new AbortController();
    a.election.events.on('elected', () => stop.abort());
    const work = new TestWork();
    const led = a.election.lead(work.run, { signal: stop.signal });
    expect(await fixture.runtime.advanceUntil(led)).toBeUndefined();
    expect(work.beginCount).toBe(0);
    expect(a.log).toEqual(['elected', 'resigned released']);
  });

  it('heeds a stop in whatever step it comes between winning and the begin of the work', async () => {
    for (let step = 0; step < 60; step++) {
      const a = fixture.process(`a-${step}`);
      const stop = new AbortController();
      a.leases.events.on('acquired', () => {
        void afterSteps(step).then(() => stop.abort());
      });
      const work = new TestWork();
      const led = a.election.lead(work.run, { signal: stop.signal });
      const outcome = await fixture.runtime.advanceUntil(led, ttlMs);
      expect(outcome, `step ${step}`).toBe(work.beginCount === 0 ? undefined : 'stopped');
      expect(await fixture.leader(), `step ${step}`).toBeUndefined();
      expect(a.log, `step ${step}`).toEqual(
        a.log.length > 0 ? ['elected', 'resigned released'] : [],
      );
    }
  });

  it('heeds a stop by a listener of whatever it tells before the work begins', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    const { term } = a.work.lease;
    a.election.events.on('termHealed', () => a.stop.abort());
    a.work.throw(new StaleTermError('payments', term, term + 1_000));
    expect(await fixture.runtime.advanceUntil(a.leading, ttlMs)).toBeUndefined();
    expect(a.work.beginCount).toBe(1);
    expect(await fixture.leader()).toBeUndefined();
  });
});

describe('work that ends by itself', () => {
  it.each([
    ['throws', 'workFailed boom'],
    ['returns', 'workReturned'],
  ])('gives the name back once if it %s, to a candidate elsewhere', async (how, line) => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    const b = candidate(fixture, 'b');
    await fixture.runtime.advance(100);
    const releasesBefore = a.calls.get('release') ?? 0;
    if (how === 'throws') a.work.throw(new Error('boom'));
    else a.work.return();
    await fixture.runtime.advance(250);
    expect(a.log).toEqual(['elected', line, 'resigned released']);
    expect((a.calls.get('release') ?? 0) - releasesBefore).toBe(1);
    expect(b.log).toEqual(['elected']);
    await fixture.runtime.advance(120_000);
    expect(await fixture.candidates()).toEqual(['a waiting', 'b present']);
  });

  it('is led again though nobody can ask what it threw', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    const { proxy, revoke } = Proxy.revocable(new Error(), {});
    revoke();
    a.work.throw(proxy);
    await fixture.runtime.advance(120_000);
    const failed = 'workFailed it threw a proxy that has been revoked';
    expect(a.log).toEqual(['elected', failed, 'resigned released', 'elected']);
  });

  it('is present, not waiting, while it backs off', async () => {
    const a = candidate(fixture, 'a', { election: { firstPauseMs: 10_000 } });
    await fixture.runtime.advance(100);
    a.work.throw(new Error('boom'));
    await fixture.runtime.advance(4_000);
    expect(await fixture.candidates()).toEqual(['a present']);
  });

  it('keeps nobody waiting who tells it to stop in its pause', async () => {
    const a = candidate(fixture, 'a', { election: { firstPauseMs: 10_000 } });
    await fixture.runtime.advance(100);
    a.work.throw(new Error('boom'));
    await fixture.runtime.advance(1_000);
    a.stop.abort();
    expect(await a.leading).toBeUndefined();
  });

  it('is tried again after pauses that grow, with jitter, to the longest', async () => {
    const a = fixture.process('a', { election: { firstPauseMs: 1_000, longestPauseMs: 8_000 } });
    const begunAtMs: number[] = [];
    void a.election.lead(() => {
      begunAtMs.push(fixture.runtime.now().monotonicMs);
      throw new Error('boom');
    });
    await fixture.runtime.advance(60_000);
    const pauses = begunAtMs.slice(1).map((ms, index) => ms - (begunAtMs[index] as number));
    for (const [index, pauseMs] of pauses.entries()) {
      const ceilingMs = Math.min(8_000, 1_000 * 2 ** index);
      expect(pauseMs).toBeGreaterThanOrEqual(ceilingMs / 2);
      expect(pauseMs).toBeLessThan(ceilingMs + 50);
    }
    expect(pauses.length).toBeGreaterThan(8);
    expect(new Set(pauses.map(Math.round)).size).toBeGreaterThan(4);
  });

  it('is tried again soon if it led for longer than the longest pause', async () => {
    const a = candidate(fixture, 'a', { election: { firstPauseMs: 1_000, longestPauseMs: 8_000 } });
    for (let failure = 0; failure < 5; failure++) {
      await fixture.runtime.advance(10_000);
      expect(a.work.activeCount).toBe(1);
      a.work.throw(new Error('boom'));
    }
    await fixture.runtime.advance(10_000);
    expect(a.work.activeCount).toBe(1);
    await fixture.runtime.advance(100);
    a.work.throw(new Error('boom'));
    await fixture.runtime.advance(1_100);
    expect(a.work.activeCount).toBe(1);
  });

  it('is no failure if it throws what it was stopped with', async () => {
    const a = candidate(fixture, 'a');
    a.work.onStop = (lease) => Promise.reject(lease.signal.reason);
    await fixture.runtime.advance(100);
    a.work.lease.supersede();
    await fixture.runtime.advance(ttlMs);
    expect(a.log).toEqual(['elected', 'lost superseded', 'elected']);
  });

  it('is reported if it throws anything else while it stops, and then keeps nobody waiting', async () => {
    const a = candidate(fixture, 'a');
    a.work.onStop = () => Promise.reject(new Error('could not save'));
    await fixture.runtime.advance(100);
    a.work.lease.supersede();
    await fixture.runtime.advance(ttlMs);
    expect(a.log).toEqual(['elected', 'lost superseded', 'workFailed could not save', 'elected']);
    a.stop.abort();
    expect(await a.leading).toBeUndefined();
    expect(a.log.slice(4)).toEqual(['workFailed could not save', 'resigned released']);
  });

  it('gets a term above the one its resource has seen, if the store had lost its terms', async () => {
    const a = candidate(fixture, 'a');
    await fixture.runtime.advance(100);
    const { term } = a.work.lease;
    const above = term + 1_000_000_000;
    a.work.throw(new StaleTermError('payments', term, above));
    await fixture.runtime.advance(2_000);
    expect(a.work.lease.term).toBe(above + 1);
    expect(a.log.slice(2)).toEqual(['resigned released', 'termHealed', 'elected']);
    a.work.lease.supersede();
    await fixture.runtime.advance(ttlMs);
    expect(a.log.slice(5)).toEqual(['lost superseded', 'elected']);
  });

  it('believes no term that is absurd, or not about its own', async () => {
    const a = candidate(fixture, 'a');
    for (const [own, installed] of [
      [0, Number.MAX_SAFE_INTEGER],
      [0, 8_639_999_999_999_999],
      [1, 2_000_000_000_000],
    ] as const) {
      await fixture.runtime.advance(3_000);
      const { term } = a.work.lease;
      a.work.throw(new StaleTermError('payments', term + own, installed));
    }
    await fixture.runtime.advance(10_000);
    expect(a.work.beginCount).toBe(4);
    expect(a.log).not.toContain('termHealed');
  });
});
