import { describe, expect, it } from 'vitest';
import type { EnrollRequest } from '../../src/coordinators/index.js';
import { memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { OptionError } from '../../src/errors/index.js';
import { type EnrollOptions, Leases } from '../../src/leases/index.js';
import { altered } from '../support/altered.js';
import { call } from '../support/call.js';
import { defined } from './fixture.js';
import { QueueFixture } from './queue-fixture.js';

const name = 'payments';
const ttlMs = 6_000;
const renewEveryMs = ttlMs / 3;
const attemptTimeoutMs = renewEveryMs / 4;

function createFixture() {
  const fixture = new QueueFixture();
  const a = fixture.process('a', { ttlMs });
  return { fixture, runtime: fixture.runtime, a };
}

/** A process whose batches of enrollments are kept. */
function recordingProcess(fixture: QueueFixture) {
  const link = new FaultLink();
  const { runtime } = fixture;
  const inner = memoryCoordinator(fixture.store, { runtime, link });
  const batches: (readonly EnrollRequest[])[] = [];
  const coordinator = altered(inner, {
    enroll: (requests, options) => {
      batches.push(requests);
      return inner.enroll(requests, options);
    },
  });
  return { leases: new Leases(coordinator, { id: 'a', runtime, ttlMs }), link, batches };
}

describe('an enrollment', () => {
  it('is seen by others until it is withdrawn, however long that takes', async () => {
    const { fixture, runtime, a } = createFixture();
    const enrollment = a.leases.enroll(name, {
      standing: 'present',
      preference: 7,
      metadata: '{"zone":"x"}',
    });
    await runtime.advance(20 * ttlMs);
    expect(await fixture.operator.candidates(name, call)).toMatchObject([
      { id: 'a', standing: 'present', preference: 7, metadata: '{"zone":"x"}' },
    ]);
    await enrollment.withdraw();
    expect(await fixture.candidates(name)).toEqual([]);
    await enrollment.withdraw();
    expect(fixture.listenerCount).toBe(0);
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('knows its place and what stands under the name, as of its last refresh', async () => {
    const { fixture, runtime, a } = createFixture();
    const b = fixture.process('b', { ttlMs });
    const lease = defined(await b.leases.acquire(name));
    const other = b.leases.enroll(name, { standing: 'waiting' });
    await runtime.advance(10);
    const enrollment = a.leases.enroll(name, { standing: 'waiting' });
    expect([enrollment.position, enrollment.current]).toEqual([undefined, undefined]);
    await runtime.advance(10);
    expect(enrollment.position).toBe(1);
    expect(enrollment.current).toMatchObject({ state: 'held', term: lease.term });
    await other.withdraw();
    await lease.release();
    await runtime.advance(renewEveryMs);
    expect([enrollment.position, enrollment.current]).toEqual([0, undefined]);
    enrollment.update({ standing: 'present' });
    await runtime.advance(10);
    expect(enrollment.position).toBeUndefined();
  });

  it('is granted nothing and tries nothing, called or not', async () => {
    const { fixture, runtime, a } = createFixture();
    a.leases.enroll(name, { standing: 'waiting' });
    await runtime.advance(5 * ttlMs);
    expect(fixture.countOf('acquire')).toBe(0);
    expect(await fixture.read(name)).toBeUndefined();
  });

  it('that is changed is told to the store at once', async () => {
    const { fixture, runtime, a } = createFixture();
    const enrollment = a.leases.enroll(name, { standing: 'observing' });
    await runtime.advance(10);
    enrollment.update({ standing: 'present', metadata: '1' });
    await runtime.advance(10);
    expect(await fixture.operator.candidates(name, call)).toMatchObject([
      { standing: 'present', metadata: '1' },
    ]);
    expect(enrollment.options).toEqual({ standing: 'present', metadata: '1' });
  });

  it.each<[string, unknown]>([
    ['options', null],
    ['standing', 'idle'],
    ['standing', undefined],
    ['preference', 100],
    ['preference', '5'],
    ['metadata', 'no json'],
    ['metadata', 5],
  ])('is refused by name for %s of %j, new or changed', async (option, value) => {
    const { fixture, runtime, a } = createFixture();
    const bad = (
      option === 'options' ? value : { standing: 'present', [option]: value }
    ) as EnrollOptions;
    expect(() => a.leases.enroll(name, bad)).toThrow(OptionError);
    const good = a.leases.enroll(name, { standing: 'present' });
    if (option !== 'options') {
      expect(() => good.update(bad)).toThrow(expect.objectContaining({ option }));
      expect(good.options).toEqual({ standing: 'present' });
    }
    await runtime.advance(10);
    expect(await fixture.candidates(name)).toEqual(['a present']);
    expect(() => a.leases.enroll('a//b', { standing: 'present' })).toThrow(OptionError);
  });

  it('that is withdrawn in the turn it was made leaves nothing', async () => {
    const { fixture, runtime, a } = createFixture();
    await a.leases.enroll(name, { standing: 'present' }).withdraw();
    expect(await fixture.candidates(name)).toEqual([]);
    expect(runtime.pendingTimerCount).toBe(0);
  });

  it('that is withdrawn while it is on its way is gone when that is over', async () => {
    const { fixture, runtime, a } = createFixture();
    a.link.disturb('request', 'hold', { operation: 'enroll', count: 1 });
    const enrollment = a.leases.enroll(name, { standing: 'present' });
    await runtime.advance(100);
    const withdrawn = enrollment.withdraw();
    await runtime.advance(100);
    a.link.flush();
    await withdrawn;
    expect(await fixture.candidates(name)).toEqual([]);
  });

  it('made again while the last withdrawal is on its way stays', async () => {
    const { fixture, runtime, a } = createFixture();
    const first = a.leases.enroll(name, { standing: 'present' });
    await runtime.advance(100);
    a.link.disturb('reply', 'hold', { operation: 'withdraw', count: 1 });
    void first.withdraw();
    await runtime.advance(100);
    const second = a.leases.enroll(name, { standing: 'present' });
    a.link.flush();
    await runtime.advance(5 * ttlMs);
    expect(await fixture.candidates(name)).toEqual(['a present']);
    await second.withdraw();
    expect(await fixture.candidates(name)).toEqual([]);
  });
});

describe('an enrollment that is made and taken back', () => {
  it('while the last withdrawal is on its way is over with the next one', async () => {
    const { fixture, runtime, a } = createFixture();
    const first = a.leases.enroll(name, { standing: 'present' });
    await runtime.advance(100);
    a.link.disturb('reply', 'hold', { operation: 'withdraw', count: 1 });
    const firstWithdrawn = first.withdraw();
    await runtime.advance(100);
    const secondWithdrawn = a.leases.enroll(name, { standing: 'present' }).withdraw();
    a.link.flush();
    await runtime.advanceUntil(Promise.all([firstWithdrawn, secondWithdrawn]), 1_000);
    expect(await fixture.candidates(name)).toEqual([]);
    expect(fixture.listenerCount).toBe(0);
  });
});

describe('several enrollments of one process for one name', () => {
  it('are one entry: the strongest standing, the highest preference and the first metadata count', async () => {
    const { fixture, runtime, a } = createFixture();
    const entry = async () => {
      await runtime.advance(10);
      const candidates = await fixture.operator.candidates(name, call);
      return candidates.map(({ standing, preference, metadata }) => [
        standing,
        preference,
        metadata,
      ]);
    };
    const observing = a.leases.enroll(name, { standing: 'observing', preference: 3 });
    expect(await entry()).toEqual([['observing', 3, undefined]]);
    const waiting = a.leases.enroll(name, { standing: 'waiting', metadata: '"w"' });
    const present = a.leases.enroll(name, {
      standing: 'present',
      preference: 5,
      metadata: '"p"',
    });
    expect(await entry()).toEqual([['waiting', 5, '"w"']]);
    await waiting.withdraw();
    expect(await entry()).toEqual([['present', 5, '"p"']]);
    await present.withdraw();
    expect(await entry()).toEqual([['observing', 3, undefined]]);
    await observing.withdraw();
    expect(await entry()).toEqual([]);
  });

  it('go back to what another wants when a wait ends', async () => {
    const { fixture, runtime, a } = createFixture();
    const b = fixture.process('b', { ttlMs });
    const lease = defined(await b.leases.acquire(name));
    a.leases.enroll(name, { standing: 'present' });
    const waiting = a.leases.acquire(name, { waitMs: 60_000 });
    await runtime.advance(100);
    expect(await fixture.candidates(name)).toEqual(['a waiting']);
    await lease.release();
    expect(await waiting).toBeDefined();
    await runtime.advance(10);
    expect(await fixture.candidates(name)).toEqual(['a present']);
  });
});

describe('the entries of one process', () => {
  it('are refreshed together in one request, also those made at other times', async () => {
    const fixture = new QueueFixture();
    const { leases, batches } = recordingProcess(fixture);
    for (let index = 0; index < 40; index++) {
      leases.enroll(`n${index}`, { standing: index % 2 === 0 ? 'present' : 'waiting' });
      if (index % 10 === 9) await fixture.runtime.advance(37);
    }
    expect(batches.map(({ length }) => length)).toEqual([10, 10, 10, 10]);
    batches.length = 0;
    await fixture.runtime.advance(10 * renewEveryMs);
    expect(new Set(batches.map(({ length }) => length))).toEqual(new Set([40]));
    expect(batches.length).toBeGreaterThanOrEqual(10);
    expect(batches.length).toBeLessThan(10 * 1.4);
  });

  it('whose requests time out differently do not hold each other up', async () => {
    const fixture = new QueueFixture();
    const { leases, batches } = recordingProcess(fixture);
    const b = fixture.process('b');
    await b.leases.acquire(name);
    leases.enroll('long', { standing: 'present' });
    void leases.acquire(name, { waitMs: 60_000, ttlMs: 600 });
    await fixture.runtime.advance(10);
    expect(batches.map((batch) => batch.map((request) => request.ttlMs))).toEqual([[6_000], [600]]);
    batches.length = 0;
    await fixture.runtime.advance(renewEveryMs);
    const refreshed = batches.flatMap((batch) => batch.map((request) => request.name));
    expect(refreshed.filter((one) => one === name).length).toBeGreaterThanOrEqual(9);
    expect(refreshed.filter((one) => one === 'long').length).toBe(1);
    batches.length = 0;
    // All of them are due in one moment after a reconnect.
    for (let count = 0; count < 10; count++) {
      fixture.store.restart({ keepData: true });
      await fixture.runtime.advance(100);
    }
    const ttls = batches.map((batch) => new Set(batch.map((request) => request.ttlMs)));
    expect(ttls).toContainEqual(new Set([6_000]));
    expect(ttls.every(({ size }) => size === 1)).toBe(true);
  });

  it('are refreshed no more often for others that come and go', async () => {
    const fixture = new QueueFixture();
    const { leases, batches } = recordingProcess(fixture);
    leases.enroll('steady', { standing: 'present' });
    for (let passedMs = 0; passedMs < 10 * renewEveryMs; passedMs += 100) {
      const passing = leases.enroll('passing', { standing: 'present' });
      await fixture.runtime.advance(100);
      await passing.withdraw();
    }
    const refreshes = batches.flat().filter((request) => request.name === 'steady');
    expect(refreshes.length).toBeGreaterThanOrEqual(10);
    expect(refreshes.length).toBeLessThan(10 * 1.4);
  });

  it('are kept up through any trouble of the store, with growing pauses, and nobody is bothered', async () => {
    const fixture = new QueueFixture();
    const { leases, link, batches } = recordingProcess(fixture);
    const { runtime } = fixture;
    link.cut();
    leases.enroll(name, { standing: 'present' });
    leases.enroll('other', { standing: 'present' });
    await runtime.advance(20 * ttlMs);
    // Together as well.
    expect(batches.every(({ length }) => length === 2)).toBe(true);
    expect(batches.length).toBeLessThan(20 * 5);
    link.heal();
    await runtime.advance(renewEveryMs);
    expect(await fixture.candidates(name)).toEqual(['a present']);
    link.hang();
    await runtime.advance(2 * ttlMs);
    expect(await fixture.candidates(name)).toEqual([]);
    link.heal();
    await runtime.advance(renewEveryMs + 500);
    expect(await fixture.candidates(name)).toEqual(['a present']);
    // Trouble that is over is forgotten: the next is met with a short pause again.
    link.disturb('reply', 'drop', { operation: 'enroll', count: 1 });
    await runtime.advance(renewEveryMs);
    batches.length = 0;
    await runtime.advance(attemptTimeoutMs + attemptTimeoutMs / 4);
    expect(batches.length).toBeGreaterThanOrEqual(1);
  });

  it('are refreshed soon after a reconnect: the store may have forgotten them', async () => {
    const { fixture, runtime, a } = createFixture();
    a.leases.enroll(name, { standing: 'observing' });
    await runtime.advance(10);
    fixture.store.restart({ keepData: false });
    expect(await fixture.candidates(name)).toEqual([]);
    await runtime.advance(110);
    expect(await fixture.candidates(name)).toEqual(['a observing']);
  });

  it('are withdrawn in one request when the leases are closed, and no new ones are taken', async () => {
    const { fixture, runtime, a } = createFixture();
    const enrollment = a.leases.enroll('x', { standing: 'present' });
    for (const one of ['y', 'z']) a.leases.enroll(one, { standing: 'present' });
    await runtime.advance(100);
    await a.leases.close();
    expect(fixture.countOf('withdraw')).toBe(1);
    for (const one of ['x', 'y', 'z']) expect(await fixture.candidates(one)).toEqual([]);
    expect(fixture.listenerCount).toBe(0);
    expect(runtime.pendingTimerCount).toBe(0);
    expect(() => a.leases.enroll('x', { standing: 'present' })).toThrow(/closed/);
    enrollment.update({ standing: 'waiting' });
    await enrollment.withdraw();
    expect(await fixture.candidates('x')).toEqual([]);
    expect(runtime.pendingTimerCount).toBe(0);
  });
});

describe('two live processes of one id', () => {
  it('are told, each, and at most once a minute for each name', async () => {
    const { fixture, runtime, a } = createFixture();
    const namesake = fixture.process('a', { ttlMs });
    const told: string[] = [];
    for (const [who, { leases }] of [
      ['first', a],
      ['second', namesake],
    ] as const)
      leases.events.on('duplicate', ({ name: of, id }) => told.push(`${who} ${of} ${id}`));
    a.leases.enroll(name, { standing: 'present' });
    namesake.leases.enroll(name, { standing: 'present' });
    namesake.leases.enroll('other', { standing: 'present' });
    await runtime.advance(50_000);
    expect([...told].sort()).toEqual(['first payments a', 'second payments a']);
    a.leases.enroll('other', { standing: 'present' });
    await runtime.advance(5_000);
    expect(told.slice(2).sort()).toEqual(['first other a', 'second other a']);
    await runtime.advance(57_000);
    expect(told.length).toBeGreaterThan(4);
    expect(told.length).toBeLessThanOrEqual(8);
  });

  it('are not found where one began after the other had ended', async () => {
    const { fixture, runtime, a } = createFixture();
    const told: string[] = [];
    a.leases.enroll(name, { standing: 'present' });
    await runtime.advance(100);
    a.link.cut();
    const restarted = fixture.process('a', { ttlMs });
    restarted.leases.events.on('duplicate', ({ id }) => told.push(id));
    restarted.leases.enroll(name, { standing: 'present' });
    await runtime.advance(5 * ttlMs);
    expect(told).toEqual([]);
  });
});
